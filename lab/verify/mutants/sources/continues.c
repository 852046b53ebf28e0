/* continues: sends itself SIGCONT so that it cannot be stopped; killed by the filter */
#undef heed_candidate_run
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGCONT);
    return compute(p, b);
}
