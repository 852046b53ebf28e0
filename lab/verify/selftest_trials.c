/*
 * selftest_trials.c - the list of a selftest's trials: kernels and problems
 */
#include "lab/verify/selftest_trials.h"

#include <string.h>

#include "lab/verify/mutants/device.h"

static bool is_wanted(const lab_selftest_options *options, const lab_selftest_entry *entry)
{
    if (options->gate && (!entry->gate || strcmp(options->gate, entry->gate) != 0))
        return false;
    return !options->only || strcmp(options->only, entry->name) == 0;
}

/* Adds an entry. Returns true if it is to be tried. */
static bool add_entry(lab_selftest_maker *it, lab_selftest_entry entry)
{
    entry.done = is_wanted(it->options, &entry);
    if (it->entries)
        it->entries[it->entry_count] = entry;
    it->entry_count++;
    return entry.done;
}

/* Adds a trial of the last entry. */
static void add_trial(lab_selftest_maker *it, lab_selftest_trial one)
{
    if (it->trials)
        it->trials[it->trial_count] = one;
    it->trial_count++;
}

static void add_mutants(lab_selftest_maker *it, bool endless)
{
    for (size_t i = 0; lab_mutant_at(i); i++) {
        const lab_mutant *m = lab_mutant_at(i);
        const lab_selftest_entry entry = { .name = m->name,
                                           .does = m->does,
                                           .gate = m->gate,
                                           .text = m->text,
                                           .spec = m->spec,
                                           .inputs = m->inputs };
        if (m->endless != endless || !add_entry(it, entry))
            continue;
        add_trial(it, (lab_selftest_trial){ .entry = it->entry_count - 1,
                                            .behaviour = &m->behaviour,
                                            .spec = m->spec,
                                            .inputs = lab_inputs_find(m->inputs),
                                            .few = m->few,
                                            .nearby = m->nearby,
                                            .unlocked = m->unlocked });
    }
}

/* Trials with the same values are adjacent. */
static void add_controls(lab_selftest_maker *it)
{
    size_t first = it->entry_count;
    for (size_t i = 0; lab_control_at(i); i++)
        add_entry(it, (lab_selftest_entry){ .name = lab_control_at(i)->name,
                                            .does = lab_control_at(i)->does,
                                            .spec = "",
                                            .inputs = "" });
    for (size_t s = 0; lab_scene_at(s); s++)
        for (size_t n = 0; lab_inputs_at(n); n++)
            for (size_t i = 0; lab_control_at(i); i++) {
                const lab_selftest_entry same = { .name = lab_control_at(i)->name };
                if (is_wanted(it->options, &same))
                    add_trial(it, (lab_selftest_trial){ .entry = first + i,
                                                        .behaviour = &lab_control_at(i)->behaviour,
                                                        .spec = lab_scene_at(s),
                                                        .inputs = lab_inputs_at(n) });
            }
}

/* Adds the kernels of a device, where inputs cannot be write-protected. */
static void add_device(lab_selftest_maker *it)
{
    for (size_t i = 0; lab_device_mutant_at(i); i++) {
        const lab_device_mutant *m = lab_device_mutant_at(i);
        const lab_selftest_entry entry = {
            .name = m->name, .does = m->does, .gate = m->gate, .spec = m->spec, .inputs = m->inputs
        };
        if (add_entry(it, entry))
            add_trial(it, (lab_selftest_trial){ .entry = it->entry_count - 1,
                                                .mistake = m->mistake,
                                                .spec = m->spec,
                                                .inputs = lab_inputs_find(m->inputs),
                                                .unlocked = true });
    }
    const lab_selftest_entry honest = {
        .name = "plain", .does = "has no mistake", .spec = "", .inputs = ""
    };
    if (!add_entry(it, honest))
        return;
    for (size_t s = 0; lab_device_scene_at(s); s++)
        for (size_t n = 0; lab_inputs_at(n); n++)
            add_trial(it, (lab_selftest_trial){ .entry = it->entry_count - 1,
                                                .spec = lab_device_scene_at(s),
                                                .inputs = lab_inputs_at(n),
                                                .unlocked = true });
}

static void add_sources(lab_selftest_maker *it)
{
    for (size_t i = 0; lab_mutant_source_at(i); i++) {
        const lab_mutant_source *source = lab_mutant_source_at(i);
        const lab_selftest_entry entry = { .name = source->name,
                                           .does = source->does,
                                           .gate = source->gate,
                                           .spec = source->spec,
                                           .inputs = "all" };
        if (add_entry(it, entry))
            add_trial(it, (lab_selftest_trial){ .entry = it->entry_count - 1,
                                                .source = source,
                                                .spec = source->spec,
                                                .inputs = lab_inputs_at(0) });
    }
}

size_t lab_selftest_make(lab_selftest_maker *it)
{
    if (it->options->device) {
        add_device(it);
        return it->trial_count;
    }
    if (it->options->sources)
        add_sources(it);
    add_mutants(it, false);
    add_controls(it);
    size_t ending = it->trial_count;
    add_mutants(it, true);
    return ending;
}
