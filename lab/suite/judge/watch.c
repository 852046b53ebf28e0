/*
 * watch.c - resource limits on a solution's process group: memory, files and disk space
 */
#include "lab/suite/judge/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDER_MOST ((size_t)8 << 30)
#define FOLDER_FILES 65536
#define DEPTH_MAX 16

/* This fraction of the memory and disk that were free at the start must stay free. It also catches
 * memory that no process owns, such as unlinked files. */
#define MEMORY_LEFT 8
#define DISK_LEFT 2

#define BLOCK 512 /* bytes; unit of st_blocks, on every file system */
#define MIB ((double)(1 << 20))

/* ---- The machine ---- */

/* The number after @name in a file of lines "name 12" or "name: 12 kB", in bytes; 0 if none. */
static uint64_t field(const char *path, const char *name)
{
    char line[256], unit[3] = "";
    unsigned long long value = 0;
    const size_t length = strlen(name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && strchr(": ", line[length]) && line[length]) {
            sscanf(line + length + 1, "%llu %2s", &value, unit);
            break;
        }
    if (file)
        fclose(file);
    return strcmp(unit, "kB") == 0 ? value * 1024 : value;
}

/* The number in a one-number file; UINT64_MAX for "max", and if there is no file. */
static uint64_t number(const char *path)
{
    unsigned long long value = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &value) != 1)
        value = UINT64_MAX;
    if (file)
        fclose(file);
    return value;
}

/* Available memory in bytes: of the machine, or of the container if that has less. */
static uint64_t free_memory(void)
{
    const uint64_t machine = field("/proc/meminfo", "MemAvailable");
    const uint64_t most = number("/sys/fs/cgroup/memory.max");
    const uint64_t used = number("/sys/fs/cgroup/memory.current");
    const uint64_t kept = field("/sys/fs/cgroup/memory.stat", "inactive_file");
    if (most == UINT64_MAX || used == UINT64_MAX)
        return machine;
    const uint64_t taken = used > kept ? used - kept : 0;
    const uint64_t container = most > taken ? most - taken : 0;
    return container < machine ? container : machine;
}

static uint64_t free_disk(const char *folder)
{
    struct statvfs it;
    return statvfs(folder, &it) == 0 ? (uint64_t)it.f_bavail * it.f_frsize : UINT64_MAX;
}

/* ---- Processes ---- */

/* The process group of the folder @name in /proc; -1 for other folders, or if it ended. */
static long group_of(const char *name)
{
    char path[300], text[512] = "", state = 'Z';
    long group;
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    FILE *file = name[0] >= '1' && name[0] <= '9' ? fopen(path, "re") : NULL;
    if (!file)
        return -1;
    const char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    bool known = end && sscanf(end, ") %c %*d %ld", &state, &group) == 2;
    return known && state != 'Z' && state != 'X' ? group : -1;
}

/* Counts the processes in the group @pid and their memory, without executables and other mapped
 * files. */
static int count_group(pid_t pid, uint64_t *memory)
{
    char path[300];
    int count = 0;
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (group_of(entry->d_name) != (long)pid)
            continue;
        count++;
        snprintf(path, sizeof path, "/proc/%s/status", entry->d_name);
        if (memory)
            *memory += field(path, "RssAnon") + field(path, "RssShmem");
    }
    if (directory)
        closedir(directory);
    return count;
}

int lab_watch_others(pid_t pid)
{
    int count = count_group(pid, NULL);
    return count > 0 ? count - 1 : 0;
}

/* ---- Files ---- */

typedef struct contents {
    size_t most, files;
    uint64_t bytes;
} contents;

/* Adds up the contents of the folder @path in @at, until there are too many files. */
static void add_up(int at, const char *path, int depth, contents *all)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    struct stat it;
    while (directory && all->files <= all->most && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            fstatat(fd, name, &it, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        all->files++;
        all->bytes += (uint64_t)it.st_blocks * BLOCK;
        if (S_ISDIR(it.st_mode) && depth < DEPTH_MAX)
            add_up(fd, name, depth + 1, all);
    }
    if (directory)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
}

/* ---- Limits ---- */

lab_watch lab_watch_begin(const char *folder, size_t memory)
{
    const uint64_t available = free_memory(), disk = free_disk(folder);
    return (lab_watch){ .folder = folder,
                        .memory_most = memory ? memory : (size_t)(available / 2),
                        .memory_least = (size_t)(available / MEMORY_LEFT),
                        .folder_most = FOLDER_MOST,
                        .folder_files = FOLDER_FILES,
                        .disk_least = disk == UINT64_MAX ? 0 : (size_t)(disk / DISK_LEFT) };
}

static bool spares_memory(const lab_watch *watch, pid_t pid, lab_trial_outcome *outcome)
{
    uint64_t memory = 0;
    count_group(pid, &memory);
    if (memory > watch->memory_most)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY,
                                     "took %.0f MiB of memory; %.0f MiB are allowed",
                                     (double)memory / MIB, (double)watch->memory_most / MIB);
    const uint64_t left = free_memory();
    if (left < watch->memory_least)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY,
                                     "left %.0f MiB of the machine's memory; %.0f MiB must be left",
                                     (double)left / MIB, (double)watch->memory_least / MIB);
    return true;
}

static bool spares_disk(const lab_watch *watch, lab_trial_outcome *outcome)
{
    contents all = { .most = watch->folder_files };
    add_up(AT_FDCWD, watch->folder, 0, &all);
    if (all.files > watch->folder_files)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_FILE,
                                     "made more files than the %zu that are allowed",
                                     watch->folder_files);
    if (all.bytes > watch->folder_most)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_FILE,
                                     "wrote %.1f MiB to its folder; %.1f MiB are allowed",
                                     (double)all.bytes / MIB, (double)watch->folder_most / MIB);
    const uint64_t left = free_disk(watch->folder);
    if (left < watch->disk_least)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_FILE,
                                     "left %.0f MiB of the disk; %.0f MiB must be left",
                                     (double)left / MIB, (double)watch->disk_least / MIB);
    return true;
}

bool lab_watch_look(const lab_watch *watch, pid_t pid, lab_trial_outcome *outcome)
{
    return spares_memory(watch, pid, outcome) && spares_disk(watch, outcome);
}
