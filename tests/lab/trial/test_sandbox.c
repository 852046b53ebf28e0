/*
 * test_sandbox.c - each protection of the sandbox: a child enters it and attempts the forbidden act
 */
#include "run_tests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hold.h"
#include "lab/trial/sandbox.h"
#include "scratch.h"
#include "trial_scene.h"

/* Runs @action in a child inside @sandbox. Returns its wait status. @action returns an errno
 * value. */
static int run_inside(const lab_sandbox *sandbox, int (*action)(void *data), void *data)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSYS, SIG_DFL); /* cmocka installs a handler */
        /* Without the sanitizers' wrappers, which make more system calls. */
        syscall(SYS_exit_group, lab_sandbox_enter(sandbox) ? action(data) : 200);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect_errno(const lab_sandbox *sandbox, int (*action)(void *data), void *data,
                         int wanted)
{
    int status = run_inside(sandbox, action, data);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
        fail_msg("wait status 0x%x instead of errno %d", status, wanted);
}

static int write_a_file(void *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : errno;
}

/* Names the main thread of process @of, or of this one, the way CUDA's driver names its threads. */
static int name_a_thread(void *of)
{
    char path[64];
    int pid = of ? *(int *)of : (int)getpid();
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, pid);
    int fd = open(path, O_WRONLY | O_TRUNC);
    return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : errno;
}

static int read_a_file(void *path)
{
    char text[4];
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    return fd >= 0 && syscall(SYS_read, fd, text, sizeof text) >= 0 ? 0 : errno;
}

static int remove_a_file(void *path)
{
    return unlink(path) == 0 ? 0 : errno;
}

static int open_a_socket(void *data)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : errno;
}

/* Creates a local socket, as CUDA's driver does, and then tries to connect it to another one. */
static int use_a_local_socket(void *reach)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0heed-test" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
        listen(fd, 1) != 0)
        return errno;
    if (reach && connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return errno;
    return 0;
}

static int limit(void *data)
{
    const pid_t *process = data;
    const struct rlimit none = { 0, 0 };
    return syscall(SYS_prlimit64, *process, RLIMIT_CORE, &none, NULL) == 0 ? 0 : errno;
}

static int slow_down(void *data)
{
    const pid_t *process = data;
    return setpriority(PRIO_PROCESS, (id_t)*process, 19) == 0 ? 0 : errno;
}

static int connect_somewhere(void *data)
{
    const int *port = data;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
}

static int take_memory(void *data)
{
    void *map = mmap(NULL, (size_t)1 << 31, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? errno : 0;
}

static int write_much(void *path)
{
    static const char data[8192];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    signal(SIGXFSZ, SIG_IGN);
    ssize_t put = write(fd, data, sizeof data);
    return put == 4096 && write(fd, data, 1) < 0 ? errno : 0;
}

/* The error of lstat() on @path, as an errno value. */
static int access_of(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 ? 0 : errno;
}

/* A file that must not be created. */
static char outside[64];

static int name_outside(void **state)
{
    (void)state;
    snprintf(outside, sizeof outside, "/tmp/heed-test-sandbox-%d", (int)getpid());
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */
/* Files                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* A sandbox of Landlock, of version @least at least, and of nothing else. */
static lab_sandbox landlock_alone(int least)
{
    lab_sandbox sandbox = { .protections = lab_protections_find() };
    if (sandbox.protections.landlock < least)
        skip();
    sandbox.protections.seccomp = false;
    return sandbox;
}

static void test_landlock(void **state)
{
    char inside[SCRATCH_PATH_SIZE];
    const lab_access access[] = { { .path = *state, .write = true },
                                  { .path = "/usr" },
                                  { .path = "/no/such/folder" } };
    lab_sandbox sandbox = landlock_alone(1);

    scratch_path(state, "file", inside);
    assert_true(lab_sandbox_create(&sandbox, access, 3));
    expect_errno(&sandbox, write_a_file, inside, 0);
    expect_errno(&sandbox, read_a_file, inside, 0);
    expect_errno(&sandbox, write_a_file, outside, EACCES);
    assert_int_equal(access_of(outside), ENOENT);
    expect_errno(&sandbox, read_a_file, (char[]){ "/etc/passwd" }, EACCES);
    expect_errno(&sandbox, write_a_file, (char[]){ "/usr/heed-test-sandbox" }, EACCES);
    expect_errno(&sandbox, remove_a_file, (char[]){ "/etc/passwd" }, EACCES);
    expect_errno(&sandbox, remove_a_file, inside, 0);
    lab_sandbox_destroy(&sandbox);
}

static void test_threads(void **state)
{
    const lab_access access = { .path = "/" };
    lab_sandbox sandbox = landlock_alone(1);
    int parent = (int)getpid();

    assert_true(lab_sandbox_create(&sandbox, &access, 1));
    expect_errno(&sandbox, name_a_thread, NULL, EACCES);
    sandbox.threads = true;
    expect_errno(&sandbox, name_a_thread, NULL, 0);
    expect_errno(&sandbox, name_a_thread, &parent, EACCES);
    expect_errno(&sandbox, write_a_file, outside, EACCES);
    lab_sandbox_destroy(&sandbox);
}

/* Calls ioctl() on a device with an unknown request. */
static int control(void *path)
{
    int fd = open(path, O_RDWR);
    return fd >= 0 && ioctl(fd, _IO('H', 1)) == 0 ? 0 : errno;
}

/* A device may be allowed by name, without its directory. */
static void test_device(void **state)
{
    static char null[] = "/dev/null", zero[] = "/dev/zero";
    const lab_access access[] = { { .path = "/" },
                                  { .path = null, .device = true },
                                  { .path = zero, .write = true } };
    lab_sandbox sandbox = landlock_alone(1);

    assert_true(lab_sandbox_create(&sandbox, access, 3));
    expect_errno(&sandbox, control, null, ENOTTY);
    expect_errno(&sandbox, control, zero, sandbox.protections.landlock < 5 ? ENOTTY : EACCES);
    expect_errno(&sandbox, control, (char[]){ "/dev/full" }, EACCES);
    lab_sandbox_destroy(&sandbox);
}

/* The superuser's privileges would open them, in spite of Landlock. */
static void test_processes(void **state)
{
    static const char *const names[] = { "environ", "maps", "mem", "auxv" };
    const lab_access access = { .path = "/" };
    lab_sandbox sandbox = landlock_alone(1);
    char path[64];

    assert_true(lab_sandbox_create(&sandbox, &access, 1));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)getpid(), names[i]);
        expect_errno(&sandbox, read_a_file, path, EACCES);
    }
    lab_sandbox_destroy(&sandbox);
}

static void test_network(void **state)
{
    lab_sandbox sandbox = landlock_alone(4);
    const lab_sandbox none = { .ruleset = -1 };
    int port, fd = scene_listen(&port);

    if (fd < 0)
        skip();
    assert_true(lab_sandbox_create(&sandbox, NULL, 0));
    expect_errno(&none, connect_somewhere, &port, 0);
    expect_errno(&sandbox, connect_somewhere, &port, EACCES);
    lab_sandbox_destroy(&sandbox);
    close(fd);
}

/* ---------------------------------------------------------------------------------------------- */
/* System calls                                                                                   */
/* ---------------------------------------------------------------------------------------------- */

static void test_filters(void **state)
{
    lab_sandbox sandbox = { .protections = lab_protections_find(), .ruleset = -1 };
    int status;

    if (!sandbox.protections.seccomp)
        skip();
    expect_errno(&sandbox, open_a_socket, NULL, 0);
    sandbox.filter = LAB_FILTER_COMPILER;
    expect_errno(&sandbox, open_a_socket, NULL, EPERM);
    expect_errno(&sandbox, read_a_file, (char[]){ "/etc/passwd" }, 0);
    expect_errno(&sandbox, use_a_local_socket, NULL, EPERM);
    expect_errno(&sandbox, limit, &(pid_t){ 0 }, 0);
    expect_errno(&sandbox, limit, &(pid_t){ getpid() }, EPERM);
    expect_errno(&sandbox, slow_down, &(pid_t){ 0 }, 0);
    expect_errno(&sandbox, slow_down, &(pid_t){ getpid() }, EPERM);
    sandbox.filter = LAB_FILTER_DEVICE;
    expect_errno(&sandbox, limit, &(pid_t){ 0 }, 0);
    expect_errno(&sandbox, limit, &(pid_t){ getpid() }, EPERM);
    expect_errno(&sandbox, open_a_socket, NULL, EPERM);
    expect_errno(&sandbox, use_a_local_socket, NULL, 0);
    expect_errno(&sandbox, use_a_local_socket, &sandbox, EPERM);
    sandbox.filter = LAB_FILTER_LOADING;
    expect_errno(&sandbox, read_a_file, (char[]){ "/etc/passwd" }, 0);
    status = run_inside(&sandbox, write_a_file, outside);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    assert_int_equal(access_of(outside), ENOENT);
    status = run_inside(&sandbox, open_a_socket, NULL);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    sandbox.filter = LAB_FILTER_COMPUTING;
    status = run_inside(&sandbox, read_a_file, (char[]){ "/etc/passwd" });
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static void test_judgements(void **state)
{
    const char *name;

    assert_int_equal(lab_filter_judge(SYS_clone, &name), LAB_TRIAL_FORKED);
    assert_string_equal(name, "clone");
    assert_int_equal(lab_filter_judge(SYS_openat, &name), LAB_TRIAL_FILE);
    assert_int_equal(lab_filter_judge(SYS_socket, &name), LAB_TRIAL_NETWORK);
    assert_int_equal(lab_filter_judge(99999, &name), LAB_TRIAL_FORBIDDEN);
    assert_string_equal(name, "");
}

/* ---------------------------------------------------------------------------------------------- */
/* Resources                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* Sanitizers reserve more address space for shadow memory than the limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool shadowed = true;
#else
static const bool shadowed = false;
#endif

static void test_resources(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_sandbox sandbox = { .ruleset = -1 };

    scratch_path(state, "large", path);
    sandbox.resources = (lab_resources){ .memory = (size_t)1 << 30 };
    if (!shadowed)
        expect_errno(&sandbox, take_memory, NULL, ENOMEM);
    sandbox.resources = (lab_resources){ .file_size = 4096 };
    expect_errno(&sandbox, write_much, path, EFBIG);
}

/* ---------------------------------------------------------------------------------------------- */
/* Systems that have less                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* The result of a trial without Landlock: 0 if it is refused by default, and runs if requested. */
static int try_without_landlock(void)
{
    static trial_scene scene;
    lab_limits limits = { .run_seconds = 5 };
    lab_trial_outcome outcome;

    trial_scene_open(&scene);
    if (!lose_landlock())
        return 1;
    if (scene_try(&scene, "plain", 0, &limits, &outcome) ||
        outcome.verdict != LAB_TRIAL_UNPROTECTED || !strstr(outcome.text, "lacks Landlock"))
        return 2;
    limits.unsafe = true;
    if (!scene_try(&scene, "plain", 0, &limits, &outcome) || !scene_is_right(&scene))
        return 3;
    scene_try(&scene, "forbidden/fork_raw", 0, &limits, &outcome); /* still detected */
    return outcome.verdict == LAB_TRIAL_FORKED ? 0 : 4;
}

static void test_without_landlock(void **state)
{
    int status = 0;

    if (!can_hold())
        skip();
    pid_t child = fork();
    if (child == 0)
        _exit(try_without_landlock());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_missing(void **state)
{
    const lab_protections none = { 0 }, all = { 3, true, true };
    char text[64];

    assert_false(lab_protections_suffice(&none));
    assert_true(lab_protections_suffice(&all));
    lab_protections_missing(&none, text, sizeof text);
    assert_string_equal(text, "Landlock, seccomp, no_new_privs");
    lab_protections_missing(&all, text, sizeof text);
    assert_string_equal(text, "");
    lab_protections_missing(&none, text, 5);
    assert_string_equal(text, "Land");
}

int main(void)
{
    return run_test_list(TEST_LIST_EACH(scratch_open, scratch_close, test_landlock, test_threads,
                                        test_device, test_processes, test_network, test_filters,
                                        test_judgements, test_resources, test_without_landlock,
                                        test_missing),
                         name_outside, NULL);
}
