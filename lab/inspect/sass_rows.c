/*
 * sass_rows.c - finds uncoalesced loads from global memory
 *
 * A warp's load moves lines of 128 bytes. If adjacent lanes read adjacent data, lines are fully
 * used; if each lane reads from a different row of a matrix, a line is moved for every lane.
 */
#include <stdio.h>
#include <string.h>

#include "inspect/sass_parts.h"

enum {
    LINE_BYTES = 128,
    LINES_MANY = 16, /* of 32 lanes */
    TIMES_MANY = 4   /* times the lines needed */
};

/* Bytes that a lane loads; 0: not a load from global memory. */
static int bytes_of(const sass_instruction *instruction)
{
    static const struct {
        lab_sass_class kind;
        int bytes;
    } loads[] = { { LAB_SASS_GLOBAL_LOAD_8, 1 },
                  { LAB_SASS_GLOBAL_LOAD_16, 2 },
                  { LAB_SASS_GLOBAL_LOAD_32, 4 },
                  { LAB_SASS_GLOBAL_LOAD_64, 8 },
                  { LAB_SASS_GLOBAL_LOAD_128, 16 } };
    lab_sass_class kind = lab_sass_classify(instruction->opcode);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (loads[i].kind == kind)
            return loads[i].bytes;
    return 0;
}

/* Lines that the lanes read from, if the lowest address begins one. */
static int count_lines(const sass_value *address)
{
    int64_t least = address->lane[0], seen[SASS_LANES] = { 0 };
    int count = 0;
    for (int i = 1; i < SASS_LANES; i++)
        least = address->lane[i] < least ? address->lane[i] : least;
    for (int i = 0; i < SASS_LANES; i++) {
        int64_t line = (address->lane[i] - least) / LINE_BYTES;
        int k = 0;
        while (k < count && seen[k] != line)
            k++;
        seen[k] = line;
        count += k == count;
    }
    return count;
}

void sass_rows_judge(const sass_state *state, const sass_instruction *instruction, bool in_loop,
                     lab_sass_rows *rows)
{
    int bytes = bytes_of(instruction);
    if (bytes == 0 || instruction->never || instruction->guarded)
        return;
    const sass_value address = sass_lanes_address(state, instruction);
    if (address.kind == SASS_UNKNOWN)
        return;
    int lines = count_lines(&address);
    int least = (SASS_LANES * bytes + LINE_BYTES - 1) / LINE_BYTES;
    bool apart = lines >= LINES_MANY && lines >= TIMES_MANY * least;
    rows->known++;
    rows->apart += apart;
    if (!apart || lines < rows->lines || (lines == rows->lines && (rows->in_loop || !in_loop)))
        return;
    rows->lines = lines;
    rows->least = least;
    rows->address = instruction->address;
    rows->in_loop = in_loop;
    snprintf(rows->instruction, sizeof rows->instruction, "%.*s %.*s", instruction->opcode_length,
             instruction->opcode, instruction->operand_length, instruction->operands);
    for (size_t end = strlen(rows->instruction); end > 0 && rows->instruction[end - 1] == ' ';)
        rows->instruction[--end] = '\0';
}
