/*
 * text.c - a device source as one text, with its original headers
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources.h"
#include "src/cuda/score/score.h"

/* Where device sources and the headers that they share with other code are. */
static const char *const folders[] = { "src/cuda/kernels/", "src/" };

/* The arguments of every kernel. If these files have changed, an old kernel cannot be launched. */
static const char *const arguments[] = { "args.cuh", "maps.cuh" };

/* The header that interprets the steps of a problem. */
static const char *const steps = "score.cuh";

static const char *find(const lab_record_library *sources, const char *name)
{
    char path[128];
    for (size_t in = 0; in < sizeof folders / sizeof *folders; in++) {
        snprintf(path, sizeof path, "%s%s", folders[in], name);
        for (size_t i = 0; i < sources->count; i++)
            if (strcmp(sources->files[i].path, path) == 0)
                return sources->files[i].text;
    }
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* The launch                                                                 */
/* -------------------------------------------------------------------------- */

/* The next character of code: skips comments and white space. */
static char next_code(const char **at)
{
    for (;;) {
        const char *p = *at;
        if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            *at = end ? end + 2 : p + strlen(p);
        } else if (p[0] == '/' && p[1] == '/') {
            *at = p + strcspn(p, "\n");
        } else if (isspace((unsigned char)*p)) {
            *at = p + 1;
        } else {
            *at = *p ? p + 1 : p;
            return *p;
        }
    }
}

static bool is_same_code(const char *a, const char *b)
{
    for (;;) {
        char one = next_code(&a), other = next_code(&b);
        if (one != other)
            return false;
        if (!one)
            return true;
    }
}

static bool is_same_file(const lab_record_library *sources, const char *name)
{
    const char *then = find(sources, name), *now = find(lab_build_sources(), name);
    return then && now && is_same_code(then, now);
}

/* Returns true if kernel arguments and the steps of @program are unchanged. If not, *@name is the
 * file that differs. */
static bool is_same_launch(const lab_record_library *sources, const char *program,
                           const char **name)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        *name = arguments[i];
        if (!is_same_file(sources, *name))
            return false;
    }
    *name = steps;
    return !*program || is_same_file(sources, *name);
}

/* -------------------------------------------------------------------------- */
/* The text                                                                   */
/* -------------------------------------------------------------------------- */

#define HEADERS_MAX 64
#define NAME_SIZE 64

/* The header generated from a problem. */
#define PROGRAM "program.cuh"

typedef struct amalgam {
    const lab_record_library *sources;
    const char *program; /* the text of PROGRAM */
    FILE *out;
    char done[HEADERS_MAX][NAME_SIZE]; /* headers included so far */
    size_t count;
    char missing[NAME_SIZE]; /* "": none */
} amalgam;

/* Returns true if the line at @at is #include "name". */
static bool is_include(const char *at, char name[NAME_SIZE])
{
    at += strspn(at, " \t");
    if (*at++ != '#')
        return false;
    at += strspn(at, " \t");
    if (strncmp(at, "include", 7) != 0)
        return false;
    at += 7 + strspn(at + 7, " \t");
    size_t length = *at == '"' ? strcspn(at + 1, "\"\n") : 0;
    if (length == 0 || length >= NAME_SIZE || at[1 + length] != '"')
        return false;
    memcpy(name, at + 1, length);
    name[length] = '\0';
    return true;
}

/* Adds @name to the included headers; false if it is one already. */
static bool is_new(amalgam *it, const char *name)
{
    for (size_t i = 0; i < it->count; i++)
        if (strcmp(it->done[i], name) == 0)
            return false;
    if (it->count < HEADERS_MAX)
        snprintf(it->done[it->count++], NAME_SIZE, "%s", name);
    return true;
}

static const char *header_of(const amalgam *it, const char *name)
{
    if (it->count == HEADERS_MAX)
        return NULL;
    return strcmp(name, PROGRAM) == 0 ? it->program : find(it->sources, name);
}

/* Adds @text. Headers include each other, but each is added once, so the recursion ends. */
static bool add_text(amalgam *it, const char *text) /* NOLINT(misc-no-recursion) */
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        char name[NAME_SIZE];
        if (!is_include(line, name)) {
            fwrite(line, 1, length, it->out);
        } else if (is_new(it, name)) {
            const char *header = header_of(it, name);
            if (!header)
                snprintf(it->missing, sizeof it->missing, "%s", name);
            if (!header || !add_text(it, header))
                return false;
        }
        line += length;
    }
    return true;
}

/* The text of PROGRAM for @problem, to be freed by the caller; NULL: not enough memory. */
static char *program_of(const heed_problem *problem)
{
    char *text = calloc(1, HEED_CUDA_PROGRAM_SIZE);
    if (text)
        heed_cuda_print_program(problem, text, HEED_CUDA_PROGRAM_SIZE);
    return text;
}

char *lab_build_kernel(const lab_record_library *sources, const heed_problem *problem,
                       const char *name, const char *text, char *why, size_t size)
{
    const char *changed = NULL;
    text = text ? text : name ? find(sources, name) : NULL;
    if (!text) {
        snprintf(why, size, "the original source %.60s is missing", name ? name : "");
        return NULL;
    }
    char *program = program_of(problem);
    if (program && !is_same_launch(sources, program, &changed)) {
        snprintf(why, size, "the launch interface has changed since (%s)", changed);
        free(program);
        return NULL;
    }
    char *whole = NULL;
    size_t length;
    amalgam it = { .sources = sources,
                   .program = program,
                   .out = open_memstream(&whole, &length),
                   .missing = "" };
    bool done = program && it.out && add_text(&it, text);
    done = it.out && fclose(it.out) == 0 && done;
    free(program);
    if (done)
        return whole;
    if (*it.missing)
        snprintf(why, size, "the original header %s is missing", it.missing);
    else
        snprintf(why, size, "not enough memory for its source");
    free(whole);
    return NULL;
}
