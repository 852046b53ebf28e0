/* Forks by a raw system call. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heed_candidate.h"

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0;
}
