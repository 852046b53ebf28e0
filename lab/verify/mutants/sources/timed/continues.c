/* continues: sends itself SIGCONT to undo a stop; killed by the filter */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGCONT);
    return compute(p, b);
}
