/*
 * compile.c - compiles a candidate's source in a sandbox
 *
 * HEED_CANDIDATE_HEADER is the path of heed_candidate.h, from CMake.
 */
#include "lab/trial/compile/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/base/embed.h"
#include "lab/trial/compile/folder.h"
#include "lab/trial/compile/image.h"
#include "lab/trial/process.h"
#include "measure.h"

LAB_EMBED(lab_text_candidate, HEED_CANDIDATE_HEADER);

const char *lab_candidate_header(void)
{
    return lab_text_candidate;
}

/* A compilation in progress. */
typedef struct job {
    const lab_candidate *candidate;
    const lab_limits *limits;
    lab_code *code;
    lab_trial_outcome *outcome;
    char folder[LAB_FOLDER_SIZE]; /* used only by this job */
} job;

/* ---------------------------------------------------------------------------------------------- */
/* The folder                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

static bool make_folder(job *it)
{
    const char *header = lab_candidate_header();

    return lab_folder_make(it->folder, sizeof it->folder, "trial") &&
           lab_folder_write(it->folder, "candidate.c", it->candidate->source,
                            it->candidate->source_size) &&
           lab_folder_write(it->folder, "heed_candidate.h", header, strlen(header));
}

/* Reads the compiler's result. */
static bool read_code(job *it)
{
    char path[sizeof it->folder + 16];
    struct stat status;

    snprintf(path, sizeof path, "%s/candidate.so", it->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        lab_close_fd(&fd);
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "the compiler made no file");
    }
    size_t size = (size_t)status.st_size;
    bool fits = size <= LAB_CODE_MAX;
    it->code->data = fits ? malloc(size) : NULL;
    bool read_all = it->code->data && read(fd, it->code->data, size) == (ssize_t)size;
    close(fd);
    if (!fits)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "its code has %zu bytes; it may have %zu", size, LAB_CODE_MAX);
    it->code->size = size;
    return read_all || lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot read its code");
}

/* ---------------------------------------------------------------------------------------------- */
/* The compiler                                                                                   */
/* ---------------------------------------------------------------------------------------------- */

#define DEFINE_SIZE (LAB_KNOB_NAME_MAX + 32)
#define ARGUMENTS_MAX (LAB_KNOBS_MAX + LAB_OPTIONS_MAX + 16)

/* Runs the compiler and reads its result. */
static bool run_compiler(job *it)
{
    char defines[LAB_KNOBS_MAX][DEFINE_SIZE];
    const char *arguments[ARGUMENTS_MAX];
    const lab_candidate *candidate = it->candidate;
    size_t count = 0;

    for (size_t i = 0; i < candidate->option_count; i++)
        arguments[count++] = candidate->options[i];
    for (size_t i = 0; i < candidate->knob_count; i++) {
        snprintf(defines[i], DEFINE_SIZE, "-D%s=%lld", candidate->knobs[i].name,
                 candidate->knobs[i].value);
        arguments[count++] = defines[i];
    }
    /* A source that can test for files could reveal which exist by whether it compiles; one that
     * contains the date could differ tomorrow. */
    static const char *const rest[] = { "-U__has_include",
                                        "-U__has_include_next",
                                        "-D__has_include_next(x)=1", /* used by clang's headers */
                                        "-U__has_embed",
                                        "-D__DATE__=\"Jan  1 1970\"",
                                        "-D__TIME__=\"00:00:00\"",
                                        "-D__TIMESTAMP__=\"Thu Jan  1 00:00:00 1970\"",
                                        "-shared",
                                        "-fPIC",
                                        "-w",
                                        "-I.",
                                        "-o",
                                        "candidate.so",
                                        "candidate.c",
                                        "-lm" };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        arguments[count++] = rest[i];
    const lab_compiler_task task = { .compiler = it->code->compiler,
                                     .arguments = arguments,
                                     .argument_count = count,
                                     .folder = it->folder,
                                     .limits = it->limits,
                                     .log = it->code->log };
    if (!lab_compiler_run(&task, it->outcome) || !read_code(it))
        return false;
    const char *why = lab_image_put_off(it->code->data, it->code->size);
    return !why || lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR, "%s", why);
}

static bool compile(job *it)
{
    if (!lab_compiler_find(it->code->compiler))
        return lab_trial_outcome_set(
            it->outcome, LAB_TRIAL_SYSTEM,
            "there is no C compiler that may be run: HEED_CC or one of "
            "cc, gcc, clang in PATH; scripts only in the system's folders");
    if (!make_folder(it))
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM,
                                     "cannot write to TMPDIR, or /tmp: %s", strerror(errno));
    return run_compiler(it);
}

bool lab_compile_c(const lab_candidate *candidate, const lab_limits *limits, lab_code *code,
                   lab_trial_outcome *outcome)
{
    const lab_limits full = lab_limits_fill(limits);
    int64_t start = heed_clock_ns();
    job it = { .candidate = candidate, .limits = &full, .code = code, .outcome = outcome };

    memset(code, 0, sizeof *code);
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    bool done = lab_candidate_check(candidate, outcome) && compile(&it);
    lab_folder_remove(it.folder);
    outcome->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return done;
}

void lab_code_free(lab_code *code)
{
    free(code->data);
    code->data = NULL;
    code->size = 0;
}
