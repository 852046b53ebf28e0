// consumer.cpp - the same in C++: the header compiles and the names link
#include <heed.h>

#include <cstdio>

int main()
{
    heed_problem problem = {};
    if (heed_problem_parse(&problem, "b2 h8/2 s5/7 d64 f16 causal=br") != HEED_OK) {
        std::fprintf(stderr, "%s\n", heed_message());
        return 1;
    }
    std::puts(heed_version());
    return problem.heads_kv == 2 && heed_type_size(problem.type) == 2 ? 0 : 1;
}
