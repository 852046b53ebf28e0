/*
 * declare.c - parser for the launch declaration in a CUDA source
 */
#include "lab/search/declare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/mask.h"
#include "lab/search/expression.h"
#include "lab/trial/launch.h"

#define NAMES_MAX 64
#define WORD_SIZE 200

static const char mark[] = "/* heed:launch";

/* ---- Names in expressions ---- */

typedef struct names {
    lab_named items[NAMES_MAX];
    size_t count;
} names;

/* The first definition of a name counts: other texts of a region follow it in comments. */
static void add_name(names *all, const char *name, size_t length, int64_t value)
{
    if (all->count == NAMES_MAX || length == 0 || length >= LAB_NAME_SIZE)
        return;
    for (size_t i = 0; i < all->count; i++)
        if (strncmp(all->items[i].name, name, length) == 0 && !all->items[i].name[length])
            return;
    lab_named *item = &all->items[all->count++];
    memset(item, 0, sizeof *item);
    memcpy(item->name, name, length);
    item->value = value;
}

/* Reads a line such as "#define WARPS 4". */
static void read_define(names *all, const char *line)
{
    static const char word[] = "#define ";
    if (strncmp(line, word, sizeof word - 1) != 0)
        return;
    const char *name = line + sizeof word - 1;
    size_t length = lab_name_length(name);
    if (name[length] != ' ')
        return;
    char *end;
    long long value = strtoll(name + length, &end, 10);
    if (end != name + length && (*end == '\n' || *end == ' ' || !*end))
        add_name(all, name, length, value);
}

static void find_names(names *all, const char *source, const lab_declared *declared)
{
    all->count = 0;
    for (size_t i = 0; i < LAB_DECLARED_KNOBS; i++)
        add_name(all, declared->knobs[i].name, strlen(declared->knobs[i].name),
                 declared->knobs[i].value);
    for (const char *line = source; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        read_define(all, line);
    }
}

/* ---- The words ---- */

/* Reads "name=value"; bit i of *@seen is field i, and the next one the entry. */
static heed_status read_word(const char *word, const names *all, lab_declared *it, unsigned *seen,
                             lab_error *error)
{
    const lab_scope scope = { all->items, all->count };
    const char *value = strchr(word, '=');
    size_t length = value ? (size_t)(value++ - word) : 0;
    if (length == 5 && strncmp(word, "entry", length) == 0) {
        *seen |= 1u << LAB_LAUNCH_FIELDS;
        it->launch.entry = it->entry;
        return snprintf(it->entry, sizeof it->entry, "%s", value) < (int)sizeof it->entry
                   ? HEED_OK
                   : lab_fail(error, HEED_ERR_INVALID,
                              "heed:launch: entry has more than %d letters", LAB_KNOB_NAME_MAX);
    }
    int field = lab_launch_find(word, length);
    int64_t number = 0;
    lab_error why;
    if (field < 0)
        return lab_fail(error, HEED_ERR_INVALID, "heed:launch: '%s' is not a field of a launch",
                        word);
    if (lab_expression_value(value, &scope, &number, &why) != HEED_OK)
        return lab_fail(error, HEED_ERR_INVALID, "heed:launch: %s: %s",
                        lab_launch_fields[field].name, why.text);
    *seen |= 1u << field;
    lab_launch_set(&it->launch, field, number);
    return HEED_OK;
}

/* A required field that is missing in the bit set @seen; or NULL. */
static const char *missing(unsigned seen)
{
    static const char *const needed[] = { "threads", "rows" };
    if (!(seen >> LAB_LAUNCH_FIELDS))
        return "entry";
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!(seen >> lab_launch_find(needed[i], strlen(needed[i])) & 1))
            return needed[i];
    return NULL;
}

static void take_kind(lab_declared *it, const heed_problem *problem)
{
    const lab_knob knobs[LAB_DECLARED_KNOBS] = {
        { "HEED_TYPE", problem->type },
        { "HEED_CAUSAL", lab_masked(problem) },
        { "HEED_DIM_QK", problem->dim_qk },
        { "HEED_DIM_V", problem->dim_v },
        { "HEED_HIDES_FIRST", lab_hides_first(problem) },
        { "HEED_CHUNKED", problem->chunk != 0 },
    };
    memcpy(it->knobs, knobs, sizeof knobs);
}

heed_status lab_declare_read(const char *source, const heed_problem *problem,
                             lab_declared *declared, lab_error *error)
{
    names all;
    unsigned seen = 0;
    const char *at = strstr(source, mark);
    memset(declared, 0, sizeof *declared);
    take_kind(declared, problem);
    declared->launch.splits = 1;
    if (!at)
        return lab_fail(error, HEED_ERR_INVALID,
                        "the source does not say how it is launched: /* heed:launch entry=NAME "
                        "threads=N rows=N */");
    find_names(&all, source, declared);
    for (at += sizeof mark - 1;; at += strcspn(at, " \t\n")) {
        char word[WORD_SIZE];
        at += strspn(at, " \t\n");
        if (!*at || strncmp(at, "*/", 2) == 0)
            break;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " \t\n"), at);
        if (strcmp(word, "*") == 0) /* continuation of a comment */
            continue;
        heed_status status = read_word(word, &all, declared, &seen, error);
        if (status != HEED_OK)
            return status;
    }
    const char *none = missing(seen);
    return none ? lab_fail(error, HEED_ERR_INVALID, "heed:launch: %s is missing", none) : HEED_OK;
}

bool lab_declare_same_kind(const heed_problem *a, const heed_problem *b)
{
    return a->type == b->type && a->dim_qk == b->dim_qk && a->dim_v == b->dim_v &&
           lab_masks_alike(a, b);
}
