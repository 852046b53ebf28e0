/*
 * hold.c - whether this system can sandbox a candidate, and a simulated one that cannot
 */
#include "hold.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/trial/sandbox.h"

bool can_hold(void)
{
    const lab_protections protections = lab_protections_find();
    return lab_protections_suffice(&protections);
}

bool can_hold_aloud(void)
{
    bool can = can_hold();
    if (!can)
        fprintf(stderr, "skipped: this system cannot hold a candidate\n");
    return can;
}

bool lose_landlock(void)
{
    struct sock_filter code[] = {
        { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
        { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_landlock_create_ruleset },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
    };
    const struct sock_fprog program = { .len = 4, .filter = code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
