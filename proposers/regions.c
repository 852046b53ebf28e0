/*
 * regions.c - heed-propose-regions: proposes alternative texts for marked regions of a source;
 * needs no model
 *
 * The first source of a search has the alternatives (lab/search/source.h); a choice is one text for
 * each region. It first proposes the neighbours of the current source, which differ in one region,
 * ordered by the guide according to the current source's bottlenecks; and then all other choices in
 * an order that the seed shuffles. There is no state between requests: the request has the earlier
 * tries, so a search can be resumed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/search/guide.h"
#include "lab/search/source.h"
#include "line.h"

#define NAME_PREFIX "regions"
#define NAME_SIZE 64

/* Converts between a choice and its number: digits of mixed radix, region 0 the lowest. */
static int64_t number_of(const lab_source *source, const int *choice)
{
    int64_t number = 0;
    for (int i = source->count - 1; i >= 0; i--)
        number = number * source->regions[i].count + choice[i];
    return number;
}

static void choice_of(const lab_source *source, int64_t number, int *choice)
{
    for (int i = 0; i < source->count; i++) {
        choice[i] = (int)(number % source->regions[i].count);
        number /= source->regions[i].count;
    }
}

/* Returns the number of choices, limited to those that can be numbered. */
static int64_t count_choices(const lab_source *source)
{
    int64_t count = 1;
    for (int i = 0; i < source->count && count < INT32_MAX; i++)
        count *= source->regions[i].count;
    return count;
}

/* "regions-0-2-1" */
static void name_of(const lab_source *source, const int *choice, char name[NAME_SIZE])
{
    size_t length = (size_t)snprintf(name, NAME_SIZE, "%s", NAME_PREFIX);
    for (int i = 0; i < source->count && length < NAME_SIZE; i++)
        length += (size_t)snprintf(name + length, NAME_SIZE - length, "-%d", choice[i]);
}

static int was_tried(const json_t *request, const char *name)
{
    const json_t *tried = json_object_get(request, "tried");
    for (size_t i = 0; i < json_array_size(tried); i++) {
        const char *other = json_string_value(json_array_get(tried, i));
        if (other && strcmp(other, name) == 0)
            return 1;
    }
    return 0;
}

/* Returns the choice of the current source; a text that is not in the first source counts as 0. */
static void read_current(const lab_source *source, const char *text, int *choice)
{
    lab_source current;
    lab_error error;
    memset(choice, 0, sizeof(int) * LAB_SOURCE_REGIONS);
    if (!text || lab_source_parse(&current, text, "current", &error) != HEED_OK)
        return;
    for (int i = 0; i < source->count; i++) {
        int there = lab_source_find(&current, source->regions[i].name);
        for (int j = 0; there >= 0 && j < source->regions[i].count; j++)
            if (strcmp(source->regions[i].texts[j], current.regions[there].texts[0]) == 0)
                choice[i] = j;
    }
    lab_source_free(&current);
}

static int take(const lab_source *source, const json_t *request, const int *choice,
                const int *current)
{
    char name[NAME_SIZE];
    int64_t number = number_of(source, choice);
    name_of(source, choice, name);
    /* The first text in every region is the first source. */
    return number != 0 && number != number_of(source, current) && !was_tried(request, name);
}

/* ---- Guided by bottlenecks ---- */

/* Returns the purpose of the region, from its name. */
static lab_knob_role role_of(const lab_source_region *region)
{
    for (int i = 0; i < LAB_KNOB_ROLES; i++)
        if (strcmp(lab_knob_role_name((lab_knob_role)i), region->name) == 0)
            return (lab_knob_role)i;
    return LAB_KNOB_OTHER;
}

/* Returns the number that a text like "#define ROWS 64" defines. For the guide 0 registers, which
 * means no cap, is the highest cap. */
static int64_t value_of(const char *text, lab_knob_role role)
{
    const char *name = strstr(text, "#define ");
    name = name ? name + strlen("#define ") : text;
    int64_t value = strtoll(name + strcspn(name, " \n"), NULL, 10);
    return role == LAB_KNOB_REGISTERS && value == 0 ? 255 : value;
}

static unsigned findings_of(const json_t *request)
{
    const json_t *words = json_object_get(request, "findings");
    unsigned set = 0;
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        lab_finding finding = word ? lab_finding_of(word) : LAB_FINDINGS;
        if (finding < LAB_FINDINGS)
            set |= 1u << finding;
    }
    return set;
}

/* Returns the guide's odds of another text for a region. */
static double weigh(const lab_source_region *region, int from, int to, unsigned findings)
{
    lab_knob_role role = role_of(region);
    int64_t now = value_of(region->texts[from], role), then = value_of(region->texts[to], role);
    if (role == LAB_KNOB_OTHER || now == then)
        return 1;
    return lab_guide_advice(role, then > now, findings);
}

/* Returns an untried neighbour of the current choice: the one with the highest odds; among equals
 * the seed decides where to begin. */
static int find_neighbour(const lab_source *source, const json_t *request, uint64_t seed,
                          const int *current, int *choice)
{
    unsigned findings = findings_of(request);
    int other[LAB_SOURCE_REGIONS], found = 0;
    double best = 0;
    for (int i = 0; i < source->count; i++) {
        int region = (int)((seed + (uint64_t)i) % (uint64_t)source->count);
        int count = source->regions[region].count;
        for (int step = 1; step < count; step++) {
            memcpy(other, current, sizeof other);
            other[region] = (current[region] + step) % count;
            double weight = weigh(&source->regions[region], current[region], other[region],
                                  findings);
            if ((found && weight <= best) || !take(source, request, other, current))
                continue;
            memcpy(choice, other, sizeof other);
            best = weight;
            found = 1;
        }
    }
    return found;
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns an untried choice, in steps that reach all of them. */
static int find_any(const lab_source *source, const json_t *request, uint64_t seed,
                    const int *current, int *choice)
{
    int64_t count = count_choices(source);
    int64_t step = 1 + (int64_t)(seed % (uint64_t)count),
            at = (int64_t)(seed / 7 % (uint64_t)count);
    while (divisor(step, count) != 1)
        step++;
    for (int64_t i = 0; i < count; i++, at = (at + step) % count) {
        choice_of(source, at, choice);
        if (take(source, request, choice, current))
            return 1;
    }
    return 0;
}

static json_t *propose(const lab_source *source, const int *choice, const int *current)
{
    char name[NAME_SIZE], thought[200] = "";
    size_t length = 0;
    char *text = lab_source_render(source, choice);
    name_of(source, choice, name);
    for (int i = 0; i < source->count && length < sizeof thought; i++)
        if (choice[i] != current[i])
            length += (size_t)snprintf(thought + length, sizeof thought - length,
                                       "%s%s: text %d instead of %d", length ? "; " : "",
                                       source->regions[i].name, choice[i], current[i]);
    json_t *reply = text ? json_pack("{s:s, s:s, s:s, s:s}", "status", "ok", "name", name, "source",
                                     text, "thought", thought)
                         : NULL;
    free(text);
    return reply;
}

static json_t *answer(void *data, const json_t *request)
{
    const char *origin = json_string_value(json_object_get(request, "origin"));
    const json_t *kernel = json_object_get(request, "current");
    const char *text = json_string_value(json_object_get(kernel, "source"));
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(request, "seed"));
    int current[LAB_SOURCE_REGIONS], choice[LAB_SOURCE_REGIONS];
    lab_source source;
    lab_error error;
    (void)data;
    if (!origin)
        return line_refuse("unsupported", "the source that all began with is missing");
    if (lab_source_parse(&source, origin, "origin", &error) != HEED_OK)
        return line_refuse("unsupported", "%s", error.text);
    json_t *reply;
    if (count_choices(&source) < 2) {
        reply = line_refuse("unsupported", "the source has no region with another text");
    } else {
        read_current(&source, text, current);
        if (find_neighbour(&source, request, seed, current, choice) ||
            find_any(&source, request, seed, current, choice))
            reply = propose(&source, choice, current);
        else
            reply = line_refuse("unsupported", "all %" PRId64 " choices of texts were proposed",
                                count_choices(&source));
    }
    lab_source_free(&source);
    return reply;
}

int main(void)
{
    return line_serve(NULL, answer, NULL);
}
