/*
 * explain.c - turns the last output of a candidate's process into a verdict
 */
#include "lab/trial/host.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/tensor/view.h"
#include "lab/trial/filter.h"
#include "lab/trial/log.h"

/* Addresses below this come from a null pointer. */
#define NULL_END 65536

/* Maximum distance from a tensor at which a fault is attributed to it. */
#define NEAR ((uint64_t)1 << 20)

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        { SIGSEGV, "SIGSEGV" },
        { SIGBUS, "SIGBUS" },
        { SIGILL, "SIGILL, an instruction that this CPU does not have" },
        { SIGFPE, "SIGFPE, an integer division by zero, or a floating-point trap" },
        { SIGABRT, "SIGABRT" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    return "a signal";
}

/* A tensor and its distance from an address. */
typedef struct nearest {
    int index;
    uint64_t distance; /* 0: inside */
    bool before;
    uint64_t at; /* byte within it */
} nearest;

/* The tensor nearest to @offset in the arena with rooms @first to @end - 1. */
static nearest find_nearest(const lab_wire_orders *orders, uint64_t offset, int first, int end)
{
    nearest best = { .index = -1, .distance = NEAR };

    for (int i = 0; i < orders->count && i < LAB_WIRE_SETS; i++)
        for (int index = first; index < end; index++) {
            const lab_wire_room *room = &orders->set[i].room[index];
            uint64_t room_end = room->start + room->size;
            nearest here = { .index = index, .before = offset < room->data };
            if (room->size == 0)
                continue;
            if (offset >= room->start && offset < room_end)
                here.at = offset - room->start;
            else
                here.distance = offset < room->start ? room->start - offset : offset - room_end + 1;
            if (here.distance < best.distance)
                best = here;
        }
    return best;
}

static void explain_place(const nearest *where, bool input, char *text, size_t size)
{
    const char *name = lab_block_name(where->index);

    if (where->distance == 0 && input)
        snprintf(text, size, "wrote to the input %s at byte %" PRIu64, name, where->at);
    else if (where->distance == 0)
        snprintf(text, size, "faulted in %s at byte %" PRIu64, name, where->at);
    else
        snprintf(text, size, "touched memory %" PRIu64 " byte%s %s %s", where->distance,
                 lab_plural(where->distance),
                 where->before ? "before the start of" : "past the end of", name);
}

static bool explain_address(uint64_t address, const lab_wire_orders *orders, uint64_t inputs,
                            uint64_t outputs, lab_trial_outcome *outcome)
{
    nearest in = find_nearest(orders, address - inputs, 0, LAB_O);
    nearest out = find_nearest(orders, address - outputs, LAB_O, LAB_BLOCKS);
    bool input = in.index >= 0 && (out.index < 0 || in.distance < out.distance);
    char text[128];

    if (address < NULL_END)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_ILLEGAL_ACCESS,
                                     "used a null pointer, at address 0x%" PRIx64, address);
    if (in.index < 0 && out.index < 0)
        return lab_trial_outcome_set(
            outcome, LAB_TRIAL_ILLEGAL_ACCESS,
            "touched address 0x%" PRIx64 ", which is in none of the tensors", address);
    explain_place(input ? &in : &out, input, text, sizeof text);
    return lab_trial_outcome_set(outcome, LAB_TRIAL_ILLEGAL_ACCESS, "%s", text);
}

static bool explain_fault(const char *line, const lab_wire_orders *orders, uint64_t inputs,
                          uint64_t outputs, lab_trial_outcome *outcome)
{
    int number;
    uint64_t address;
    char flags[8];

    if (sscanf(line, "fault %d %" SCNx64 " %7s", &number, &address, flags) != 3)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_GARBAGE, "printed \"%.60s\"", line);
    if (number != SIGSEGV && number != SIGBUS)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_CRASHED, "was ended by %s",
                                     signal_name(number));
    if (strchr(flags, 's'))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY, "ran out of its stack");
    if (strchr(flags, 'm'))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY,
                                     "was refused memory, and crashed at address 0x%" PRIx64,
                                     address);
    if (strchr(flags, 'g'))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_ILLEGAL_ACCESS,
                                     "general protection fault: a misaligned address, one that no "
                                     "memory can have, or a privileged instruction; the CPU does "
                                     "not say which");
    return explain_address(address, orders, inputs, outputs, outcome);
}

static bool explain_trap(const char *line, lab_trial_outcome *outcome)
{
    const char *name;
    int number = atoi(line + strlen("trapped"));
    lab_trial_verdict verdict = lab_filter_judge(number, &name);

    if (name[0])
        return lab_trial_outcome_set(outcome, verdict, "%s: system call %s",
                                     lab_trial_verdict_sentence(verdict), name);
    return lab_trial_outcome_set(outcome, verdict, "%s: system call %d",
                                 lab_trial_verdict_sentence(verdict), number);
}

static bool starts_with(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

bool lab_explain(const char *line, const lab_wire_orders *orders, uint64_t inputs, uint64_t outputs,
                 lab_trial_outcome *outcome)
{
    static const struct {
        const char *word;
        lab_trial_verdict verdict;
    } plain[] = {
        { "failed ", LAB_TRIAL_COMPILE_ERROR },
        { "exhausted ", LAB_TRIAL_OUT_OF_MEMORY },
        { "lost ", LAB_TRIAL_LOST },
    };
    char text[LAB_WIRE_LINE];

    if (strcmp(line, "unsupported") == 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_UNSUPPORTED,
                                     "says that it cannot do this problem: heed_candidate_run() "
                                     "did not return 0");
    if (starts_with(line, "fault "))
        return explain_fault(line, orders, inputs, outputs, outcome);
    if (starts_with(line, "trapped "))
        return explain_trap(line, outcome);
    if (starts_with(line, "modes "))
        return lab_trial_outcome_set(
            outcome, LAB_TRIAL_FORBIDDEN,
            "left another rounding mode, treatment of subnormal numbers or "
            "flag behind, or x87 or MMX registers in use");
    if (starts_with(line, "spoiled "))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_ILLEGAL_ACCESS, "wrote to the input %.8s",
                                     line + strlen("spoiled "));
    snprintf(text, sizeof text, "%s", line);
    lab_log_strip(text);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (starts_with(line, plain[i].word))
            return lab_trial_outcome_set(outcome, plain[i].verdict, "%s",
                                         text + strlen(plain[i].word));
    return lab_trial_outcome_set(outcome, LAB_TRIAL_GARBAGE, "printed \"%.60s\"", line);
}
