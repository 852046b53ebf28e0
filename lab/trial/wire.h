/*
 * wire.h - the protocol between the laboratory and the process that runs a candidate
 *
 * The process gets three descriptors in addition to its channels: two arenas of shared memory, for
 * inputs, which it cannot write to, and for outputs; and the code. It gets requests as lines on
 * stdin and replies to each with a line on stdout:
 *
 *     (started)   ready INPUTS OUTPUTS LAYOUT
 *                            addresses of the arenas, and LAB_WIRE_LAYOUT, in hexadecimal
 *     size        size BYTES             of workspace, for the problem of the orders
 *     place       placed                 exactly the rooms of the orders are accessible
 *     run         done NANOSECONDS       all sets of the orders are computed; 0: not timed by
 *     itself
 *
 * or with one of these, and ends after all but the first:
 *
 *     unsupported            the candidate cannot do the problem
 *     failed WORDS           it could not be loaded
 *     exhausted WORDS        likewise, for lack of memory
 *     trapped NUMBER         it made this system call
 *     fault SIGNAL ADDRESS FLAGS
 *                            FLAGS are letters: m, an allocation had failed; s, the address is
 *                            where the stack would grow; g, the CPU gave no address; - ends them
 *     modes                  it left other modes of the CPU (modes.h)
 *     spoiled NAME           it wrote to this input on a device
 *     lost WORDS             the device failed
 *
 * None of it is trusted: the candidate can write to stdout too, and may never return from its first
 * call. Only the content of the outputs when the process is frozen after its reply, and the
 * laboratory's clock, count. Values, and the offsets of tensors in their rooms, are written while
 * it is frozen, after "placed" and before "run": before the clock starts there is nothing to
 * compute.
 */
#ifndef LAB_WIRE_H
#define LAB_WIRE_H

#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/trial/heed_candidate.h"
#include "src/cuda/launch.h"

#define LAB_WIRE_INPUTS 3
#define LAB_WIRE_OUTPUTS 4
#define LAB_WIRE_CODE 5

/* Must be equal on both sides: a runner of another version has a different layout of orders. */
#define LAB_WIRE_LAYOUT (LAB_BLOCKS * 100000 + sizeof(lab_wire_orders))

/* The longest line, with its newline. */
#define LAB_WIRE_LINE 256

/* Bytes of an arena, from its start. */
typedef struct lab_wire_room {
    uint64_t start; /* of the accessible bytes; whole pages around it are opened ... */
    uint64_t size;  /* ... 0: no such tensor */
    uint64_t data;  /* start of the tensor */
} lab_wire_room;

typedef struct lab_wire_set {
    lab_wire_room room[LAB_BLOCKS]; /* inputs are in the arena of inputs, O and what comes after it
                                     * in that of outputs */
    uint64_t workspace_size;
} lab_wire_set;

#define LAB_WIRE_SETS 64

/* How a CUDA candidate is launched. */
typedef struct lab_wire_launch {
    char entry[48]; /* replaces the pointer in @facts, which is invalid there */
    char device[16];
    int32_t ptx;
    heed_launch_facts facts;
} lab_wire_launch;

/* At the start of the arena of inputs. */
typedef struct lab_wire_orders {
    heed_candidate_problem problem;
    lab_wire_launch launch;
    int32_t count;
    lab_wire_set set[LAB_WIRE_SETS];
    int32_t operands;   /* the problem has operands, softcap or expressions */
    heed_problem whole; /* the same problem, for the runner of CUDA candidates */
} lab_wire_orders;

#define LAB_WIRE_ORDERS ((size_t)64 << 10) /* bytes reserved for them */

#endif /* LAB_WIRE_H */
