/*
 * process.c - a child process in a new process group, optionally in a sandbox; finding its program;
 * files in memory shared with it
 *
 * Between fork() and exec() the child only does async-signal-safe work, since another thread of the
 * parent may have held any lock.
 */
#define _GNU_SOURCE /* memfd_create(), pipe2(), sched_setaffinity() */
#include "lab/trial/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/base/file.h"
#include "lab/base/path.h"
#include "measure.h"

/* The child's descriptors are kept above this until they get their final numbers. */
#define ABOVE 16
#define CHANNELS 3

/* Interval of checks for interruption and deadlines. */
#define LOOK_MS 100

#define CLOSE_ON_EXEC 4u /* CLOSE_RANGE_CLOEXEC */

void lab_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void lab_process_close(lab_process *process)
{
    lab_close_fd(&process->in);
    lab_close_fd(&process->out);
    lab_close_fd(&process->err);
}

/* ---------------------------------------------------------------------------------------------- */
/* The child                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* Resets signals to the defaults of a new process. */
static bool reset_signals(void)
{
    static const int changed[] = { SIGINT, SIGPIPE, SIGTERM, SIGQUIT };
    sigset_t none;

    sigemptyset(&none);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        signal(changed[i], SIG_DFL);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* Marks all descriptors from @first on close-on-exec, so only the intended ones pass exec(). */
static void close_others(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, CLOSE_ON_EXEC) == 0)
        return;
#endif
    for (int fd = first; fd < 1024; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Gives the descriptors @files their final numbers, from 0; those that are -1 come last. */
static bool place_files(int *files, int count)
{
    for (int i = 0; i < count; i++)
        if (files[i] >= 0 && (files[i] = fcntl(files[i], F_DUPFD_CLOEXEC, ABOVE)) < 0)
            return false;
    for (int i = 0; i < count; i++)
        if (files[i] >= 0 && dup2(files[i], i) < 0)
            return false;
    return true;
}

/* Pins the process to the chosen CPU, if any. */
static bool pin(const lab_process_command *command)
{
    cpu_set_t one;

    if (!command->pinned)
        return true;
    CPU_ZERO(&one);
    CPU_SET((size_t)command->cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* Executes the program; returns only on failure, with errno. */
static void become(const lab_process_command *command, pid_t parent, const int channels[CHANNELS])
{
    int files[CHANNELS + LAB_PROCESS_FILES];
    int count = CHANNELS;

    memcpy(files, channels, sizeof *channels * CHANNELS);
    for (int i = 0; i < LAB_PROCESS_FILES && command->files[i] >= 0; i++)
        files[count++] = command->files[i];
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return;
    if (getppid() != parent) /* the parent ended before its death signal was set */
        _exit(127);
    if (!reset_signals() || !place_files(files, count) || !pin(command))
        return;
    if (command->folder && chdir(command->folder) != 0)
        return;
    close_others(count);
    if (command->sandbox && !lab_sandbox_enter(command->sandbox))
        return;
    execve(command->path, (char *const *)command->arguments, (char *const *)command->environment);
}

/* ---------------------------------------------------------------------------------------------- */
/* The parent                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

typedef struct channels {
    int in[2], out[2], err[2], news[2];
} channels;

static bool open_channels(channels *c)
{
    *c = (channels){ { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
    /* A socket: a write to a dead process must fail, not raise SIGPIPE. */
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->in) == 0 &&
           pipe2(c->out, O_CLOEXEC) == 0 && pipe2(c->err, O_CLOEXEC) == 0 &&
           pipe2(c->news, O_CLOEXEC) == 0;
}

static void close_channels(channels *c)
{
    int *all[] = { c->in, c->out, c->err, c->news };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lab_close_fd(&all[i][0]);
        lab_close_fd(&all[i][1]);
    }
}

static pid_t fork_child(const lab_process_command *command, const channels *c)
{
    pid_t parent = getpid();
    pid_t child = fork();

    if (child != 0)
        return child;
    /* The error channel may have any number, so it is moved above ABOVE, too. */
    int news = fcntl(c->news[1], F_DUPFD_CLOEXEC, ABOVE);
    become(command, parent, (const int[CHANNELS]){ c->in[0], c->out[1], c->err[1] });
    int error = errno;
    ssize_t told = write(news, &error, sizeof error);
    _exit(told > 0 ? 126 : 127);
}

/* The failure between fork() and exec(), as an errno value; 0 if none. */
static int read_news(int fd)
{
    int error = 0;
    ssize_t got;

    while ((got = read(fd, &error, sizeof error)) < 0 && errno == EINTR)
        ;
    return got == (ssize_t)sizeof error ? error : 0;
}

int lab_process_start(lab_process *process, const lab_process_command *command)
{
    channels c;

    *process = (lab_process){ .in = -1, .out = -1, .err = -1 };
    int error = open_channels(&c) ? 0 : errno;
    pid_t child = error == 0 ? fork_child(command, &c) : 0;
    if (child < 0)
        error = errno;
    if (child > 0) {
        lab_close_fd(&c.news[1]);
        error = read_news(c.news[0]);
        if (error != 0)
            lab_process_reap(child);
    }
    if (error == 0) {
        *process = (lab_process){ .pid = child, .in = c.in[1], .out = c.out[0], .err = c.err[0] };
        c.in[1] = c.out[0] = c.err[0] = -1;
    }
    close_channels(&c);
    return error;
}

/* It is left to be waited for. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

bool lab_process_await(pid_t pid, int64_t deadline)
{
    const struct timespec nap = { .tv_nsec = 1000000 };

    while (!has_ended(pid)) {
        if (heed_clock_ns() >= deadline)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

int lab_process_reap(pid_t pid)
{
    int status = 0;

    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

bool lab_process_freeze(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };
    int result;

    kill(-pid, SIGSTOP);
    while ((result = waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT)) < 0 &&
           errno == EINTR)
        ;
    if (result != 0 || info.si_code != CLD_STOPPED)
        return false;
    /* Consumes the report of the stop: a later one is for another stop. */
    waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG);
    return true;
}

bool lab_process_stood_still(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == 0;
}

void lab_process_thaw(pid_t pid)
{
    kill(-pid, SIGCONT);
}

void lab_inlet_read(lab_inlet *inlet, int *fd)
{
    char text[4096];
    ssize_t got = read(*fd, text, sizeof text);
    size_t room = inlet->size - 1 - inlet->length;

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        lab_close_fd(fd);
        return;
    }
    size_t keep = (size_t)got < room ? (size_t)got : room;
    memcpy(inlet->text + inlet->length, text, keep);
    inlet->length += keep;
    inlet->text[inlet->length] = '\0';
    inlet->arrived += (size_t)got;
}

bool lab_process_listen(lab_process *process, lab_inlet *output, lab_inlet *errors,
                        int64_t deadline, bool (*interrupted)(void))
{
    while (process->out >= 0 || process->err >= 0) {
        struct pollfd fds[] = { { .fd = process->err, .events = POLLIN },
                                { .fd = process->out, .events = POLLIN } };
        if (heed_clock_ns() >= deadline || (interrupted && interrupted()))
            return false;
        if (poll(fds, 2, LOOK_MS) <= 0)
            continue;
        if (fds[0].revents)
            lab_inlet_read(errors, &process->err);
        if (fds[1].revents)
            lab_inlet_read(output, &process->out);
    }
    return !(interrupted && interrupted()) && lab_process_await(process->pid, deadline);
}

/* ---------------------------------------------------------------------------------------------- */
/* Files in memory                                                                                */
/* ---------------------------------------------------------------------------------------------- */

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

int lab_share(const char *name, const void *data, size_t size)
{
    /* It may be loaded as code; older kernels do not have this flag. */
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || !data)
        return fd;
    if (lab_file_write(fd, data, size) &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool read_all(int fd, char *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, data + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool lab_share_read(int fd, void *data, size_t size)
{
    struct stat status;

    return fstat(fd, &status) == 0 && (size_t)status.st_size == size && read_all(fd, data, size);
}

/* -------------------------------------------------------------------------- */
/* The programs that trials start                                             */
/* -------------------------------------------------------------------------- */

bool lab_program_find(const char *name, char path[PATH_MAX], lab_trial_outcome *outcome)
{
    static const char *const places[] = { ".", "../lab", "../../lab", "../libexec/heed" };
    char folder[PATH_MAX - 64];

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!lab_beside(places[i], folder, sizeof folder))
            continue;
        snprintf(path, PATH_MAX, "%s/%s", folder, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM,
                                 "the program %s is not where heed is installed", name);
}
