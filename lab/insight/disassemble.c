/*
 * disassemble.c - runs NVIDIA's disassembler
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/base/file.h"
#include "lab/insight/code.h"
#include "lab/trial/process.h"
#include "src/measure.h"

/* Maximum size of the text, at 200 bytes an instruction. Unused memory is never touched. */
#define TEXT_SIZE ((size_t)64 << 20)
#define COMPLAINTS_SIZE 4096

/* A large kernel takes a second or two. */
#define PATIENCE_NS INT64_C(60000000000)

/* Writes the code to a temporary file, whose name goes to @path. */
static bool write_file(const void *data, size_t size, char *path, size_t path_size,
                       lab_error *error)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, path_size, "%s/heed-inspect-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        lab_fail(error, HEED_ERR_SYSTEM, "cannot create %s: %s", path, strerror(errno));
        return false;
    }
    const bool written = lab_file_write(fd, data, size);
    const int reason = errno;
    if (close(fd) == 0 && written)
        return true;
    lab_fail(error, HEED_ERR_SYSTEM, "cannot write %s: %s", path,
             strerror(written ? errno : reason));
    unlink(path);
    return false;
}

/* The last line of its error output, without the newline: earlier ones may be warnings. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        text[--length] = '\0';
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

/* HEED_OK if it succeeded. */
static heed_status judge_end(const lab_disassembler *tool, const lab_inlet *text, char *complaints,
                             bool in_time, int status, const lab_sink *sink, lab_error *error)
{
    if (lab_interrupted(sink))
        return lab_fail(error, HEED_ERR_SYSTEM, "interrupted");
    if (!in_time)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s did not finish within %d s", tool->path,
                        (int)(PATIENCE_NS / 1000000000));
    if (WIFSIGNALED(status))
        return lab_fail(error, HEED_ERR_SYSTEM, "%s ended by signal %d (%s)", tool->path,
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s failed with exit status %d: %s", tool->path,
                        WEXITSTATUS(status), last_line(complaints));
    if (text->arrived >= text->size)
        return lab_fail(error, HEED_ERR_UNSUPPORTED, "%s printed %zu bytes; at most %zu are read",
                        tool->path, text->arrived, text->size - 1);
    return HEED_OK;
}

static heed_status run_tool(const lab_disassembler *tool, const char *file, char *output,
                            const lab_sink *sink, lab_error *error)
{
    const char *arguments[LAB_DISASSEMBLER_ARGUMENTS];
    char said[COMPLAINTS_SIZE] = "";
    lab_process process;
    lab_disassembler_arguments(tool, file, arguments);
    const lab_process_command command = { .path = tool->path,
                                          .arguments = arguments,
                                          .environment = (const char *const *)environ,
                                          .files = { -1, -1, -1 } };
    int reason = lab_process_start(&process, &command);
    if (reason != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s cannot be started: %s", tool->path,
                        strerror(reason));
    lab_inlet text = { .text = output, .size = TEXT_SIZE };
    lab_inlet complaints = { .text = said, .size = sizeof said };
    lab_close_fd(&process.in);
    bool in_time = lab_process_listen(&process, &text, &complaints, heed_clock_ns() + PATIENCE_NS,
                                      sink ? sink->interrupted : NULL);
    int status = lab_process_reap(process.pid);
    lab_process_close(&process);
    return judge_end(tool, &text, said, in_time, status, sink, error);
}

char *lab_disassemble(const lab_disassembler *tool, const void *data, size_t size,
                      const lab_sink *sink, lab_error *error)
{
    char path[512];
    char *text = calloc(1, TEXT_SIZE);
    if (!text) {
        lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for %zu bytes of disassembly", TEXT_SIZE);
        return NULL;
    }
    bool done = write_file(data, size, path, sizeof path, error);
    if (done) {
        done = run_tool(tool, path, text, sink, error) == HEED_OK;
        unlink(path);
    }
    if (done)
        return text;
    free(text);
    return NULL;
}
