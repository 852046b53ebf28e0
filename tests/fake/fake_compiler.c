/*
 * fake_compiler.c - the fake compiler's programs for the emulator: files for the C compiler
 *
 * CMake defines FAKE_COMPILER, the C compiler, and FAKE_TESTS, the folder of tests.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_driver.h"

#define ARGUMENTS_MAX 160
#define ARGUMENT_SIZE (PATH_MAX + 64)
#define SOURCES "src/cuda/kernels" /* where descriptions of the emulator include sources from */

void fake_temporary(char path[PATH_MAX])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/fake_cuda_XXXXXX", folder && *folder ? folder : "/tmp");
}

/* Makes the folders above @path; those in its first @from bytes exist. */
static bool make_folders(char *path, size_t from)
{
    bool fine = true;
    for (char *slash = strchr(path + from, '/'); fine && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        fine = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
    }
    return fine;
}

static bool write_file(const fake_program *program, const char *name, const char *text)
{
    char path[ARGUMENT_SIZE + PATH_MAX];
    snprintf(path, sizeof path, "%s/" SOURCES "/%s", program->folder, name);
    FILE *file = make_folders(path, strlen(program->folder) + 1) ? fopen(path, "w") : NULL;
    bool written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && written;
}

/* The emulator's description of the program. */
static void print_description(const fake_program *program, char path[ARGUMENT_SIZE])
{
    snprintf(path, ARGUMENT_SIZE, FAKE_TESTS "/emulator/kernels/%s.c", program->stem);
}

bool fake_program_write(fake_program *program, const char *source, const char *name,
                        int header_count, const char *const *headers,
                        const char *const *header_names)
{
    char description[ARGUMENT_SIZE];
    *program = (fake_program){ .code = NULL };
    snprintf(program->stem, sizeof program->stem, "%.*s", (int)strcspn(name, "."), name);
    print_description(program, description);
    if (access(description, R_OK) != 0)
        return true;
    fake_temporary(program->folder);
    if (!mkdtemp(program->folder)) {
        program->folder[0] = '\0';
        return false;
    }
    bool fine = write_file(program, name, source);
    for (int i = 0; i < header_count && fine; i++)
        fine = write_file(program, header_names[i], headers[i]);
    return fine;
}

/* ---- The C compiler ---- */

typedef struct command {
    char room[ARGUMENTS_MAX][ARGUMENT_SIZE];
    char *arguments[ARGUMENTS_MAX + 1];
    int count;
} command;

static void add(command *c, const char *before, const char *text)
{
    if (c->count == ARGUMENTS_MAX)
        return;
    snprintf(c->room[c->count], ARGUMENT_SIZE, "%s%s", before, text);
    c->arguments[c->count] = c->room[c->count];
    c->count++;
}

/* The library of these functions, which has the emulator that the program calls. */
static const char *own_path(void)
{
    Dl_info info;
    return dladdr(&fake_cuda_controls, &info) ? info.dli_fname : "";
}

static void fill_command(command *c, const fake_program *program, int option_count,
                         const char *const *options)
{
    static const char *const usual[] = {
        "-std=gnu17",          "-O0", "-w", "-fPIC", "-shared", "-DEMULATED_KERNEL=emulated",
        "-DEMULATED_NAME=\"\""
    };
    char path[ARGUMENT_SIZE];
    add(c, "", FAKE_COMPILER);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        add(c, "", usual[i]);
    for (int i = 0; i < option_count; i++)
        if (strncmp(options[i], "-D", 2) == 0)
            add(c, "", options[i]);
    add(c, "-I", program->folder);
    snprintf(path, sizeof path, "%s/" SOURCES, program->folder);
    add(c, "-I", path);
    add(c, "-I", FAKE_TESTS);
    add(c, "-I", FAKE_TESTS "/..");
    snprintf(path, sizeof path, "%s/code.so", program->folder);
    add(c, "-o", path);
    print_description(program, path);
    add(c, "", path);
    add(c, "", own_path());
    add(c, "", "-lm");
}

/* Runs a command whose output goes to the file @log. */
static bool run(const command *c, const char *log)
{
    posix_spawn_file_actions_t actions;
    pid_t process;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    bool started = posix_spawnp(&process, c->arguments[0], &actions, NULL, c->arguments, environ) ==
                   0;
    posix_spawn_file_actions_destroy(&actions);
    return started && waitpid(process, &status, 0) == process && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool read_code(fake_program *program)
{
    char path[ARGUMENT_SIZE];
    struct stat about;
    snprintf(path, sizeof path, "%s/code.so", program->folder);
    FILE *file = fopen(path, "r");
    if (file && fstat(fileno(file), &about) == 0) {
        program->size = (size_t)about.st_size;
        program->code = malloc(program->size);
    }
    bool fine = program->code && fread(program->code, 1, program->size, file) == program->size;
    if (file)
        fclose(file);
    return fine;
}

static void read_log(fake_program *program, const char *path)
{
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(program->log, 1, sizeof program->log - 1, file) : 0;
    program->log[size] = '\0';
    if (file)
        fclose(file);
}

bool fake_program_compile(fake_program *program, int option_count, const char *const *options)
{
    char log[ARGUMENT_SIZE];
    command *c = calloc(1, sizeof *c);
    if (!c)
        return false;
    snprintf(log, sizeof log, "%s/log", program->folder);
    fill_command(c, program, option_count, options);
    bool fine = run(c, log) && read_code(program);
    if (!fine)
        read_log(program, log);
    free(c);
    return fine;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about, (void)type, (void)at;
    return remove(path);
}

void fake_program_remove(fake_program *program)
{
    enum {
        FOLDERS_OPEN = 8
    };
    if (program->folder[0])
        nftw(program->folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
    free(program->code);
}
