/*
 * candidate.c - a proposed kernel as data, its checks, and the limits of a trial
 */
#include "lab/trial/candidate.h"

#include <string.h>

#include "lab/trial/launch.h"

const char *lab_language_name(lab_language language)
{
    static const char *const names[] = { "c", "cuda" };

    return (size_t)language < sizeof names / sizeof *names ? names[language] : "unknown";
}

/* Options that only affect code generation, never what to read, write or run. One that ends in '='
 * or '-' is a prefix, to be followed by a word of plain letters. */
static const char *const allowed[] = {
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Ofast",
    "-march=",
    "-mtune=",
    "-mavx",
    "-mavx2",
    "-mfma",
    "-mf16c",
    "-mavx512f",
    "-mavx512bw",
    "-mavx512dq",
    "-mavx512vl",
    "-mavx512bf16",
    "-mavx512fp16",
    "-mavx512vnni",
    "-mamx-",
    "-mprefer-vector-width=",
    "-ffast-math",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fno-signaling-nans",
    "-fassociative-math",
    "-freciprocal-math",
    "-ffinite-math-only",
    "-fno-finite-math-only",
    "-fno-fast-math",
    "-ffp-contract=",
    "-funroll-loops",
    "-funroll-all-loops",
    "-fno-unroll-loops",
    "-ftree-vectorize",
    "-fno-tree-vectorize",
    "-fvect-cost-model=",
    "-fomit-frame-pointer",
    "-fstrict-aliasing",
    "-fno-strict-aliasing",
    "-fno-semantic-interposition",
};

static bool is_plain(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+";

    return *text && text[strspn(text, plain)] == '\0' && strlen(text) < 40;
}

bool lab_option_allowed(const char *option)
{
    for (size_t i = 0; option && i < sizeof allowed / sizeof *allowed; i++) {
        size_t length = strlen(allowed[i]);
        char last = allowed[i][length - 1];
        if (strcmp(option, allowed[i]) == 0 && last != '=' && last != '-')
            return true;
        if ((last == '=' || last == '-') && strncmp(option, allowed[i], length) == 0 &&
            is_plain(option + length))
            return true;
    }
    return false;
}

/* True if @name is a valid name for a macro, and does not replace one that the headers use. */
static bool is_knob(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    return name && *name && strchr(letters, *name) && name[strspn(name, all)] == '\0' &&
           strlen(name) <= LAB_KNOB_NAME_MAX;
}

static bool check_texts(const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    if (!candidate->source || candidate->source_size == 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED, "source is empty");
    if (candidate->source_size > LAB_SOURCE_MAX)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED,
                                     "source has %zu bytes; it may have %zu",
                                     candidate->source_size, LAB_SOURCE_MAX);
    if (memchr(candidate->source, '\0', candidate->source_size))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED, "source has a null byte");
    if (candidate->knob_count > LAB_KNOBS_MAX)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED, "%zu knobs; there may be %d",
                                     candidate->knob_count, LAB_KNOBS_MAX);
    for (size_t i = 0; i < candidate->knob_count; i++)
        if (!is_knob(candidate->knobs[i].name))
            return lab_trial_outcome_set(
                outcome, LAB_TRIAL_REFUSED,
                "knob \"%.40s\" must be an identifier of at most %d letters",
                candidate->knobs[i].name ? candidate->knobs[i].name : "NULL", LAB_KNOB_NAME_MAX);
    return true;
}

static bool check_options(const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    size_t most = candidate->language == LAB_LANGUAGE_C ? LAB_OPTIONS_MAX : 0;

    if (candidate->option_count > most)
        return lab_trial_outcome_set(
            outcome, LAB_TRIAL_REFUSED, "%zu compiler options; in %s there may be %zu",
            candidate->option_count, lab_language_name(candidate->language), most);
    for (size_t i = 0; i < candidate->option_count; i++)
        if (!lab_option_allowed(candidate->options[i]))
            return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED,
                                         "compiler option \"%.60s\" is not among those allowed",
                                         candidate->options[i] ? candidate->options[i] : "NULL");
    return true;
}

static bool check_launch(const heed_launch_facts *launch, lab_trial_outcome *outcome)
{
    if (!is_knob(launch->entry))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED,
                                     "launch.entry is \"%.40s\"; it must be an identifier",
                                     launch->entry ? launch->entry : "NULL");
    for (int i = 0; i < LAB_LAUNCH_FIELDS; i++) {
        const lab_launch_field *field = &lab_launch_fields[i];
        int64_t value = lab_launch_get(launch, i);
        if (value < field->least || value > field->most)
            return lab_trial_outcome_set(
                outcome, LAB_TRIAL_REFUSED, "launch.%s is %lld; it must be %lld to %lld",
                field->name, (long long)value, (long long)field->least, (long long)field->most);
    }
    if (!launch->aligned && (launch->splits > 1 || launch->mapped > 0))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED,
                                     "launch.aligned is not set; splits and maps need it");
    return true;
}

bool lab_candidate_check(const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    if (candidate->language != LAB_LANGUAGE_C && candidate->language != LAB_LANGUAGE_CUDA)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_REFUSED, "language is %d, which is unknown",
                                     (int)candidate->language);
    return check_texts(candidate, outcome) && check_options(candidate, outcome) &&
           (candidate->language == LAB_LANGUAGE_C || check_launch(&candidate->launch, outcome));
}

/* -------------------------------------------------------------------------- */
/* The limits of a trial                                                      */
/* -------------------------------------------------------------------------- */

#define MIB ((size_t)1 << 20)

lab_limits lab_limits_fill(const lab_limits *limits)
{
    lab_limits full = { .unsafe = false };

    if (limits)
        full = *limits;
    if (!(full.compile_seconds > 0))
        full.compile_seconds = 30;
    if (!(full.run_seconds > 0))
        full.run_seconds = 10;
    if (full.tensor_bytes == 0)
        full.tensor_bytes = 256 * MIB;
    if (full.memory_bytes == 0)
        full.memory_bytes = 256 * MIB;
    if (full.stack_bytes == 0)
        full.stack_bytes = 8 * MIB;
    if (!full.device)
        full.device = "cuda";
    return full;
}

bool lab_limits_interrupted(const lab_limits *limits)
{
    return limits->interrupted && limits->interrupted();
}
