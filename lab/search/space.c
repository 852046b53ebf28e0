/*
 * space.c - the points of a search space
 */
#include "lab/search/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"

/* Names visible in expressions: all knobs and lets. */
#define NAMES_MAX 256

static const char *const roles[LAB_KNOB_ROLES] = {
    [LAB_KNOB_OTHER] = "other",     [LAB_KNOB_REGISTERS] = "registers",
    [LAB_KNOB_THREADS] = "threads", [LAB_KNOB_ROWS] = "rows",
    [LAB_KNOB_KEYS] = "keys",       [LAB_KNOB_STAGES] = "stages",
    [LAB_KNOB_SPLITS] = "splits",   [LAB_KNOB_ORDER] = "order",
};

const char *lab_knob_role_name(lab_knob_role role)
{
    return role < LAB_KNOB_ROLES ? roles[role] : "unknown";
}

void lab_space_free(lab_space *space)
{
    free(space->lets);
    free(space->rules);
    free(space->config);
    memset(space, 0, sizeof *space);
}

int64_t lab_space_count(const lab_space *space)
{
    int64_t count = 1;
    for (int i = 0; i < space->knob_count; i++)
        count *= space->knobs[i].count;
    return count;
}

lab_point lab_space_at(const lab_space *space, int64_t index)
{
    lab_point point = { { 0 } };
    for (int i = 0; i < space->knob_count; i++) {
        point.at[i] = (int)(index % space->knobs[i].count);
        index /= space->knobs[i].count;
    }
    return point;
}

int64_t lab_space_index(const lab_space *space, const lab_point *point)
{
    int64_t index = 0;
    for (int i = space->knob_count - 1; i >= 0; i--)
        index = index * space->knobs[i].count + point->at[i];
    return index;
}

int64_t lab_space_value(const lab_space *space, const lab_point *point, int knob)
{
    return space->knobs[knob].values[point->at[knob]];
}

/* Names and their values at a point. */
typedef struct names {
    lab_named items[NAMES_MAX];
    lab_scope scope;
} names;

static void add_name(names *all, const char *name, int64_t value)
{
    if (all->scope.count == NAMES_MAX)
        return;
    lab_named *item = &all->items[all->scope.count++];
    memcpy(item->name, name, LAB_NAME_SIZE);
    item->value = value;
}

static heed_status find_names(names *all, const lab_space *space, const lab_point *point,
                              lab_error *error)
{
    all->scope = (lab_scope){ .items = all->items };
    heed_status status = HEED_OK;
    for (int i = 0; i < space->knob_count; i++)
        add_name(all, space->knobs[i].name, lab_space_value(space, point, i));
    for (size_t i = 0; i < space->let_count && status == HEED_OK; i++) {
        int64_t value;
        status = lab_expression_value(space->lets[i].text, &all->scope, &value, error);
        if (status == HEED_OK)
            add_name(all, space->lets[i].name, value);
    }
    return status;
}

heed_status lab_space_compute(const lab_space *space, const lab_point *point, const char *text,
                              int64_t *value, lab_error *error)
{
    names all;
    heed_status status = find_names(&all, space, point, error);
    return status == HEED_OK ? lab_expression_value(text, &all.scope, value, error) : status;
}

bool lab_space_allows(const lab_space *space, const lab_point *point, lab_error *why)
{
    names all;
    if (find_names(&all, space, point, why) != HEED_OK)
        return false;
    for (size_t i = 0; i < space->rule_count; i++) {
        const lab_require *rule = &space->rules[i];
        int64_t holds;
        if (lab_expression_value(rule->text, &all.scope, &holds, why) != HEED_OK)
            return false;
        if (!holds) {
            lab_fail(why, HEED_ERR_UNSUPPORTED, "%s", rule->why[0] ? rule->why : rule->text);
            return false;
        }
    }
    return true;
}

heed_status lab_space_name(const lab_space *space, const lab_point *point, const char *kernel,
                           char name[HEED_NAME_SIZE], lab_error *error)
{
    names all;
    heed_status status = find_names(&all, space, point, error);
    int length = snprintf(name, HEED_NAME_SIZE, "%s%s", kernel, space->config_count ? "__" : "");
    for (size_t i = 0; i < space->config_count && status == HEED_OK; i++) {
        const lab_let *letter = &space->config[i];
        int64_t value;
        status = lab_expression_value(letter->text, &all.scope, &value, error);
        if (status == HEED_OK && value < 1)
            status = lab_fail(error, HEED_ERR_UNSUPPORTED, "knob %s of %s would be %lld",
                              letter->name, kernel, (long long)value);
        if (status == HEED_OK && length < HEED_NAME_SIZE)
            length += snprintf(name + length, HEED_NAME_SIZE - (size_t)length, "%s%lld",
                               letter->name, (long long)value);
    }
    if (status == HEED_OK && length >= HEED_NAME_SIZE)
        status = lab_fail(error, HEED_ERR_INVALID,
                          "the name of a config of %s takes %d bytes, "
                          "the limit is %d",
                          kernel, length, HEED_NAME_SIZE - 1);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Points as text                                                             */
/* -------------------------------------------------------------------------- */

void lab_point_print(const lab_space *space, const lab_point *point, char text[LAB_POINT_TEXT])
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < space->knob_count && length < LAB_POINT_TEXT; i++)
        length += (size_t)snprintf(text + length, LAB_POINT_TEXT - length, "%s%s=%lld",
                                   i > 0 ? " " : "", space->knobs[i].name,
                                   (long long)lab_space_value(space, point, i));
}

/* The knob whose name comes before the equals sign at @text; -1: none. */
static int find_knob(const lab_space *space, const char *text)
{
    size_t length = lab_name_length(text);
    for (int i = 0; i < space->knob_count; i++)
        if (strlen(space->knobs[i].name) == length &&
            memcmp(space->knobs[i].name, text, length) == 0 && text[length] == '=')
            return i;
    return -1;
}

static int find_value(const lab_space_knob *knob, long long value)
{
    for (int i = 0; i < knob->count; i++)
        if (knob->values[i] == value)
            return i;
    return -1;
}

heed_status lab_point_parse(const lab_space *space, const char *text, lab_point *point,
                            lab_error *error)
{
    bool seen[LAB_SPACE_KNOBS] = { false };
    int count = 0;
    memset(point, 0, sizeof *point);
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " "), count++) {
        int knob = find_knob(space, at);
        if (knob < 0 || seen[knob])
            return lab_fail(error, HEED_ERR_INVALID, "\"%s\": %s at \"%.32s\"", text,
                            knob < 0 ? "no knob of the space" : "a knob for the second time", at);
        char *end;
        const char *digits = strchr(at, '=') + 1;
        point->at[knob] = find_value(&space->knobs[knob], strtoll(digits, &end, 10));
        if (end == digits || (*end && *end != ' ') || point->at[knob] < 0)
            return lab_fail(error, HEED_ERR_INVALID, "\"%s\": not a value of knob %s at \"%.32s\"",
                            text, space->knobs[knob].name, digits);
        seen[knob] = true;
        at = end;
    }
    if (count < space->knob_count)
        return lab_fail(error, HEED_ERR_INVALID, "\"%s\": %d of %d knob%s", text, count,
                        space->knob_count, lab_plural(space->knob_count));
    return HEED_OK;
}
