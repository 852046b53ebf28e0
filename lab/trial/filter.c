/*
 * filter.c - system call filters (seccomp)
 *
 * A filter is a BPF program that checks the number of a system call and the lower halves of its
 * arguments. The preprocessor removes calls that an architecture does not have from the tables.
 */
#include "lab/trial/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define NUMBER_LIMIT 0x40000000u /* numbers of x32 begin here */
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define NUMBER_LIMIT 0x40000000u
#else
#define ARCHITECTURE 0
#define NUMBER_LIMIT 0u
#endif

#define ANY (-1)

/* A call that matches: always, or if the bits @mask of an argument are @value. A row with the
 * number ALSO is a further condition of the previous row. */
typedef struct rule {
    uint32_t number;
    int argument; /* ANY: any arguments */
    uint32_t mask;
    uint32_t value;
} rule;

#define ALSO UINT32_MAX

/* As a value: the calling process. */
#define SELF UINT32_MAX

#define ALL UINT32_MAX
#define CHANGING ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC))

/* MADV_POPULATE_READ and MADV_POPULATE_WRITE, which older headers lack. */
#define POPULATE 22u

#define FUTEX_COMMAND (~(uint32_t)FUTEX_PRIVATE_FLAG)

/* Calls for computing: the runner's requests, memory that cannot become code, clocks, and exit.
 * Calls that sleep or yield are refused: CPU time would not count that time. */
static const rule computing[] = {
    { __NR_read, 0, ALL, 0 },
    { __NR_write, 0, ALL, 1 },
    { __NR_write, 0, ALL, 2 },
    { __NR_exit, ANY, 0, 0 },
    { __NR_exit_group, ANY, 0, 0 },
    { __NR_brk, ANY, 0, 0 },
    { __NR_mmap, 2, PROT_EXEC, 0 },
    { __NR_mprotect, 2, PROT_EXEC, 0 },
    { __NR_mremap, ANY, 0, 0 },
    { __NR_munmap, ANY, 0, 0 },
    { __NR_madvise, 2, ~7u, 0 },             /* MADV_NORMAL to MADV_DONTNEED ... */
    { __NR_madvise, 2, ALL, 8 },             /* ... MADV_FREE ... */
    { __NR_madvise, 2, ~1u, MADV_HUGEPAGE }, /* ... and its opposite ... */
    { __NR_madvise, 2, ~1u, POPULATE },      /* ... but not those that poison or merge memory */
    { __NR_futex, 1, FUTEX_COMMAND, FUTEX_WAKE }, /* harmless: no thread waits */
    { __NR_clock_gettime, ANY, 0, 0 },
    { __NR_clock_getres, ANY, 0, 0 },
    { __NR_gettimeofday, ANY, 0, 0 },
    { __NR_getrandom, ANY, 0, 0 },
    { __NR_getpid, ANY, 0, 0 },
    { __NR_gettid, ANY, 0, 0 },
    { __NR_tgkill, 0, ALL, SELF }, /* abort() ... */
    { ALSO, 2, ALL, SIGABRT },     /* ... only: SIGCONT would undo a stop */
    { __NR_rt_sigprocmask, ANY, 0, 0 },
    { __NR_rt_sigreturn, ANY, 0, 0 },
};

/* Additional calls of the dynamic linker, and installation of the next filter. Code may only be
 * mapped from files and cannot be written, so nothing else becomes code and code never changes. */
static const rule loading[] = {
    { __NR_openat, 2, CHANGING, 0 },
#ifdef __NR_open
    { __NR_open, 1, CHANGING, 0 },
#endif
#ifdef __NR_stat
    { __NR_stat, ANY, 0, 0 },
#endif
#ifdef __NR_access
    { __NR_access, ANY, 0, 0 },
#endif
#ifdef __NR_readlink
    { __NR_readlink, ANY, 0, 0 },
#endif
    { __NR_faccessat, ANY, 0, 0 },   { __NR_newfstatat, ANY, 0, 0 },  { __NR_fstat, ANY, 0, 0 },
    { __NR_readlinkat, ANY, 0, 0 },  { __NR_getcwd, ANY, 0, 0 },      { __NR_read, ANY, 0, 0 },
    { __NR_pread64, ANY, 0, 0 },     { __NR_lseek, ANY, 0, 0 },       { __NR_close, ANY, 0, 0 },
    { __NR_seccomp, 1, ALL, 0 },     { __NR_mmap, 2, PROT_WRITE, 0 }, { ALSO, 3, MAP_ANONYMOUS, 0 },
};

/* Calls that a compiler may not make: the network, other processes, the kernel. */
static const rule denied[] = {
    { __NR_socket, ANY, 0, 0 },
    { __NR_connect, ANY, 0, 0 },
    { __NR_bind, ANY, 0, 0 },
    { __NR_listen, ANY, 0, 0 },
    { __NR_sendto, ANY, 0, 0 },
    { __NR_sendmsg, ANY, 0, 0 },
    { __NR_ptrace, ANY, 0, 0 },
    { __NR_process_vm_readv, ANY, 0, 0 },
    { __NR_process_vm_writev, ANY, 0, 0 },
    { __NR_pidfd_open, ANY, 0, 0 },
    { __NR_pidfd_getfd, ANY, 0, 0 },
    { __NR_mount, ANY, 0, 0 },
    { __NR_umount2, ANY, 0, 0 },
    { __NR_unshare, ANY, 0, 0 },
    { __NR_setns, ANY, 0, 0 },
    { __NR_chroot, ANY, 0, 0 },
    { __NR_pivot_root, ANY, 0, 0 },
    { __NR_bpf, ANY, 0, 0 },
    { __NR_perf_event_open, ANY, 0, 0 },
    { __NR_io_uring_setup, ANY, 0, 0 },
    { __NR_userfaultfd, ANY, 0, 0 },
    { __NR_keyctl, ANY, 0, 0 },
    { __NR_add_key, ANY, 0, 0 },
    { __NR_init_module, ANY, 0, 0 },
    { __NR_finit_module, ANY, 0, 0 },
    { __NR_kexec_load, ANY, 0, 0 },
    { __NR_reboot, ANY, 0, 0 },
    { __NR_settimeofday, ANY, 0, 0 },
    { __NR_clock_settime, ANY, 0, 0 },
    { __NR_setsid, ANY, 0,
      0 }, /* it would leave the process group that is killed at the deadline */
};

/* Limits and priorities of others, which a call of the same user's process may change ... */
static const rule others[] = {
    { __NR_prlimit64, ANY, 0, 0 },
    { __NR_setpriority, ANY, 0, 0 },
};

/* ... and those of the caller. */
static const rule own[] = {
    { __NR_prlimit64, 0, ALL, 0 },
    { __NR_setpriority, 1, ALL, 0 },
};

/* Sockets that CUDA's driver creates at startup; they carry no data. */
static const rule local[] = {
    { __NR_socket, 0, ALL, AF_UNIX },
    { __NR_bind, ANY, 0, 0 },
    { __NR_listen, ANY, 0, 0 },
};

/* Calls of a compiler that report success but do nothing: ninja puts each child in a separate
 * process group, and fails if it cannot; but a child must not leave the group that is killed. */
static const rule pretended[] = {
    { __NR_setpgid, ANY, 0, 0 },
};

/* ---------------------------------------------------------------------------------------------- */
/* The program                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

#define PROGRAM_MAX 512

typedef struct program {
    struct sock_filter code[PROGRAM_MAX];
    unsigned short length;
} program;

static void emit(program *to, uint16_t code, uint32_t k, uint8_t when_true, uint8_t when_false)
{
    if (to->length < PROGRAM_MAX)
        to->code[to->length++] = (struct sock_filter){ code, when_true, when_false, k };
}

static void emit_load(program *to, size_t offset)
{
    emit(to, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

#define CONDITION 3 /* instructions */

/* Continues if the condition of @r is met; else skips @skipped instructions. */
static void emit_condition(program *to, const rule *r, size_t skipped)
{
    size_t low = offsetof(struct seccomp_data, args) + (size_t)r->argument * sizeof(uint64_t);

    emit_load(to, low); /* both architectures are little-endian */
    emit(to, BPF_ALU | BPF_AND | BPF_K, r->mask, 0, 0);
    emit(to, BPF_JMP | BPF_JEQ | BPF_K, r->value == SELF ? (uint32_t)getpid() : r->value, 0,
         (uint8_t)skipped);
}

/* The number of conditions of the call at the start of @rules. */
static size_t count_conditions(const rule *rules, size_t count)
{
    size_t conditions = rules->argument != ANY;

    while (conditions > 0 && conditions < count && rules[conditions].number == ALSO)
        conditions++;
    return conditions;
}

/* Returns @action for a call in the table. The number is loaded before and after. */
static void emit_rules(program *to, const rule *rules, size_t count, uint32_t action)
{
    for (size_t i = 0; i < count; i++) {
        size_t conditions = count_conditions(&rules[i], count - i);
        size_t length = conditions > 0 ? CONDITION * conditions + 2 : 1;
        emit(to, BPF_JMP | BPF_JEQ | BPF_K, rules[i].number, 0, (uint8_t)length);
        for (size_t c = 0; c < conditions; c++)
            emit_condition(to, &rules[i + c], CONDITION * (conditions - c - 1) + 1);
        emit(to, BPF_RET | BPF_K, action, 0, 0);
        if (conditions > 0)
            emit_load(to, offsetof(struct seccomp_data, nr));
        i += conditions > 0 ? conditions - 1 : 0;
    }
}

static void emit_start(program *to)
{
    emit_load(to, offsetof(struct seccomp_data, arch));
    emit(to, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    emit(to, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    emit_load(to, offsetof(struct seccomp_data, nr));
    emit(to, BPF_JMP | BPF_JGE | BPF_K, NUMBER_LIMIT, 0, 1);
    emit(to, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
}

static void write_program(program *to, lab_filter filter)
{
    emit_start(to);
    if (filter == LAB_FILTER_COMPILER || filter == LAB_FILTER_DEVICE) {
        if (filter == LAB_FILTER_DEVICE)
            emit_rules(to, local, sizeof local / sizeof *local, SECCOMP_RET_ALLOW);
        emit_rules(to, own, sizeof own / sizeof *own, SECCOMP_RET_ALLOW);
        emit_rules(to, others, sizeof others / sizeof *others, SECCOMP_RET_ERRNO | EPERM);
        emit_rules(to, denied, sizeof denied / sizeof *denied, SECCOMP_RET_ERRNO | EPERM);
        emit_rules(to, pretended, sizeof pretended / sizeof *pretended, SECCOMP_RET_ERRNO | 0);
        emit(to, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        return;
    }
    emit_rules(to, computing, sizeof computing / sizeof *computing, SECCOMP_RET_ALLOW);
    if (filter == LAB_FILTER_LOADING)
        emit_rules(to, loading, sizeof loading / sizeof *loading, SECCOMP_RET_ALLOW);
    emit(to, BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
}

bool lab_filter_known(void)
{
    uint32_t action = SECCOMP_RET_TRAP;

    return ARCHITECTURE != 0 && syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool lab_filter_install(lab_filter filter)
{
    program code = { .length = 0 };

    if (filter == LAB_FILTER_NONE)
        return true;
    write_program(&code, filter);
    const struct sock_fprog handed = { .len = code.length, .filter = code.code };
    return code.length < PROGRAM_MAX &&
           syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &handed) == 0;
}

/* ---------------------------------------------------------------------------------------------- */
/* The verdict on a call                                                                          */
/* ---------------------------------------------------------------------------------------------- */

typedef struct meaning {
    int number;
    lab_trial_verdict verdict;
    const char *name;
} meaning;

static const meaning meanings[] = {
    { __NR_clone, LAB_TRIAL_FORKED, "clone" },
    { __NR_clone3, LAB_TRIAL_FORKED, "clone3" },
#ifdef __NR_fork
    { __NR_fork, LAB_TRIAL_FORKED, "fork" },
    { __NR_vfork, LAB_TRIAL_FORKED, "vfork" },
#endif
    { __NR_execve, LAB_TRIAL_FORKED, "execve" },
    { __NR_execveat, LAB_TRIAL_FORKED, "execveat" },
    { __NR_openat, LAB_TRIAL_FILE, "openat" },
    { __NR_openat2, LAB_TRIAL_FILE, "openat2" },
#ifdef __NR_open
    { __NR_open, LAB_TRIAL_FILE, "open" },
    { __NR_creat, LAB_TRIAL_FILE, "creat" },
    { __NR_unlink, LAB_TRIAL_FILE, "unlink" },
    { __NR_rename, LAB_TRIAL_FILE, "rename" },
    { __NR_mkdir, LAB_TRIAL_FILE, "mkdir" },
    { __NR_rmdir, LAB_TRIAL_FILE, "rmdir" },
    { __NR_link, LAB_TRIAL_FILE, "link" },
    { __NR_symlink, LAB_TRIAL_FILE, "symlink" },
    { __NR_chmod, LAB_TRIAL_FILE, "chmod" },
    { __NR_readlink, LAB_TRIAL_FILE, "readlink" },
    { __NR_access, LAB_TRIAL_FILE, "access" },
    { __NR_stat, LAB_TRIAL_FILE, "stat" },
#endif
    { __NR_unlinkat, LAB_TRIAL_FILE, "unlinkat" },
    { __NR_renameat2, LAB_TRIAL_FILE, "renameat2" },
    { __NR_mkdirat, LAB_TRIAL_FILE, "mkdirat" },
    { __NR_linkat, LAB_TRIAL_FILE, "linkat" },
    { __NR_symlinkat, LAB_TRIAL_FILE, "symlinkat" },
    { __NR_truncate, LAB_TRIAL_FILE, "truncate" },
    { __NR_ftruncate, LAB_TRIAL_FILE, "ftruncate" },
    { __NR_fchmodat, LAB_TRIAL_FILE, "fchmodat" },
    { __NR_newfstatat, LAB_TRIAL_FILE, "newfstatat" },
    { __NR_memfd_create, LAB_TRIAL_FILE, "memfd_create" },
    { __NR_socket, LAB_TRIAL_NETWORK, "socket" },
    { __NR_socketpair, LAB_TRIAL_NETWORK, "socketpair" },
    { __NR_connect, LAB_TRIAL_NETWORK, "connect" },
    { __NR_sendto, LAB_TRIAL_NETWORK, "sendto" },
    { __NR_sendmsg, LAB_TRIAL_NETWORK, "sendmsg" },
    { __NR_kill, LAB_TRIAL_FORBIDDEN, "kill" },
    { __NR_tgkill, LAB_TRIAL_FORBIDDEN, "tgkill" },
    { __NR_ptrace, LAB_TRIAL_FORBIDDEN, "ptrace" },
    { __NR_process_vm_readv, LAB_TRIAL_FORBIDDEN, "process_vm_readv" },
    { __NR_process_vm_writev, LAB_TRIAL_FORBIDDEN, "process_vm_writev" },
    { __NR_rt_sigaction, LAB_TRIAL_FORBIDDEN, "rt_sigaction" },
    { __NR_setpgid, LAB_TRIAL_FORBIDDEN, "setpgid" },
    { __NR_mmap, LAB_TRIAL_FORBIDDEN, "mmap of code" },
    { __NR_mprotect, LAB_TRIAL_FORBIDDEN, "mprotect of code" },
    { __NR_read, LAB_TRIAL_FORBIDDEN, "read of another descriptor" },
    { __NR_write, LAB_TRIAL_FORBIDDEN, "write to another descriptor" },
    { __NR_ioctl, LAB_TRIAL_FORBIDDEN, "ioctl" },
    { __NR_prctl, LAB_TRIAL_FORBIDDEN, "prctl" },
    { __NR_sched_setaffinity, LAB_TRIAL_FORBIDDEN, "sched_setaffinity" },
    { __NR_sched_yield, LAB_TRIAL_FORBIDDEN, "sched_yield" },
    { __NR_nanosleep, LAB_TRIAL_FORBIDDEN, "nanosleep" },
    { __NR_clock_nanosleep, LAB_TRIAL_FORBIDDEN, "clock_nanosleep" },
    { __NR_futex, LAB_TRIAL_FORBIDDEN, "futex" },
    { __NR_madvise, LAB_TRIAL_FORBIDDEN, "madvise" },
};

lab_trial_verdict lab_filter_judge(int number, const char **name)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].number != number)
            continue;
        *name = meanings[i].name;
        return meanings[i].verdict;
    }
    *name = "";
    return LAB_TRIAL_FORBIDDEN;
}
