/*
 * wisdom.c - measured choices, from here or elsewhere, looked up by problem
 *
 * A table belongs to one context, so everything in it applies to this machine and this library;
 * other lines are skipped when a text is read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "plan.h"
#include "problem/operand.h"
#include "problem/problem.h"
#include "wisdom.h"
#include "wisdom_line.h"

heed_status heed_wisdom_create(heed_wisdom **wisdom)
{
    *wisdom = NULL;
    heed_wisdom *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for wisdom");
    if (pthread_mutex_init(&made->mutex, NULL) != 0) {
        free(made);
        return heed_fail(HEED_ERR_SYSTEM, "cannot make a mutex");
    }
    *wisdom = made;
    return HEED_OK;
}

void heed_wisdom_destroy(heed_wisdom *wisdom)
{
    if (!wisdom)
        return;
    pthread_mutex_destroy(&wisdom->mutex);
    free(wisdom->entries);
    free(wisdom->slots);
    free(wisdom);
}

/* Mixes one number into a hash; the multiplier is that of 64-bit FNV. */
static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static uint64_t mix_strides(uint64_t hash, heed_strides strides)
{
    hash = mix(hash, (uint64_t)strides.batch);
    hash = mix(hash, (uint64_t)strides.seq);
    return mix(hash, (uint64_t)strides.head);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = mix(hash, (uint64_t)(unsigned char)*text);
    return hash;
}

static uint64_t mix_operands(uint64_t hash, const heed_problem *problem)
{
    uint32_t softcap;
    memcpy(&softcap, &problem->softcap, sizeof softcap);
    hash = mix(hash, softcap);
    for (int i = 0; i < HEED_OPERANDS; i++) {
        const heed_operand *operand = heed_problem_operand(problem, i);
        hash = mix(hash, (uint64_t)operand->type << 8 | operand->along);
        hash = mix_strides(hash, operand->strides);
    }
    for (int i = 0; i < HEED_ARRAYS_MAX; i++)
        hash = mix_text(hash, problem->arrays[i].name);
    return mix_text(mix_text(hash, problem->score), problem->visible);
}

/* Equal problems, by heed_problem_equal(), have equal hashes. */
static uint64_t hash_problem(const heed_problem *problem)
{
    uint32_t scale;
    memcpy(&scale, &problem->scale, sizeof scale);
    uint64_t hash = 0xcbf29ce484222325u;
    hash = mix(hash, (uint64_t)problem->type << 8 | (uint64_t)problem->mask);
    hash = mix(hash, (uint64_t)problem->batch);
    hash = mix(hash, (uint64_t)problem->heads_q);
    hash = mix(hash, (uint64_t)problem->heads_kv);
    hash = mix(hash, (uint64_t)problem->seq_q);
    hash = mix(hash, (uint64_t)problem->seq_k);
    hash = mix(hash, (uint64_t)problem->dim_qk);
    hash = mix(hash, (uint64_t)problem->dim_v);
    hash = mix(hash, (uint64_t)problem->accumulate << 32 | scale);
    hash = mix(hash, (uint64_t)problem->products);
    hash = mix(hash, (uint64_t)problem->window.sides << 8 | (uint64_t)problem->align);
    hash = mix(hash, (uint64_t)problem->window.left);
    hash = mix(hash, (uint64_t)problem->window.right);
    hash = mix(hash, (uint64_t)problem->chunk);
    hash = mix_operands(hash, problem);
    hash = mix_strides(hash, problem->q);
    hash = mix_strides(hash, problem->k);
    hash = mix_strides(hash, problem->v);
    return mix_strides(hash, problem->o);
}

/* The slot of @problem: the one that holds it, or the free one where it belongs. The table must not
 * be empty. */
static size_t *find_slot(const heed_wisdom *wisdom, const heed_problem *problem)
{
    size_t last = wisdom->slot_count - 1;
    size_t place = (size_t)hash_problem(problem) & last;
    while (wisdom->slots[place] != 0 &&
           !heed_problem_equal(&wisdom->entries[wisdom->slots[place] - 1].problem, problem))
        place = (place + 1) & last;
    return &wisdom->slots[place];
}

static heed_status fail_growth(size_t entries)
{
    return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu lines of wisdom", entries);
}

static heed_status grow_entries(heed_wisdom *wisdom, size_t capacity)
{
    if (capacity > SIZE_MAX / sizeof *wisdom->entries)
        return fail_growth(capacity);
    heed_wisdom_entry *entries = realloc(wisdom->entries, capacity * sizeof *entries);
    if (!entries)
        return fail_growth(capacity);
    wisdom->entries = entries;
    wisdom->capacity = capacity;
    return HEED_OK;
}

static heed_status grow_slots(heed_wisdom *wisdom, size_t slot_count)
{
    size_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return fail_growth(slot_count / 2);
    free(wisdom->slots);
    wisdom->slots = slots;
    wisdom->slot_count = slot_count;
    for (size_t i = 0; i < wisdom->count; i++)
        *find_slot(wisdom, &wisdom->entries[i].problem) = i + 1;
    return HEED_OK;
}

heed_status heed_wisdom_reserve(heed_wisdom *wisdom, size_t extra)
{
    size_t needed, slot_count = wisdom->slot_count > 0 ? wisdom->slot_count : 16;
    if (__builtin_add_overflow(wisdom->count, extra, &needed) || needed > SIZE_MAX / 4)
        return fail_growth(SIZE_MAX);
    while (slot_count / 2 < needed)
        slot_count *= 2;
    heed_status status = HEED_OK;
    if (slot_count > wisdom->slot_count)
        status = grow_slots(wisdom, slot_count);
    if (status == HEED_OK && needed > wisdom->capacity)
        status = grow_entries(wisdom, slot_count / 2);
    return status;
}

void heed_wisdom_put(heed_wisdom *wisdom, const heed_problem *problem, const heed_choice *choice)
{
    heed_problem room;
    const heed_problem *planned = heed_problem_planned(problem, &room);
    size_t *slot = find_slot(wisdom, planned);
    if (*slot == 0) {
        wisdom->entries[wisdom->count++] = (heed_wisdom_entry){ *planned, *choice };
        *slot = wisdom->count;
        return;
    }
    heed_choice *known = &wisdom->entries[*slot - 1].choice;
    if (choice->effort >= known->effort)
        *known = *choice;
}

heed_status heed_wisdom_add(heed_wisdom *wisdom, const heed_problem *problem,
                            const heed_choice *choice)
{
    pthread_mutex_lock(&wisdom->mutex);
    heed_status status = heed_wisdom_reserve(wisdom, 1);
    if (status == HEED_OK)
        heed_wisdom_put(wisdom, problem, choice);
    pthread_mutex_unlock(&wisdom->mutex);
    return status;
}

bool heed_wisdom_lookup(heed_wisdom *wisdom, const heed_problem *problem, heed_effort effort,
                        heed_choice *choice)
{
    bool found = false;
    heed_problem room;
    const heed_problem *planned = heed_problem_planned(problem, &room);
    heed_effort least = effort == HEED_WISDOM_ONLY ? HEED_ESTIMATE : effort;
    pthread_mutex_lock(&wisdom->mutex);
    size_t index = wisdom->count > 0 ? *find_slot(wisdom, planned) : 0;
    if (index > 0 && wisdom->entries[index - 1].choice.effort >= least) {
        *choice = wisdom->entries[index - 1].choice;
        found = true;
    }
    pthread_mutex_unlock(&wisdom->mutex);
    return found;
}

void heed_wisdom_forget(heed_context *context)
{
    if (heed_context_check(context) != HEED_OK)
        return;
    heed_wisdom *wisdom = context->wisdom;
    pthread_mutex_lock(&wisdom->mutex);
    wisdom->count = 0;
    if (wisdom->slots)
        memset(wisdom->slots, 0, wisdom->slot_count * sizeof *wisdom->slots);
    pthread_mutex_unlock(&wisdom->mutex);
}

/* -------------------------------------------------------------------------- */
/* Choices that were measured elsewhere                                       */
/* -------------------------------------------------------------------------- */

const char *heed_wisdom_build(void)
{
    return heed_kernel_build();
}

heed_status heed_wisdom_learn(heed_context *context, const heed_problem *problem,
                              const char *kernel, double seconds)
{
    const char *config_text, *why = NULL;
    heed_problem normal;
    heed_config config;
    if (context && !kernel)
        return heed_fail(HEED_ERR_INVALID, "kernel is NULL");
    heed_status status = heed_context_check(context);
    if (status == HEED_OK)
        status = heed_problem_read_normal(&normal, problem);
    if (status != HEED_OK)
        return status;
    const heed_kernel *known = heed_kernel_find(kernel, &config_text);
    if (!config_text)
        config_text = "";
    if (!known || !heed_config_parse(known->algorithm, config_text, &config))
        return heed_fail(HEED_ERR_INVALID, "kernel is \"%s\", which this library does not have",
                         kernel);
    if (!(seconds > 0) || isinf(seconds))
        return heed_fail(HEED_ERR_INVALID, "seconds is %g; it must be a number above 0", seconds);
    why = heed_plan_reject(known, &normal, &context->machine);
    if (why || !heed_plan_legal(known, &normal, &context->machine, &config, &why))
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s %s", kernel, why);
    heed_choice choice = { .seconds = seconds, .effort = HEED_PATIENT };
    snprintf(choice.name, sizeof choice.name, "%s", kernel);
    return heed_wisdom_add(context->wisdom, &normal, &choice);
}
