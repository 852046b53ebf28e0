/*
 * launch.c - how device code is compiled and launched, as words that can be kept
 */
#include "lab/trial/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a launch, each with its place. Those from LATER on may be missing: there were
 * launches without. */
#define FIELDS 11
#define LATER 9
static const char *const names[FIELDS] = { "threads", "smem",   "registers", "rows",
                                           "splits",  "mapped", "aligned",   "window",
                                           "in_turn", "paired", "resident" };

static void get_fields(const lab_launch *launch, long long values[FIELDS])
{
    const long long all[FIELDS] = { launch->threads, launch->smem,    launch->registers,
                                    launch->rows,    launch->splits,  launch->mapped,
                                    launch->aligned, launch->window,  launch->in_turn,
                                    launch->paired,  launch->resident };
    memcpy(values, all, sizeof all);
}

static void set_fields(lab_launch *launch, const long long values[FIELDS])
{
    launch->threads = (int)values[0];
    launch->smem = values[1];
    launch->registers = (int)values[2];
    launch->rows = values[3];
    launch->splits = values[4];
    launch->mapped = values[5];
    launch->aligned = values[6] != 0;
    launch->window = values[7] != 0;
    launch->in_turn = values[8] != 0;
    launch->paired = values[9] != 0;
    launch->resident = (int)values[10];
}

bool lab_launch_print(const lab_launch *launch, const char *source, const lab_knob *knobs,
                      size_t knob_count, char words[LAB_LAUNCH_SIZE])
{
    long long values[FIELDS];
    size_t length = 0;

    get_fields(launch, values);
#define ADD(...)                  \
    if (length < LAB_LAUNCH_SIZE) \
    length += (size_t)snprintf(words + length, LAB_LAUNCH_SIZE - length, __VA_ARGS__)
    if (source)
        ADD("source=%s ", source);
    ADD("entry=%s", launch->entry);
    for (int i = 0; i < FIELDS; i++)
        ADD(" %s=%lld", names[i], values[i]);
    for (size_t i = 0; i < knob_count; i++)
        ADD(" -D%s=%lld", knobs[i].name, knobs[i].value);
#undef ADD
    return length < LAB_LAUNCH_SIZE;
}

/* Reads all of @text as a number. */
static bool read_number(const char *text, long long *value)
{
    char *end;

    *value = strtoll(text, &end, 10);
    return *text && !*end;
}

static bool add_knob(lab_launched *it, char *name)
{
    char *value = strchr(name, '=');
    long long number;

    if (!value || it->knob_count == LAB_KNOBS_MAX)
        return false;
    *value++ = '\0';
    if (!read_number(value, &number))
        return false;
    it->knobs[it->knob_count++] = (lab_knob){ .name = name, .value = number };
    return true;
}

/* Takes one word; bit i of *@seen is field i, and that of FIELDS the entry. */
static bool read_word(lab_launched *it, char *word, long long values[FIELDS], unsigned *seen)
{
    if (strncmp(word, "-D", 2) == 0)
        return add_knob(it, word + 2);
    char *value = strchr(word, '=');
    if (!value)
        return false;
    size_t length = (size_t)(value++ - word);
    if (length == 5 && strncmp(word, "entry", length) == 0) {
        it->launch.entry = value;
        *seen |= 1u << FIELDS;
        return *value;
    }
    if (length == 6 && strncmp(word, "source", length) == 0) {
        it->source = value;
        return *value;
    }
    for (int i = 0; i < FIELDS; i++)
        if (strlen(names[i]) == length && strncmp(word, names[i], length) == 0) {
            *seen |= 1u << i;
            return read_number(value, &values[i]);
        }
    return false;
}

bool lab_launch_parse(lab_launched *launched, const char *words, const char **bad)
{
    long long values[FIELDS] = { 0 };
    unsigned seen = (1u << FIELDS) - (1u << LATER);
    char *rest = launched->text, *word;

    *launched = (lab_launched){ .source = NULL };
    *bad = "a word for every field is missing";
    if (snprintf(launched->text, sizeof launched->text, "%s", words) >= LAB_LAUNCH_SIZE)
        return false;
    while ((word = strsep(&rest, " "))) {
        if (*word && !read_word(launched, word, values, &seen)) {
            *bad = word;
            return false;
        }
    }
    set_fields(&launched->launch, values);
    return seen == (2u << FIELDS) - 1;
}
