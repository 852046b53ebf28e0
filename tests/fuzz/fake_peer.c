/*
 * fake_peer.c - a simulated child process
 */
#include "fake_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/trial/process.h"
#include "require.h"

/* No process has this ID. */
#define FAKE_PID 0x7ffffff0

#define LINE_MAX_SIZE 65536
#define BLANKS 4096
#define PIPE_SIZE (1 << 20)

static struct {
    const uint8_t *next, *end; /* the remaining input */
    int out, err;              /* of the living peer; -1: none */
    bool stopped;
    int ended; /* peers so far: determines how the next one ends */
} fake = { .out = -1, .err = -1 };

/* The functions replaced by these, and the replacements. */
int __real_kill(pid_t pid, int signal);
pid_t __real_waitpid(pid_t pid, int *status, int options);
int __real_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_kill(pid_t pid, int signal);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_lab_process_start(lab_process *process, const lab_process_command *command);
ssize_t __wrap_send(int fd, const void *data, size_t length, int flags);

void fake_peer_load(const uint8_t *data, size_t size)
{
    fake.next = data;
    fake.end = data + size;
    fake.ended = 0;
}

static void end_peer(void)
{
    if (fake.out < 0)
        return;
    close(fake.out);
    close(fake.err);
    fake.out = fake.err = -1;
    fake.stopped = false;
    fake.ended++;
    while (fake.next < fake.end && *fake.next++ != 2) {
    }
}

/* Writes as much as fits. */
static void say(int fd, const uint8_t *line, size_t length)
{
    char blanks[BLANKS];
    bool room = true;
    memset(blanks, ' ', sizeof blanks);
    for (size_t i = 0; i < length && room; i++)
        room = line[i] == 1 ? write(fd, blanks, sizeof blanks) > 0 : write(fd, &line[i], 1) > 0;
}

/* Writes the next line; returns true if another one is to follow. */
static bool say_line(void)
{
    const uint8_t *line = fake.next;
    while (fake.next < fake.end && *fake.next != '\n' && *fake.next != 2)
        fake.next++;
    bool whole = fake.next < fake.end && *fake.next == '\n';
    fake.next += whole;
    size_t length = (size_t)(fake.next - line);
    uint8_t mark = length > 0 ? line[0] : 0;
    bool marked = mark == '!' || mark == '+' || mark == '-';
    say(mark == '!' ? fake.err : fake.out, line + marked, length - marked);
    if (!whole)
        end_peer();
    return whole && (mark == '!' || mark == '+');
}

/* Writes O, once its file is known. */
static void write_output(const char *path)
{
    static const uint8_t o[FAKE_PEER_O_SIZE] = { 0 };
    int file = open(path, O_WRONLY | O_CLOEXEC);
    require(file >= 0 && write(file, o, sizeof o) == sizeof o, "the file for O can be written");
    close(file);
}

static void hear(const char *text, size_t length)
{
    json_t *request = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *o = json_string_value(json_object_get(request, "o"));
    require(length < LINE_MAX_SIZE, "a request is not longer than a line may be");
    require(memchr(text, '\n', length) == text + length - 1, "a request is one line");
    require(json_is_string(json_object_get(request, "op")), "a request says what it is");
    require(!fake.stopped, "a peer that is stopped is asked nothing");
    if (o)
        write_output(o);
    json_decref(request);
}

ssize_t __wrap_send(int fd, const void *data, size_t length, int flags)
{
    (void)fd;
    require(flags & MSG_NOSIGNAL, "writing to a dead peer raises no signal");
    if (fake.out < 0) {
        errno = EPIPE;
        return -1;
    }
    hear(data, length);
    while (say_line()) {
    }
    return (ssize_t)length;
}

int __wrap_lab_process_start(lab_process *process, const lab_process_command *command)
{
    int out[2], err[2], in = open("/dev/null", O_WRONLY | O_CLOEXEC);
    require(command->arguments[0] && command->environment, "a peer gets arguments");
    require(fake.out < 0, "a peer is gone before the next one is started");
    require(in >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0,
            "there are descriptors");
    fake.out = out[1];
    fake.err = err[1];
    for (int i = 0; i < 2; i++) {
        int end = i == 0 ? fake.out : fake.err;
        fcntl(end, F_SETPIPE_SZ, PIPE_SIZE);
        fcntl(end, F_SETFL, O_NONBLOCK);
    }
    *process = (lab_process){ .pid = FAKE_PID, .in = in, .out = out[0], .err = err[0] };
    return 0;
}

int __wrap_kill(pid_t pid, int signal)
{
    if (pid != -FAKE_PID)
        return __real_kill(pid, signal);
    if (signal == SIGKILL)
        end_peer();
    if (fake.out < 0)
        return 0; /* a zombie still accepts signals */
    fake.stopped = signal == SIGSTOP;
    if (signal == SIGSTOP && fake.next < fake.end && *fake.next == '-')
        say_line();
    return 0;
}

/* The peer always appears to have ended, so that nothing waits. */
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    if (type != P_PID || id != FAKE_PID)
        return __real_waitid(type, id, info, options);
    info->si_pid = FAKE_PID;
    return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    static const int ends[] = { 0, 3 << 8, SIGSEGV };
    if (pid != FAKE_PID)
        return __real_waitpid(pid, status, options);
    require(fake.out < 0, "a peer is waited for when it was killed or has ended");
    *status = ends[fake.ended % 3];
    return FAKE_PID;
}
