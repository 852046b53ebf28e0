/*
 * trial_time.c - timed calls on values that the candidate cannot see before the clock starts
 *
 * Every tensor has one slot per call, each a page longer than the tensor, with walls around it. The
 * process opens all of them in advance. Once it is stopped, the slot of each call, and the tensor's
 * offset in it, are chosen at random. Half the tensors end at the wall after them, and a quarter
 * begin at the wall before; so a tensor's position reveals nothing about its call, and a read past
 * the end faults in half the calls.
 */
#include <string.h>
#include <unistd.h>

#include "lab/tensor/random.h"
#include "lab/tensor/view.h"
#include "lab/trial/trial_parts.h"

/* A tensor begins at a multiple of this many bytes, unless it ends at the wall. */
#define LINE ((size_t)64)

/* The walls are checked in one block of this many, since that takes a millisecond for many slots,
 * and after as many blocks as WALLS_UNSEEN without a check. */
#define WALLS_ONE_IN 8
#define WALLS_UNSEEN 16

/* The initial pattern of outputs and of memory around tensors: NaN in every type. */
#define POISON 0xff

/* Slots for all calls. */
static bool lay_out(lab_trial *trial, const lab_calls *calls, lab_trial_outcome *outcome)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    lab_set slots;

    for (int index = 0; index < LAB_BLOCKS; index++)
        slots.span[index] = (lab_span){ .room_size = (calls->size[index] + 2 * page - 1) / page *
                                                     page,
                                        .size = calls->size[index] };
    return lab_trial_lay_out(trial, &slots, true, calls->count, outcome);
}

/* A random offset of a tensor of @size bytes in a slot of @whole: at its end, at its start, or
 * anywhere.
 */
static size_t draw_place(uint64_t lot, size_t size, size_t whole, bool lines)
{
    size_t slack = whole - size;

    if (lines)
        slack = slack / LINE * LINE;
    switch (lab_random_below(lot, 0, 4)) {
    case 0:
        return 0;
    case 1:
        return (size_t)lab_random_below(lot, 1, (int64_t)(slack / LINE) + 1) * LINE;
    default:
        return slack;
    }
}

/* Assigns the slots of @index to the calls at random. */
static void deal(lab_trial *trial, const lab_calls *calls, int index, uint64_t lot)
{
    lab_wire_orders *orders = lab_trial_orders(trial);

    for (int i = 0; i < calls->count; i++) {
        int j = (int)lab_random_below(lot, (uint64_t)i, i + 1);
        orders->set[i].room[index] = orders->set[j].room[index];
        orders->set[j].room[index] = trial->opened[i].room[index];
    }
    for (int i = 0; i < calls->count; i++) {
        lab_wire_room *room = &orders->set[i].room[index];
        uint64_t place = lab_random_stream(lot, (uint64_t)i);
        room->data = room->start +
                     draw_place(place, calls->size[index], room->size, index == LAB_WORKSPACE);
    }
}

static unsigned char *tensor_at(lab_trial *trial, int call, int index)
{
    const lab_wire_room *room = &lab_trial_orders(trial)->set[call].room[index];

    return room->size > 0 ? lab_trial_arena(trial, index)->map + room->data : NULL;
}

/* Poisons the memory around a tensor, and all of an output except the workspace. */
static void poison(lab_trial *trial, int call, int index, size_t size)
{
    const lab_wire_room *room = &lab_trial_orders(trial)->set[call].room[index];
    unsigned char *start = lab_trial_arena(trial, index)->map + room->start;
    size_t before = (size_t)(room->data - room->start), behind = room->size - before - size;

    memset(start, POISON, before);
    if (index >= LAB_O && index != LAB_WORKSPACE)
        memset(start + before, POISON, size);
    memset(start + before + size, POISON, behind);
}

static void fill(lab_trial *trial, lab_calls *calls, int call)
{
    for (int index = 0; index < LAB_BLOCKS; index++) {
        if (calls->size[index] == 0)
            continue;
        poison(trial, call, index, calls->size[index]);
        if (index < LAB_O)
            calls->fill(calls->data, call, index, tensor_at(trial, call, index));
    }
    calls->made[call] = (heed_buffers){
        .size = sizeof(heed_buffers),
        .lse = (float *)(void *)tensor_at(trial, call, LAB_LSE),
    };
    for (int role = 0; role < LAB_ROLES; role++)
        lab_buffers_set(&calls->made[call], (lab_role)role, tensor_at(trial, call, role));
}

static bool all_poison(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == POISON && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Checks that the bytes around an output are unchanged. */
static bool look_around(lab_trial *trial, int call, int index, size_t size,
                        lab_trial_outcome *outcome)
{
    const lab_wire_room *room = &lab_trial_orders(trial)->set[call].room[index];
    const unsigned char *start = trial->outputs.map + room->start;
    size_t before = (size_t)(room->data - room->start), behind = room->size - before - size;

    if (size == 0)
        return true;
    if (!all_poison(start, before))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_WROTE_OUTSIDE,
                                     "wrote before the start of %s, while it was timed",
                                     lab_block_name(index));
    if (!all_poison(start + before + size, behind))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_WROTE_OUTSIDE,
                                     "wrote past the end of %s, while it was timed",
                                     lab_block_name(index));
    return true;
}

/* Checks the walls in some blocks, which @lot chooses. */
static bool look_at_walls_at_times(lab_trial *trial, uint64_t lot, lab_trial_outcome *outcome)
{
    if (lot % WALLS_ONE_IN != 0 && ++trial->walls_unseen < WALLS_UNSEEN)
        return true;
    trial->walls_unseen = 0;
    return lab_trial_look_at_walls(trial, outcome);
}

bool lab_trial_time(lab_trial *trial, lab_calls *calls, lab_trial_outcome *outcome)
{
    uint64_t lots[LAB_BLOCKS + 1];

    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (calls->count < 1 || calls->count > LAB_WIRE_SETS)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "%d calls; there must be 1 to %d",
                                     calls->count, LAB_WIRE_SETS);
    if (!lab_random_secret(lots, LAB_BLOCKS + 1))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no random numbers");
    if (!lab_trial_start(trial, outcome) || !lay_out(trial, calls, outcome) ||
        !lab_trial_reach(trial, calls->count, outcome))
        return false;
    for (int index = 0; index < LAB_BLOCKS; index++)
        deal(trial, calls, index, lots[index]);
    for (int i = 0; i < calls->count; i++)
        fill(trial, calls, i);
    if (!lab_trial_compute(trial, 0, outcome) ||
        !look_at_walls_at_times(trial, lots[LAB_BLOCKS], outcome))
        return false;
    for (int i = 0; i < calls->count; i++)
        for (int index = LAB_O; index < LAB_BLOCKS; index++)
            if (!look_around(trial, i, index, calls->size[index], outcome))
                return false;
    return true;
}
