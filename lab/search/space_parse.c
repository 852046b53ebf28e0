/*
 * space_parse.c - parser for search space files
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/base/file.h"
#include "lab/search/space.h"

#define LINE_SIZE 512
#define FILE_MAX ((size_t)1 << 20)
#define ENTRIES_MAX 64 /* of each kind of line */

typedef struct parser {
    lab_space *space;
    const char *name; /* of the file */
    size_t line;
    lab_error *error;
} parser;

static heed_status fail(const parser *p, const char *what, const char *text)
{
    return lab_fail(p->error, HEED_ERR_INVALID, "%s:%zu: %s \"%.80s\"", p->name, p->line, what,
                    text);
}

/* Removes and returns the first word of *@text; "" at the end. */
static char *next_word(char **text)
{
    char *word = *text + strspn(*text, " \t");
    char *end = word + strcspn(word, " \t");
    *text = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static heed_status copy(const parser *p, char *to, size_t size, const char *text)
{
    text += strspn(text, " \t");
    if (strlen(text) >= size)
        return fail(p, "too long:", text);
    memcpy(to, text, strlen(text) + 1);
    return HEED_OK;
}

/* ---- Lines ---- */

static heed_status read_kernels(parser *p, char *text)
{
    lab_space *space = p->space;
    char *word;
    if (space->kernel_count > 0)
        return fail(p, "a second kernel line:", text);
    while (*(word = next_word(&text))) {
        if (space->kernel_count == LAB_SPACE_KERNELS)
            return fail(p, "too many kernels, from", word);
        heed_status status = copy(p, space->kernels[space->kernel_count++], HEED_NAME_SIZE, word);
        if (status != HEED_OK)
            return status;
    }
    return space->kernel_count > 0 ? HEED_OK : fail(p, "a kernel's name expected:", "");
}

/* Reads a name that is not yet in use. */
static heed_status read_new_name(parser *p, const char *word, char name[LAB_NAME_SIZE])
{
    const lab_space *space = p->space;
    if (lab_name_length(word) == 0 || word[lab_name_length(word)])
        return fail(p, "not a name of less than 32 letters, digits and underscores:", word);
    for (int i = 0; i < space->knob_count; i++)
        if (strcmp(space->knobs[i].name, word) == 0)
            return fail(p, "there is a knob of that name:", word);
    for (size_t i = 0; i < space->let_count; i++)
        if (strcmp(space->lets[i].name, word) == 0)
            return fail(p, "there is a let of that name:", word);
    return copy(p, name, LAB_NAME_SIZE, word);
}

static heed_status read_role(parser *p, char *text, lab_knob_role *role)
{
    const char *word = next_word(&text);
    for (int i = 0; i < LAB_KNOB_ROLES; i++)
        if (strcmp(word, lab_knob_role_name((lab_knob_role)i)) == 0) {
            *role = (lab_knob_role)i;
            return *next_word(&text) ? fail(p, "nothing may follow", word) : HEED_OK;
        }
    return fail(
        p, "not a role of a knob (registers, threads, rows, keys, stages, splits, order or other):",
        word);
}

static heed_status read_knob_value(parser *p, lab_space_knob *knob, const char *word)
{
    char *end;
    errno = 0;
    long long value = strtoll(word, &end, 10);
    if (*end || errno)
        return fail(p, "not an integer:", word);
    if (knob->count == LAB_SPACE_VALUES)
        return fail(p, "more than 32 values, from", word);
    for (int i = 0; i < knob->count; i++)
        if (knob->values[i] == value)
            return fail(p, "a value for the second time:", word);
    knob->values[knob->count++] = value;
    return HEED_OK;
}

static heed_status read_knob(parser *p, char *text)
{
    lab_space *space = p->space;
    if (space->knob_count == LAB_SPACE_KNOBS)
        return fail(p, "more than 12 knobs, from", text);
    lab_space_knob knob = { .count = 0 };
    heed_status status = read_new_name(p, next_word(&text), knob.name);
    while (status == HEED_OK) {
        const char *word = next_word(&text);
        if (!*word)
            break;
        if (strcmp(word, "as") == 0) {
            status = read_role(p, text, &knob.role);
            break;
        }
        status = read_knob_value(p, &knob, word);
    }
    if (status == HEED_OK && knob.count == 0)
        status = fail(p, "no values for knob", knob.name);
    if (status != HEED_OK)
        return status;
    space->knobs[space->knob_count++] = knob;
    if (lab_space_count(space) > LAB_SPACE_POINTS)
        return fail(p, "more than 2^20 points, with knob", knob.name);
    return HEED_OK;
}

/* Makes room for one more item in an array. */
static heed_status grow(parser *p, void *items, size_t count, size_t size)
{
    if (count == ENTRIES_MAX)
        return fail(p, "too many lines of this kind:", "64 is the limit");
    return lab_grow(items, count, size)
               ? HEED_OK
               : lab_fail(p->error, HEED_ERR_NO_MEMORY, "%s: no memory", p->name);
}

/* NAME = EXPRESSION. */
static heed_status read_assignment(parser *p, char *text, lab_let *let, bool letter)
{
    char *sign = strchr(text, '=');
    if (!sign)
        return fail(p, "NAME = EXPRESSION expected:", text);
    *sign = '\0';
    const char *name = next_word(&text);
    if (letter && (name[0] < 'a' || name[0] > 'z' || name[1]))
        return fail(p, "not the letter of a kernel's knob:", name);
    heed_status status = letter ? copy(p, let->name, sizeof let->name, name)
                                : read_new_name(p, name, let->name);
    return status == HEED_OK ? copy(p, let->text, sizeof let->text, sign + 1) : status;
}

/* Checks the expression at one point. */
static heed_status try_expression(parser *p, const char *text)
{
    const lab_point first = { { 0 } };
    lab_error inner;
    int64_t value;
    heed_status status = lab_space_compute(p->space, &first, text, &value, &inner);
    return status == HEED_ERR_INVALID
               ? lab_fail(p->error, status, "%s:%zu: %s", p->name, p->line, inner.text)
               : HEED_OK;
}

/* Appends an assignment to a list. */
static heed_status read_into(parser *p, char *text, bool letter, lab_let **list, size_t *count)
{
    lab_let let;
    heed_status status = read_assignment(p, text, &let, letter);
    if (status == HEED_OK)
        status = try_expression(p, let.text);
    if (status == HEED_OK)
        status = grow(p, list, *count, sizeof **list);
    if (status == HEED_OK)
        (*list)[(*count)++] = let;
    return status;
}

static heed_status read_let(parser *p, char *text)
{
    return read_into(p, text, false, &p->space->lets, &p->space->let_count);
}

static heed_status read_config(parser *p, char *text)
{
    return read_into(p, text, true, &p->space->config, &p->space->config_count);
}

static heed_status read_require(parser *p, char *text)
{
    static const char because[] = " because ";
    lab_space *space = p->space;
    lab_require rule = { .why = "" };
    char *why = strstr(text, because);
    if (why)
        *why = '\0';
    heed_status status = copy(p, rule.text, sizeof rule.text, text);
    if (status == HEED_OK)
        status = try_expression(p, rule.text);
    if (status == HEED_OK && why)
        status = copy(p, rule.why, sizeof rule.why, why + strlen(because));
    if (status == HEED_OK)
        status = grow(p, &space->rules, space->rule_count, sizeof *space->rules);
    if (status == HEED_OK)
        space->rules[space->rule_count++] = rule;
    return status;
}

/* FACT VALUE, or FACT none. */
static heed_status read_limit(parser *p, char *text)
{
    const char *word = next_word(&text), *value = next_word(&text);
    char *end;
    int fact = 0;
    while (fact < LAB_FACTS && strcmp(word, lab_fact_name((lab_fact)fact)) != 0)
        fact++;
    if (fact == LAB_FACTS)
        return fail(p, "not registers, spills, smem, blocks or warps:", word);
    if (strcmp(value, "none") == 0) {
        p->space->limits.value[fact] = -1;
        return HEED_OK;
    }
    errno = 0;
    p->space->limits.value[fact] = strtoll(value, &end, 10);
    if (end == value || *end || errno || p->space->limits.value[fact] < 0)
        return fail(p, "not a number of 0 or more, or none:", value);
    return *next_word(&text) ? fail(p, "nothing may follow", value) : HEED_OK;
}

/* ---- The file ---- */

static const struct {
    const char *word;
    heed_status (*read)(parser *p, char *text);
} kinds[] = {
    { "kernel", read_kernels },  { "knob", read_knob },     { "let", read_let },
    { "require", read_require }, { "config", read_config }, { "limit", read_limit },
};

static heed_status read_line(parser *p, char *text)
{
    text[strcspn(text, "#")] = '\0';
    for (size_t length = strlen(text); length > 0 && strchr(" \t\r", text[length - 1]); length--)
        text[length - 1] = '\0';
    const char *word = next_word(&text);
    if (!*word)
        return HEED_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(word, kinds[i].word) == 0)
            return kinds[i].read(p, text + strspn(text, " \t"));
    return fail(p, "not kernel, knob, let, require, config or limit:", word);
}

static heed_status finish(parser *p)
{
    if (p->space->kernel_count == 0)
        return lab_fail(p->error, HEED_ERR_INVALID, "%s: no kernel line", p->name);
    if (p->space->knob_count == 0)
        return lab_fail(p->error, HEED_ERR_INVALID, "%s: no knob line", p->name);
    return HEED_OK;
}

/* The name of the file without folder and extension. */
static void name_space(lab_space *space, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(space->name, sizeof space->name, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(space->name, '.');
    if (dot && dot > space->name)
        *dot = '\0';
}

heed_status lab_space_parse(lab_space *space, const char *text, const char *name, lab_error *error)
{
    parser p = { .space = space, .name = name, .error = error };
    heed_status status = HEED_OK;
    memset(space, 0, sizeof *space);
    space->limits = lab_bounds_standard();
    name_space(space, name);
    while (*text && status == HEED_OK) {
        char line[LINE_SIZE];
        size_t length = strcspn(text, "\n");
        p.line++;
        if (length >= sizeof line) {
            status = lab_fail(error, HEED_ERR_INVALID, "%s:%zu: longer than %d bytes", name, p.line,
                              LINE_SIZE - 1);
            break;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        status = read_line(&p, line);
        text += length + (text[length] == '\n');
    }
    if (status == HEED_OK)
        status = finish(&p);
    if (status != HEED_OK)
        lab_space_free(space);
    return status;
}

heed_status lab_space_load(lab_space *space, const char *path, lab_error *error)
{
    FILE *file;
    memset(space, 0, sizeof *space);
    heed_status status = lab_file_open(&file, path, error);
    if (status != HEED_OK)
        return status;
    char *text = malloc(FILE_MAX + 1);
    size_t size = text ? fread(text, 1, FILE_MAX + 1, file) : 0;
    if (!text)
        status = lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory", path);
    else if (ferror(file))
        status = lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    else if (size > FILE_MAX || memchr(text, '\0', size))
        status = lab_fail(error, HEED_ERR_INVALID, "%s: no text of less than 1 MiB", path);
    fclose(file);
    if (status == HEED_OK) {
        text[size] = '\0';
        status = lab_space_parse(space, text, path, error);
    }
    free(text);
    return status;
}
