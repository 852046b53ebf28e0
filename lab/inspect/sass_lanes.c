/*
 * sass_lanes.c - interpreter for the known values of registers by lane
 *
 * An address in shared memory mostly depends on the thread's index and constants. So the code is
 * executed abstractly with known values: the index in the first warp and constants, while kernel
 * parameters, block indices and uniform registers are equal in all lanes. Any other source makes a
 * register unknown, and with it all registers derived from it.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/sass_parts.h"

enum {
    OPERANDS = 8,
    OPERAND_SIZE = 48,
    REGISTER_ZERO = 255
};

typedef struct operands {
    int count;
    char text[OPERANDS][OPERAND_SIZE]; /* without ".reuse" */
} operands;

/* -------------------------------------------------------------------------- */
/* Operands                                                                   */
/* -------------------------------------------------------------------------- */

static operands split(const sass_instruction *instruction)
{
    operands list = { .count = 0 };
    const char *at = instruction->operands, *end = at + instruction->operand_length;
    while (at < end && list.count < OPERANDS) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        while (at < stop && *at == ' ')
            at++;
        size_t length = (size_t)(stop - at);
        while (length > 0 && at[length - 1] == ' ')
            length--;
        length = length < OPERAND_SIZE ? length : OPERAND_SIZE - 1;
        char *text = list.text[list.count++];
        memcpy(text, at, length);
        text[length] = '\0';
        char *reuse = strstr(text, ".reuse");
        if (reuse)
            memmove(reuse, reuse + strlen(".reuse"), strlen(reuse + strlen(".reuse")) + 1);
        at = comma ? comma + 1 : end;
    }
    return list;
}

/* P0, !P3, PT, UP2, !UPT. */
static bool is_predicate(const char *text)
{
    text += *text == '!';
    text += *text == 'U';
    return text[0] == 'P' &&
           (text[1] == 'T' || (text[1] >= '0' && text[1] <= '9') || text[1] == 'R');
}

/* The number of a register R0 to R254, or REGISTER_ZERO, at @text; -1 if none. *@rest points past
 * it. */
static int read_register(const char *text, const char **rest)
{
    char *end;
    if (text[0] != 'R')
        return -1;
    if (text[1] == 'Z') {
        *rest = text + 2;
        return REGISTER_ZERO;
    }
    if (text[1] < '0' || text[1] > '9')
        return -1;
    long number = strtol(text + 1, &end, 10);
    *rest = end;
    return number < SASS_REGISTERS ? (int)number : -1;
}

static sass_value negate(const sass_value *value)
{
    const sass_value minus = sass_constant(-1);
    return sass_multiply(value, &minus);
}

/* The value of a source: -R3, ~R3, 0x10, UR4, c[0x0][0x210]. Halves of registers and absolute
 * values are unknown. */
static sass_value source(const sass_state *state, const char *text)
{
    char sign = *text == '-' || *text == '~' ? *text : '\0';
    const char *at = text + (sign != '\0'), *rest = "";
    char *end;
    sass_value value = sass_unknown;
    int number = read_register(at, &rest);
    if (number >= 0)
        value = *rest                     ? sass_unknown
                : number == REGISTER_ZERO ? sass_zero
                                          : state->registers[number];
    else if (strcmp(at, "URZ") == 0)
        value = sass_zero;
    else if ((at[0] == 'U' && at[1] == 'R') || strncmp(at, "c[", 2) == 0)
        value = sass_uniform;
    else if (*at >= '0' && *at <= '9') {
        long long immediate = strtoll(at, &end, 0);
        value = *end ? sass_unknown : sass_constant(sass_wrap(immediate));
    }
    if (sign == '~' && value.kind == SASS_EXACT)
        for (int i = 0; i < SASS_LANES; i++)
            value.lane[i] = ~value.lane[i];
    else if (sign == '~')
        value = sass_is_flat(&value) ? sass_uniform : sass_unknown;
    return sign == '-' ? negate(&value) : value;
}

/* -------------------------------------------------------------------------- */
/* Instructions                                                               */
/* -------------------------------------------------------------------------- */

/* Sources other than predicates; missing ones are zero. */
typedef struct step {
    const sass_instruction *instruction;
    sass_value from[4];
    const char *text[4];
    int count;
    const lab_sass_shape *shape; /* of blocks; NULL: unknown */
} step;

static sass_value do_move(const step *s)
{
    return s->count == 1 ? s->from[0] : sass_unknown;
}

static sass_value do_add(const step *s)
{
    sass_value sum = sass_add(&s->from[0], &s->from[1]);
    return sass_has(s->instruction, "X") ? sass_unknown : sass_add(&sum, &s->from[2]);
}

static sass_value do_multiply(const step *s)
{
    const sass_instruction *instruction = s->instruction;
    if (sass_has(instruction, "HI") || sass_has(instruction, "X"))
        return sass_unknown;
    sass_value product = sass_multiply(&s->from[0], &s->from[1]);
    return sass_add(&product, &s->from[2]);
}

static sass_value do_lea(const step *s)
{
    if (sass_has(s->instruction, "X"))
        return sass_unknown;
    if (!sass_has(s->instruction, "HI")) {
        sass_value shifted = sass_shift_left(&s->from[0], &s->from[2]);
        return sass_add(&shifted, &s->from[1]);
    }
    if (s->count != 4 || !sass_is_constant(&s->from[2]) || s->from[2].lane[0] != 0 ||
        !sass_is_constant(&s->from[3]))
        return sass_unknown;
    const sass_value by = sass_constant(32 - s->from[3].lane[0]);
    sass_value shifted = sass_shift_right(&s->from[0], &by, sass_has(s->instruction, "SX32"));
    return sass_add(&shifted, &s->from[1]);
}

/* SHF.L low, by, high; SHF.R low, by, high; with .HI, the upper half of the result. */
static sass_value do_shift(const step *s)
{
    bool high = sass_has(s->instruction, "HI"), left = sass_has(s->instruction, "L");
    bool is_signed = sass_has(s->instruction, "S32");
    if (left && !high)
        return sass_shift_left(&s->from[0], &s->from[1]);
    bool alone = sass_is_constant(&s->from[0]) && s->from[0].lane[0] == 0;
    return !left && high && alone ? sass_shift_right(&s->from[2], &s->from[1], is_signed)
                                  : sass_unknown;
}

static sass_value do_bits(const step *s)
{
    if (s->count != 4 || !sass_is_constant(&s->from[3]))
        return sass_unknown;
    return sass_combine_bits(s->from, (unsigned)s->from[3].lane[0]);
}

/* One coordinate of the first warp's threads: x varies fastest. Lanes beyond the block repeat it.
 */
static sass_value coordinate(const lab_sass_shape *shape, char axis)
{
    sass_value value = { .kind = SASS_EXACT };
    for (int i = 0; i < SASS_LANES; i++)
        value.lane[i] = axis == 'X'   ? i % shape->x
                        : axis == 'Y' ? i / shape->x % shape->y
                                      : i / shape->x / shape->y % shape->z;
    return value;
}

static sass_value do_ask(const step *s)
{
    static const char *const same[] = { "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_CgaCtaId" };
    static const lab_sass_shape row = { SASS_LANES, 1, 1 };
    static const char place[] = "SR_TID.";
    if (strcmp(s->text[0], "SR_LANEID") == 0)
        return coordinate(&row, 'X');
    if (s->shape && strncmp(s->text[0], place, strlen(place)) == 0)
        return coordinate(s->shape, s->text[0][strlen(place)]);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(s->text[0], same[i]) == 0)
            return sass_uniform;
    return sass_unknown;
}

/* A parameter is uniform if its address is. */
static sass_value do_load_constant(const step *s)
{
    return s->count == 1 && !strchr(s->text[0], 'R') ? sass_uniform : sass_unknown;
}

static const struct {
    const char *word;
    sass_value (*run)(const step *s);
} known[] = {
    { "MOV", do_move },      { "IADD3", do_add }, { "VIADD", do_add },         { "IADD", do_add },
    { "IMAD", do_multiply }, { "LEA", do_lea },   { "SHF", do_shift },         { "LOP3", do_bits },
    { "S2R", do_ask },       { "R2UR", NULL },    { "LDC", do_load_constant },
};

/* Registers of a result, by the first matching row. A NULL first word matches any. */
static const struct {
    const char *word, *also;
    int count;
} sizes[] = {
    { "CALL", NULL, SASS_REGISTERS }, /* the function may change any */
    { "LDSM", "4", 4 },
    { "LDSM", "2", 2 },
    { "LDSM", NULL, 1 },
    { "HMMA", NULL, 4 },
    { "CS2R", "32", 1 },
    { "CS2R", NULL, 2 },
    { NULL, "256", 8 },
    { NULL, "128", 4 },
    { NULL, "64", 2 },
    { NULL, "F64", 2 },
    { NULL, "WIDE", 2 },
    { "LDS", NULL, 1 },
    { "LDG", NULL, 1 },
    { "LDC", NULL, 1 },
    { "LDL", NULL, 1 },
    { "SEL", NULL, 1 },
    { "FSEL", NULL, 1 },
    { "PRMT", NULL, 1 },
    { "VOTE", NULL, 1 },
    { "POPC", NULL, 1 },
    { "FLO", NULL, 1 },
    { "BREV", NULL, 1 },
    { "P2R", NULL, 1 },
    { "IABS", NULL, 1 },
    { "IMNMX", NULL, 1 },
    { "VIMNMX", NULL, 1 },
    { "VIMNMX3", NULL, 1 },
    { "VIADDMNMX", NULL, 1 },
};

static int results(const sass_instruction *instruction, bool is_known)
{
    lab_sass_class kind = lab_sass_classify(instruction->opcode);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if ((!sizes[i].word || sass_is(instruction, sizes[i].word)) &&
            (!sizes[i].also || sass_has(instruction, sizes[i].also)))
            return sizes[i].count;
    if (kind == LAB_SASS_TENSOR_GROUP || kind == LAB_SASS_TENSOR_MEMORY)
        return SASS_REGISTERS;
    bool one = is_known || kind == LAB_SASS_SHUFFLE ||
               (kind >= LAB_SASS_CONVERT && kind <= LAB_SASS_HALF);
    return one ? 1 : 8;
}

/* The operand for the result; -1: no result in a register. */
static int find_result(const sass_instruction *instruction, const operands *list, int *number)
{
    const char *rest;
    int at = 0;
    *number = -1;
    if (instruction->opcode_length > 4 && strncmp(instruction->opcode + 1, "SETP", 4) == 0)
        return -1;
    while (at < list->count && at < 2 && is_predicate(list->text[at]))
        at++;
    if (at == list->count)
        return -1;
    *number = read_register(list->text[at], &rest);
    return *number < 0 ? -1 : at;
}

static sass_value evaluate(const sass_state *state, const sass_instruction *instruction,
                           const operands *list, int result, const lab_sass_shape *shape,
                           bool *is_known)
{
    step s = { .instruction = instruction, .shape = shape };
    size_t at = 0;
    while (at < sizeof known / sizeof *known && !sass_is(instruction, known[at].word))
        at++;
    *is_known = at < sizeof known / sizeof *known && known[at].run;
    if (!*is_known)
        return sass_unknown;
    for (int i = 0; i < 4; i++) {
        s.from[i] = sass_zero;
        s.text[i] = "";
    }
    for (int i = result + 1; i < list->count && s.count < 4; i++) {
        if (is_predicate(list->text[i]))
            continue;
        s.text[s.count] = list->text[i];
        s.from[s.count++] = source(state, list->text[i]);
    }
    return s.count > 0 ? known[at].run(&s) : sass_unknown;
}

void sass_lanes_step(sass_state *state, const sass_instruction *instruction,
                     const lab_sass_shape *shape)
{
    const operands list = split(instruction);
    bool is_known;
    int number, result = find_result(instruction, &list, &number);
    bool calls = sass_is(instruction, "CALL");
    if ((result < 0 || number == REGISTER_ZERO) && !calls)
        return;
    sass_value value = calls ? sass_unknown
                             : evaluate(state, instruction, &list, result, shape, &is_known);
    if (calls)
        number = 0;
    int count = results(instruction, !calls && is_known);
    for (int i = number; i < number + count && i < SASS_REGISTERS; i++) {
        const sass_value *now = i == number ? &value : &sass_unknown;
        if (instruction->guarded)
            sass_merge(&state->registers[i], now);
        else
            state->registers[i] = *now;
    }
}

/* -------------------------------------------------------------------------- */
/* Addresses                                                                  */
/* -------------------------------------------------------------------------- */

/* A summand of an address: R3, R3.X4, UR4, 0x40, -0x40. */
static sass_value summand(const sass_state *state, char *text)
{
    char *dot = strchr(text, '.');
    sass_value factor = sass_constant(1);
    if (dot) {
        bool scaled = dot[1] == 'X';
        if (!scaled && strcmp(dot, ".U32") != 0 && strcmp(dot, ".64") != 0)
            return sass_unknown;
        factor = sass_constant(scaled ? atoi(dot + 2) : 1);
        *dot = '\0';
    }
    sass_value value = source(state, text);
    return sass_multiply(&value, &factor);
}

sass_value sass_lanes_address(const sass_state *state, const sass_instruction *instruction)
{
    char text[64];
    /* the last bracket: in "desc[UR6][R12.64]" it has the address */
    const char *open = memrchr(instruction->operands, '[', (size_t)instruction->operand_length);
    sass_value sum = sass_zero;
    if (!open)
        return sass_unknown;
    size_t left = (size_t)(instruction->operands + instruction->operand_length - open - 1);
    size_t length = strcspn(open + 1, "]");
    if (length >= sizeof text || length >= left)
        return sass_unknown;
    memcpy(text, open + 1, length);
    text[length] = '\0';
    for (char *at = text, *plus; at; at = plus ? plus + 1 : NULL) {
        plus = strchr(at, '+');
        if (plus)
            *plus = '\0';
        const sass_value more = summand(state, at);
        sum = sass_add(&sum, &more);
    }
    return sum;
}

/* -------------------------------------------------------------------------- */
/* Comparisons                                                                */
/* -------------------------------------------------------------------------- */

static bool is_true(const char *word, int32_t a, int32_t b)
{
    const struct {
        const char *word;
        bool holds;
    } all[] = { { "EQ", a == b }, { "NE", a != b }, { "LT", a < b },
                { "LE", a <= b }, { "GT", a > b },  { "GE", a >= b } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].word, word) == 0)
            return all[i].holds;
    return false;
}

uint32_t sass_lanes_compare(const sass_state *state, const sass_instruction *instruction,
                            int *predicate)
{
    static const char *const words[] = { "EQ", "NE", "LT", "LE", "GT", "GE" };
    const operands list = split(instruction);
    size_t word = 0;
    uint32_t lanes = 0;
    *predicate = -1;
    while (word < sizeof words / sizeof *words && !sass_has(instruction, words[word]))
        word++;
    if (!sass_is(instruction, "ISETP") || instruction->guarded || list.count < 5 ||
        word == sizeof words / sizeof *words || !sass_has(instruction, "AND") ||
        strcmp(list.text[1], "PT") != 0 || strcmp(list.text[4], "PT") != 0)
        return 0;
    const sass_value a = source(state, list.text[2]), b = source(state, list.text[3]);
    if (a.kind != SASS_EXACT || b.kind != SASS_EXACT || list.text[0][0] != 'P' ||
        list.text[0][1] < '0' || list.text[0][1] > '9')
        return 0;
    for (int i = 0; i < SASS_LANES; i++)
        lanes |= (uint32_t)is_true(words[word], a.lane[i], b.lane[i]) << i;
    *predicate = list.text[0][1] - '0';
    return lanes;
}
