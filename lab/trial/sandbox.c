/*
 * sandbox.c - the sandbox of an untrusted process
 */
#include "lab/trial/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock's interface, whose header may be older than the kernel. A kernel accepts a larger struct
 * than it knows if the unknown part is zero. */
typedef struct ruleset_attributes {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
} ruleset_attributes;

typedef struct __attribute__((packed)) path_attributes {
    uint64_t allowed;
    int32_t parent;
} path_attributes;

#define VERSION_FLAG 1u
#define RULE_PATH 1

/* Minimum descriptor of a ruleset. */
#define RULESET_ABOVE 32

/* File access rights, the number of bits in each version, and rights that apply to files. */
#define EXECUTE (UINT64_C(1) << 0)
#define WRITE_FILE (UINT64_C(1) << 1)
#define READ_FILE (UINT64_C(1) << 2)
#define READ_FOLDER (UINT64_C(1) << 3)
#define TRUNCATE (UINT64_C(1) << 14)
#define CONTROL (UINT64_C(1) << 15) /* ioctl on devices */
#define OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | CONTROL)
#define TO_READ (EXECUTE | READ_FILE | READ_FOLDER)
#define NOT_TO_WRITE (EXECUTE | CONTROL)

static uint64_t file_rights(int version)
{
    static const int bits[] = { 0, 13, 14, 15, 15, 16 };
    int last = (int)(sizeof bits / sizeof *bits) - 1;

    return (UINT64_C(1) << bits[version < last ? version : last]) - 1;
}

/* ---------------------------------------------------------------------------------------------- */
/* Facts about this kernel                                                                        */
/* ---------------------------------------------------------------------------------------------- */

lab_protections lab_protections_find(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, VERSION_FLAG);

    return (lab_protections){ .landlock = version > 0 ? (int)version : 0,
                              .seccomp = lab_filter_known(),
                              .no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0 };
}

bool lab_protections_suffice(const lab_protections *protections)
{
    return protections->landlock > 0 && protections->seccomp && protections->no_new_privs;
}

void lab_protections_missing(const lab_protections *protections, char *text, size_t size)
{
    const struct {
        bool there;
        const char *name;
    } all[] = { { protections->landlock > 0, "Landlock" },
                { protections->seccomp, "seccomp" },
                { protections->no_new_privs, "no_new_privs" } };
    size_t length = 0;

    if (size > 0)
        text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all && length < size; i++)
        if (!all[i].there)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                                       all[i].name);
}

/* ---------------------------------------------------------------------------------------------- */
/* Creating a sandbox                                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* Adds @access to the ruleset. */
static bool allow(int ruleset, const lab_access *access, uint64_t rights)
{
    struct stat status;
    path_attributes path = { .parent = open(access->path, O_PATH | O_CLOEXEC) };

    if (path.parent < 0)
        return errno == ENOENT || errno == ENOTDIR;
    path.allowed = rights & (access->device ? rights : access->write ? ~NOT_TO_WRITE : TO_READ);
    if (fstat(path.parent, &status) == 0 && !S_ISDIR(status.st_mode))
        path.allowed &= OF_FILES;
    bool added = syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &path, 0u) == 0;
    int error = errno;
    close(path.parent);
    errno = error;
    return added;
}

bool lab_sandbox_create(lab_sandbox *sandbox, const lab_access *access, size_t count)
{
    int version = sandbox->protections.landlock;
    const ruleset_attributes all = { .files = file_rights(version),
                                     .network = version >= 4 ? 3 : 0,
                                     .scopes = version >= 6 ? 3 : 0 };

    sandbox->ruleset = -1;
    if (version == 0)
        return true;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0u);
    if (ruleset >= 0) { /* above the final numbers of a child's descriptors */
        sandbox->ruleset = fcntl(ruleset, F_DUPFD_CLOEXEC, RULESET_ABOVE);
        close(ruleset);
    }
    for (size_t i = 0; i < count && sandbox->ruleset >= 0; i++)
        if (!allow(sandbox->ruleset, &access[i], all.files))
            lab_sandbox_destroy(sandbox);
    return sandbox->ruleset >= 0;
}

void lab_sandbox_destroy(lab_sandbox *sandbox)
{
    int error = errno;

    if (sandbox->ruleset >= 0)
        close(sandbox->ruleset);
    sandbox->ruleset = -1;
    errno = error;
}

/* ---------------------------------------------------------------------------------------------- */
/* Entering a sandbox                                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* Sets a limit to @value, or to the hard limit if that is less. */
static bool limit(int resource, size_t value)
{
    struct rlimit now;

    if (value == 0)
        return true;
    if (getrlimit(resource, &now) != 0)
        return false;
    if (now.rlim_max == RLIM_INFINITY || value < now.rlim_max)
        now.rlim_max = value;
    now.rlim_cur = now.rlim_max;
    return setrlimit(resource, &now) == 0;
}

static bool limit_resources(const lab_resources *resources)
{
    const struct rlimit none = { 0, 0 };

    return setrlimit(RLIMIT_CORE, &none) == 0 && limit(RLIMIT_AS, resources->memory) &&
           limit(RLIMIT_STACK, resources->stack) && limit(RLIMIT_FSIZE, resources->file_size) &&
           limit(RLIMIT_CPU, resources->seconds) && limit(RLIMIT_NPROC, resources->processes) &&
           limit(RLIMIT_NOFILE, resources->files);
}

/* The only superuser capability kept in a sandbox: access to files of any owner and mode, subject
 * to Landlock. */
#define KEPT CAP_DAC_OVERRIDE

/* Permanent, as no_new_privs is set: neither the process nor a program that it executes can regain
 * them. Without privileges there is nothing to give up. */
static bool give_up_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, has) != 0)
        return false;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        uint32_t kept = i == KEPT / 32 ? CAP_TO_MASK(KEPT) : 0;
        has[i].effective &= kept;
        has[i].permitted &= kept;
        has[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, has) == 0;
}

/* The process itself must add the files of its threads. */
static bool allow_threads(const lab_sandbox *sandbox)
{
    const lab_access own = { .path = "/proc/self/task", .write = true };

    return !sandbox->threads || sandbox->ruleset < 0 ||
           allow(sandbox->ruleset, &own, file_rights(sandbox->protections.landlock));
}

/* Makes the OOM killer choose this process first. */
static void go_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, "1000", 4) != 4)
        errno = 0; /* failure is harmless */
    if (fd >= 0)
        close(fd);
}

bool lab_sandbox_enter(const lab_sandbox *sandbox)
{
    const lab_protections *has = &sandbox->protections;

    go_first();
    if (!limit_resources(&sandbox->resources) || !allow_threads(sandbox))
        return false;
    if (has->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    if (sandbox->ruleset >= 0 && syscall(SYS_landlock_restrict_self, sandbox->ruleset, 0u) != 0)
        return false;
    if (has->no_new_privs && !give_up_capabilities())
        return false;
    return !has->seccomp || lab_filter_install(sandbox->filter);
}
