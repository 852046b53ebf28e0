/*
 * ncu.c - runs NVIDIA's profiler on a separate heed process that makes one launch
 *
 * The clocks of the device are not locked: it may be shared, and all figures that are judged are
 * shares of the peak at the actual clock.
 */
#include "ncu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect/disassembler.h"
#include "src/measure.h"
#include "trial/process.h"

#define OUTPUT_SIZE (1 << 20)
#define ERRORS_SIZE (1 << 16)
#define ARGUMENTS_MAX 32
#define VARIABLES_MAX 4096

static const char install[] = "install Nsight Compute, which the CUDA toolkit has, or say where it "
                              "is";
static const char wait_longer[] = "see whether another ncu holds the device, or allow it more time";

/* The output of one run of ncu. */
typedef struct answer {
    char *output, *errors; /* null-terminated */
    int status;            /* from waitpid() */
    bool late;
} answer;

static bool give_up(lab_ncu_trouble *trouble, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool give_up(lab_ncu_trouble *trouble, const char *fix, const char *format, ...)
{
    trouble->kind = fix == install       ? LAB_NCU_ABSENT
                    : fix == wait_longer ? LAB_NCU_LATE
                                         : LAB_NCU_OTHER;
    va_list list;
    va_start(list, format);
    vsnprintf(trouble->reason, sizeof trouble->reason, format, list);
    va_end(list);
    trouble->fix = fix;
    return false;
}

bool lab_ncu_find(const char *wish, char *path, size_t size, lab_ncu_trouble *trouble)
{
    if (wish) {
        snprintf(path, size, "%s", wish);
        if (access(path, X_OK) == 0)
            return true;
        return give_up(trouble, install, "'%s' is not a program", wish);
    }
    if (lab_tool_find("ncu", path, size))
        return true;
    return give_up(trouble, install, "ncu was not found");
}

/* -------------------------------------------------------------------------- */
/* The child                                                                  */
/* -------------------------------------------------------------------------- */

/* The environment, with decimal points in numbers: ncu follows the locale. */
static const char **make_environment(void)
{
    const char **all = calloc(VARIABLES_MAX + 2, sizeof *all);
    size_t count = 0;
    for (char **it = environ; all && *it && count < VARIABLES_MAX; it++)
        if (strncmp(*it, "LC_", 3) != 0)
            all[count++] = *it;
    if (all)
        all[count] = "LC_ALL=C";
    return all;
}

static void answer_free(answer *it)
{
    free(it->output);
    free(it->errors);
    *it = (answer){ .output = NULL };
}

/* Runs the command to its end. Returns an errno value; free the answer in any case. */
static int ask(const char *const *arguments, int64_t deadline, const lab_sink *sink, answer *it)
{
    lab_process process;
    const char **environment = make_environment();
    *it = (answer){ .output = calloc(1, OUTPUT_SIZE), .errors = calloc(1, ERRORS_SIZE) };
    const lab_process_command command = { .path = arguments[0],
                                          .arguments = arguments,
                                          .environment = environment,
                                          .files = { -1, -1, -1 } };
    int error = it->output && it->errors && environment ? lab_process_start(&process, &command)
                                                        : ENOMEM;
    if (error == 0) {
        lab_inlet output = { .text = it->output, .size = OUTPUT_SIZE };
        lab_inlet errors = { .text = it->errors, .size = ERRORS_SIZE };
        lab_close_fd(&process.in);
        it->late = !lab_process_listen(&process, &output, &errors, deadline,
                                       sink ? sink->interrupted : NULL);
        it->status = lab_process_reap(process.pid);
        lab_process_close(&process);
    }
    free(environment);
    return error;
}

/* -------------------------------------------------------------------------- */
/* Its output                                                                 */
/* -------------------------------------------------------------------------- */

/* The first line of @text that contains @phrase, without the newline; NULL: none. */
static const char *line_with(const char *text, const char *phrase, int *length)
{
    const char *at = strstr(text, phrase);
    if (!at)
        return NULL;
    while (at > text && at[-1] != '\n')
        at--;
    *length = (int)strcspn(at, "\r\n");
    return at;
}

static bool explain(const answer *it, const lab_error *error, lab_ncu_trouble *trouble)
{
    static const char *const phrases[] = { "heed: error:", "==ERROR==" };
    const char *texts[] = { it->errors, it->output };
    int length;
    for (size_t i = 0; i < 2; i++) {
        const lab_profile_trouble *known = lab_profile_trouble_in(texts[i]);
        if (known)
            return give_up(trouble, known->fix, "%s", known->reason);
    }
    for (size_t i = 0; i < 4; i++) {
        const char *line = line_with(texts[i % 2], phrases[i / 2], &length);
        if (line)
            return give_up(trouble, NULL, "ncu said: %.*s", length, line);
    }
    if (WIFSIGNALED(it->status))
        return give_up(trouble, NULL, "ncu ended by signal %d (%s)", WTERMSIG(it->status),
                       strsignal(WTERMSIG(it->status)));
    if (WEXITSTATUS(it->status) != 0)
        return give_up(trouble, NULL, "ncu failed with exit status %d, without a message",
                       WEXITSTATUS(it->status));
    return give_up(trouble, NULL, "ncu's output is not in a known format: %s", error->text);
}

/* -------------------------------------------------------------------------- */
/* The command                                                                */
/* -------------------------------------------------------------------------- */

/* The device of @asked; "auto" was resolved to CUDA. */
static const char *cuda_of(const char *asked)
{
    return strncmp(asked, "cuda", 4) == 0 ? asked : "cuda";
}

/* Appends the command to launch. */
static void add_options(const lab_ncu_question *question, const char *arguments[ARGUMENTS_MAX])
{
    const char *const rows[][2] = { { "--kernel", question->kernel },
                                    { "--source", question->source },
                                    { "--code", question->code },
                                    { "--launch", question->launch } };
    size_t at = 0;
    while (arguments[at])
        at++;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i][1]) {
            arguments[at++] = rows[i][0];
            arguments[at++] = rows[i][1];
        }
    arguments[at] = question->spec;
}

static bool attempt(const lab_ncu_question *question, const char *metrics, int64_t deadline,
                    answer *it, lab_ncu_trouble *trouble)
{
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    const char *arguments[ARGUMENTS_MAX] = { question->ncu,
                                             "--csv",
                                             "--page",
                                             "raw",
                                             "--print-units",
                                             "base",
                                             "--clock-control",
                                             "none",
                                             "--cache-control",
                                             question->keep_caches ? "none" : "all",
                                             "--launch-count",
                                             "1",
                                             "--metrics",
                                             metrics,
                                             self,
                                             "launch",
                                             "--device",
                                             cuda_of(question->device) };
    add_options(question, arguments);
    int error = ask(arguments, deadline, question->sink, it);
    if (error != 0)
        return give_up(trouble, install, "'%s' cannot be started: %s", question->ncu,
                       strerror(error));
    if (lab_interrupted(question->sink))
        return give_up(trouble, NULL, "it was interrupted");
    if (it->late)
        return give_up(trouble, wait_longer, "ncu did not finish within %g s", question->seconds);
    return true;
}

bool lab_ncu_count(const lab_ncu_question *question, lab_profile *profile, lab_ncu_trouble *trouble)
{
    lab_profile_wish wish = question->only ? lab_profile_wish_only(question->arch, question->only,
                                                                   question->only_count)
                                           : lab_profile_wish_for(question->arch);
    int64_t deadline = heed_clock_ns() + (int64_t)(question->seconds * 1e9);
    for (;;) {
        char metrics[LAB_PROFILE_WISH_SIZE];
        answer it = { .output = NULL };
        lab_error error = { "" };
        bool done = attempt(question, lab_profile_wish_text(&wish, metrics), deadline, &it,
                            trouble);
        bool again = done && (lab_profile_wish_drop(&wish, it.output) ||
                              lab_profile_wish_drop(&wish, it.errors));
        bool whole = WIFEXITED(it.status) && WEXITSTATUS(it.status) == 0;
        if (done && !again &&
            (!whole || lab_profile_read(profile, it.output, NULL, &error) != HEED_OK))
            done = explain(&it, &error, trouble);
        answer_free(&it);
        if (!again)
            return done;
    }
}
