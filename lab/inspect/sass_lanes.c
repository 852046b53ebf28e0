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

/* -------------------------------------------------------------------------- */
/* Arithmetic on the values of 32 lanes                                       */
/* -------------------------------------------------------------------------- */

static const sass_value unknown = { .kind = SASS_UNKNOWN };
static const sass_value uniform = { .kind = SASS_SHIFTED }; /* the same in all lanes */
static const sass_value zero = { .kind = SASS_EXACT };

/* True if all lanes have the same known value. */
static bool is_flat(const sass_value *value)
{
    for (int i = 1; i < SASS_LANES; i++)
        if (value->lane[i] != value->lane[0])
            return false;
    return value->kind != SASS_UNKNOWN;
}

static bool is_constant(const sass_value *value)
{
    return value->kind == SASS_EXACT && is_flat(value);
}

static sass_value constant(int32_t number)
{
    sass_value value = { .kind = SASS_EXACT };
    for (int i = 0; i < SASS_LANES; i++)
        value.lane[i] = number;
    return value;
}

/* To 32 bits. */
static int32_t wrap(int64_t number)
{
    return (int32_t)(uint32_t)(uint64_t)number;
}

static sass_value add(const sass_value *a, const sass_value *b)
{
    sass_value sum = { .kind = a->kind < b->kind ? a->kind : b->kind };
    for (int i = 0; i < SASS_LANES; i++)
        sum.lane[i] = wrap((int64_t)a->lane[i] + b->lane[i]);
    return sum.kind == SASS_UNKNOWN ? unknown : sum;
}

/* A common term times a constant is still a common term. */
static sass_value multiply(const sass_value *a, const sass_value *b)
{
    sass_value product = { .kind = a->kind < b->kind ? a->kind : b->kind };
    if (product.kind == SASS_SHIFTED && !is_constant(a) && !is_constant(b))
        return is_flat(a) && is_flat(b) ? uniform : unknown;
    for (int i = 0; i < SASS_LANES; i++)
        product.lane[i] = wrap((int64_t)a->lane[i] * b->lane[i]);
    return product.kind == SASS_UNKNOWN ? unknown : product;
}

static sass_value shift_left(const sass_value *a, const sass_value *by)
{
    if (!is_constant(by) || by->lane[0] < 0 || by->lane[0] > 31)
        return unknown;
    const sass_value factor = constant(wrap((int64_t)1 << by->lane[0]));
    return multiply(a, &factor);
}

/* Shifted-out bits may have carried: only exact values can be shifted right. */
static sass_value shift_right(const sass_value *a, const sass_value *by, bool is_signed)
{
    sass_value result = { .kind = SASS_EXACT };
    if (is_flat(a) && is_flat(by) && !(is_constant(a) && is_constant(by)))
        return uniform;
    if (a->kind != SASS_EXACT || !is_constant(by) || by->lane[0] < 0 || by->lane[0] > 31)
        return unknown;
    for (int i = 0; i < SASS_LANES; i++)
        result.lane[i] = is_signed ? a->lane[i] >> by->lane[0]
                                   : wrap((int64_t)((uint32_t)a->lane[i] >> by->lane[0]));
    return result;
}

/* Combines bits a, b and c to bit 4a + 2b + c of @table. */
static sass_value combine_bits(const sass_value parts[3], unsigned table)
{
    sass_value result = { .kind = SASS_EXACT };
    bool exact = true, flat = true;
    for (int p = 0; p < 3; p++) {
        exact = exact && parts[p].kind == SASS_EXACT;
        flat = flat && is_flat(&parts[p]);
    }
    if (!exact)
        return flat ? uniform : unknown;
    for (int i = 0; i < SASS_LANES; i++) {
        uint32_t bits = 0;
        uint32_t a = (uint32_t)parts[0].lane[i], b = (uint32_t)parts[1].lane[i],
                 c = (uint32_t)parts[2].lane[i];
        for (unsigned row = 0; row < 8; row++)
            if (table >> row & 1)
                bits |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
        result.lane[i] = (int32_t)bits;
    }
    return result;
}

bool sass_merge(sass_value *value, const sass_value *other)
{
    bool same = true, parallel = true;
    if (value->kind == SASS_UNKNOWN)
        return false;
    for (int i = 0; i < SASS_LANES; i++) {
        same = same && value->lane[i] == other->lane[i];
        parallel = parallel && wrap((int64_t)value->lane[i] - value->lane[0]) ==
                                   wrap((int64_t)other->lane[i] - other->lane[0]);
    }
    int kind = value->kind < other->kind ? (int)value->kind : (int)other->kind;
    if (kind == SASS_EXACT && !same)
        kind = SASS_SHIFTED;
    if (kind == SASS_SHIFTED && !parallel)
        kind = SASS_UNKNOWN;
    if (kind == (int)value->kind)
        return false;
    if (kind == SASS_UNKNOWN)
        *value = unknown;
    else
        value->kind = SASS_SHIFTED;
    return true;
}

/* -------------------------------------------------------------------------- */
/* Operands                                                                   */
/* -------------------------------------------------------------------------- */

typedef struct operands {
    int count;
    char text[OPERANDS][OPERAND_SIZE]; /* without ".reuse" */
} operands;

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
    const sass_value minus = constant(-1);
    return multiply(value, &minus);
}

/* The value of a source: -R3, ~R3, 0x10, UR4, c[0x0][0x210]. Halves of registers and absolute
 * values are unknown. */
static sass_value source(const sass_state *state, const char *text)
{
    char sign = *text == '-' || *text == '~' ? *text : '\0';
    const char *at = text + (sign != '\0'), *rest = "";
    char *end;
    sass_value value = unknown;
    int number = read_register(at, &rest);
    if (number >= 0)
        value = *rest ? unknown : number == REGISTER_ZERO ? zero : state->registers[number];
    else if (strcmp(at, "URZ") == 0)
        value = zero;
    else if ((at[0] == 'U' && at[1] == 'R') || strncmp(at, "c[", 2) == 0)
        value = uniform;
    else if (*at >= '0' && *at <= '9') {
        long long immediate = strtoll(at, &end, 0);
        value = *end ? unknown : constant(wrap(immediate));
    }
    if (sign == '~' && value.kind == SASS_EXACT)
        for (int i = 0; i < SASS_LANES; i++)
            value.lane[i] = ~value.lane[i];
    else if (sign == '~')
        value = is_flat(&value) ? uniform : unknown;
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
    return s->count == 1 ? s->from[0] : unknown;
}

static sass_value do_add(const step *s)
{
    sass_value sum = add(&s->from[0], &s->from[1]);
    return sass_has(s->instruction, "X") ? unknown : add(&sum, &s->from[2]);
}

static sass_value do_multiply(const step *s)
{
    const sass_instruction *instruction = s->instruction;
    if (sass_has(instruction, "HI") || sass_has(instruction, "X"))
        return unknown;
    sass_value product = multiply(&s->from[0], &s->from[1]);
    return add(&product, &s->from[2]);
}

static sass_value do_lea(const step *s)
{
    if (sass_has(s->instruction, "X"))
        return unknown;
    if (!sass_has(s->instruction, "HI")) {
        sass_value shifted = shift_left(&s->from[0], &s->from[2]);
        return add(&shifted, &s->from[1]);
    }
    if (s->count != 4 || !is_constant(&s->from[2]) || s->from[2].lane[0] != 0 ||
        !is_constant(&s->from[3]))
        return unknown;
    const sass_value by = constant(32 - s->from[3].lane[0]);
    sass_value shifted = shift_right(&s->from[0], &by, sass_has(s->instruction, "SX32"));
    return add(&shifted, &s->from[1]);
}

/* SHF.L low, by, high; SHF.R low, by, high; with .HI, the upper half of the result. */
static sass_value do_shift(const step *s)
{
    bool high = sass_has(s->instruction, "HI"), left = sass_has(s->instruction, "L");
    bool is_signed = sass_has(s->instruction, "S32");
    if (left && !high)
        return shift_left(&s->from[0], &s->from[1]);
    bool alone = is_constant(&s->from[0]) && s->from[0].lane[0] == 0;
    return !left && high && alone ? shift_right(&s->from[2], &s->from[1], is_signed) : unknown;
}

static sass_value do_bits(const step *s)
{
    if (s->count != 4 || !is_constant(&s->from[3]))
        return unknown;
    return combine_bits(s->from, (unsigned)s->from[3].lane[0]);
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
            return uniform;
    return unknown;
}

/* A parameter is uniform if its address is. */
static sass_value do_load_constant(const step *s)
{
    return s->count == 1 && !strchr(s->text[0], 'R') ? uniform : unknown;
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
        return unknown;
    for (int i = 0; i < 4; i++) {
        s.from[i] = zero;
        s.text[i] = "";
    }
    for (int i = result + 1; i < list->count && s.count < 4; i++) {
        if (is_predicate(list->text[i]))
            continue;
        s.text[s.count] = list->text[i];
        s.from[s.count++] = source(state, list->text[i]);
    }
    return s.count > 0 ? known[at].run(&s) : unknown;
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
    sass_value value = calls ? unknown
                             : evaluate(state, instruction, &list, result, shape, &is_known);
    if (calls)
        number = 0;
    int count = results(instruction, !calls && is_known);
    for (int i = number; i < number + count && i < SASS_REGISTERS; i++) {
        const sass_value *now = i == number ? &value : &unknown;
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
    sass_value factor = constant(1);
    if (dot) {
        bool scaled = dot[1] == 'X';
        if (!scaled && strcmp(dot, ".U32") != 0 && strcmp(dot, ".64") != 0)
            return unknown;
        factor = constant(scaled ? atoi(dot + 2) : 1);
        *dot = '\0';
    }
    sass_value value = source(state, text);
    return multiply(&value, &factor);
}

sass_value sass_lanes_address(const sass_state *state, const sass_instruction *instruction)
{
    char text[64];
    /* the last bracket: in "desc[UR6][R12.64]" it has the address */
    const char *open = memrchr(instruction->operands, '[', (size_t)instruction->operand_length);
    sass_value sum = zero;
    if (!open)
        return unknown;
    size_t left = (size_t)(instruction->operands + instruction->operand_length - open - 1);
    size_t length = strcspn(open + 1, "]");
    if (length >= sizeof text || length >= left)
        return unknown;
    memcpy(text, open + 1, length);
    text[length] = '\0';
    for (char *at = text, *plus; at; at = plus ? plus + 1 : NULL) {
        plus = strchr(at, '+');
        if (plus)
            *plus = '\0';
        const sass_value more = summand(state, at);
        sum = add(&sum, &more);
    }
    return sum;
}

/* -------------------------------------------------------------------------- */
/* Comparisons                                                                */
/* -------------------------------------------------------------------------- */

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
    for (int i = 0; i < SASS_LANES; i++) {
        const int32_t x = a.lane[i], y = b.lane[i];
        const bool holds[] = { x == y, x != y, x<y, x <= y, x> y, x >= y }; /* as in words */
        lanes |= (uint32_t)holds[word] << i;
    }
    *predicate = list.text[0][1] - '0';
    return lanes;
}
