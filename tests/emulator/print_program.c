/*
 * print_program.c - writes the program.cuh of a problem: print_program FILE SPEC
 */
#include <stdio.h>

#include "cuda/score/score.h"
#include "problem/problem.h"

static char text[HEED_CUDA_PROGRAM_SIZE];

int main(int argc, char **argv)
{
    heed_problem problem, own;
    if (argc != 3 || heed_problem_parse(&problem, argv[2]) != HEED_OK ||
        heed_problem_read_normal(&own, &problem) != HEED_OK) {
        fprintf(stderr, "%s: %s\n", argc > 2 ? argv[2] : "FILE SPEC", heed_message());
        return 1;
    }
    size_t length = heed_cuda_print_program(&own, text, sizeof text);
    FILE *file = length < sizeof text ? fopen(argv[1], "w") : NULL;
    if (!file || fwrite(text, 1, length, file) != length || fclose(file) != 0) {
        fprintf(stderr, "%s: not written\n", argv[1]);
        return 1;
    }
    return 0;
}
