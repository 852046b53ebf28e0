/*
 * launch.c - launch parameters of device code as text
 */
#include "lab/trial/launch.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(word, field) \
    word, offsetof(heed_launch_facts, field), sizeof((heed_launch_facts *)0)->field

const lab_launch_field lab_launch_fields[LAB_LAUNCH_FIELDS] = {
    { FIELD("threads", threads), 1, 1024, false, false },
    { FIELD("smem", smem), 0, (int64_t)1 << 20, false, false },
    { FIELD("registers", registers), 0, 255, false, false },
    { FIELD("rows", rows), 1, (int64_t)1 << 20, false, false },
    { FIELD("splits", splits), 1, (int64_t)1 << 16, false, false },
    { FIELD("mapped", mapped), 0, 256, false, false },
    { FIELD("aligned", aligned), 0, 1, false, false },
    { FIELD("window", window), 0, 1, false, false },
    { FIELD("in_turn", persistent), 0, 1, false, false },
    { FIELD("paired", cluster), 0, 1, true, false },
    { FIELD("resident", resident), INT_MIN, INT_MAX, true, false },
    { FIELD("map_columns", map_columns), 0, 64, true, true },
    { FIELD("apart", apart), 0, 1, true, true },
};

int lab_launch_find(const char *name, size_t length)
{
    for (int i = 0; i < LAB_LAUNCH_FIELDS; i++)
        if (strlen(lab_launch_fields[i].name) == length &&
            memcmp(lab_launch_fields[i].name, name, length) == 0)
            return i;
    return -1;
}

int64_t lab_launch_get(const heed_launch_facts *launch, int field)
{
    const void *at = (const char *)launch + lab_launch_fields[field].offset;
    switch (lab_launch_fields[field].size) {
    case sizeof(bool):
        return *(const bool *)at;
    case sizeof(int):
        return *(const int *)at;
    default:
        return *(const int64_t *)at;
    }
}

void lab_launch_set(heed_launch_facts *launch, int field, int64_t value)
{
    void *at = (char *)launch + lab_launch_fields[field].offset;
    switch (lab_launch_fields[field].size) {
    case sizeof(bool):
        *(bool *)at = value != 0;
        break;
    case sizeof(int):
        *(int *)at = value < INT_MIN ? INT_MIN : value > INT_MAX ? INT_MAX : (int)value;
        break;
    default:
        *(int64_t *)at = value;
    }
}

bool lab_launch_print(const heed_launch_facts *launch, const char *source, const lab_knob *knobs,
                      size_t knob_count, char words[LAB_LAUNCH_SIZE])
{
    size_t length = 0;

#define ADD(...)                  \
    if (length < LAB_LAUNCH_SIZE) \
    length += (size_t)snprintf(words + length, LAB_LAUNCH_SIZE - length, __VA_ARGS__)
    if (source)
        ADD("source=%s ", source);
    ADD("entry=%s", launch->entry);
    for (int i = 0; i < LAB_LAUNCH_FIELDS; i++) {
        long long value = lab_launch_get(launch, i);
        if (value || !lab_launch_fields[i].quiet)
            ADD(" %s=%lld", lab_launch_fields[i].name, value);
    }
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

/* Parses one word; bit i of *@seen is field i, and the next one the entry. */
static bool read_word(lab_launched *it, char *word, unsigned *seen)
{
    if (strncmp(word, "-D", 2) == 0)
        return add_knob(it, word + 2);
    char *value = strchr(word, '=');
    if (!value)
        return false;
    size_t length = (size_t)(value++ - word);
    if (length == 5 && strncmp(word, "entry", length) == 0) {
        it->launch.entry = value;
        *seen |= 1u << LAB_LAUNCH_FIELDS;
        return *value;
    }
    if (length == 6 && strncmp(word, "source", length) == 0) {
        it->source = value;
        return *value;
    }
    int field = lab_launch_find(word, length);
    long long number;
    if (field < 0 || !read_number(value, &number))
        return false;
    *seen |= 1u << field;
    lab_launch_set(&it->launch, field, number);
    return true;
}

bool lab_launch_parse(lab_launched *launched, const char *words, const char **bad)
{
    unsigned seen = 0;
    char *rest = launched->text, *word;

    *launched = (lab_launched){ .source = NULL };
    *bad = "a word for every field is missing";
    if (snprintf(launched->text, sizeof launched->text, "%s", words) >= LAB_LAUNCH_SIZE)
        return false;
    while ((word = strsep(&rest, " "))) {
        if (*word && !read_word(launched, word, &seen)) {
            *bad = word;
            return false;
        }
    }
    for (int i = 0; i < LAB_LAUNCH_FIELDS; i++)
        seen |= (unsigned)lab_launch_fields[i].optional << i;
    return seen == (2u << LAB_LAUNCH_FIELDS) - 1;
}
