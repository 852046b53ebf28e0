/*
 * wgmma_operands.c - what products of a warpgroup take from shared memory and from registers
 *
 * Operands in shared memory are made of rows of 128 bytes, swizzled, eight of which are 1024 bytes.
 * Either the summed dimension is that of the rows, or the rows are of 64 columns of the product.
 */
#include "emulator/wgmma.h"

#include <string.h>

#include "emulator/half.h"

#define CHUNK 16 /* bytes */
#define ELEMENTS 8
#define PANEL 64 /* columns */

typedef struct operand {
    access it;
    uint32_t smem, leading, stride; /* bytes */
    bool bf16;
} operand;

/* False after machine_fail(). */
static bool operand_of(operand *o, machine *m, const warpgroup *g, const product *p, uint64_t desc,
                       uint32_t group)
{
    *o = (operand){ .it = { .m = m,
                            .clock = p->clock,
                            .actor = g->actor,
                            .tick = group + 1,
                            .base = g->base,
                            .verb = "reads",
                            .at = p->at,
                            .async = true,
                            .together = true },
                    .smem = g->base + ((uint32_t)(desc & 0x3fff) << 4),
                    .leading = (uint32_t)(desc >> 16 & 0x3fff) << 4,
                    .stride = (uint32_t)(desc >> 32 & 0x3fff) << 4,
                    .bf16 = p->flags & EMULATOR_WGMMA_BF16 };
    if (desc >> 62 != 1 || (desc >> 49 & 7) != 0)
        machine_fail(m, "%s: descriptor %#llx: 128-byte swizzle, 1 << 62, and no offset are known",
                     machine_site_print(m, p->at).text, (unsigned long long)desc);
    else if (o->smem % 1024 >= 128)
        machine_fail(m, "%s: descriptor %#llx begins amid eight rows",
                     machine_site_print(m, p->at).text, (unsigned long long)desc);
    else
        return true;
    return false;
}

/* Reads the 8 elements at @smem before swizzling. */
static bool read_chunk(operand *o, uint32_t smem, double to[ELEMENTS])
{
    uint16_t bits[ELEMENTS];
    o->it.smem = smem ^ (smem >> 3 & 0x70);
    const uint8_t *from = shared_locate(&o->it, CHUNK, CHUNK);
    if (!from)
        return false;
    order_read(&o->it, CHUNK);
    memcpy(bits, from, sizeof bits);
    for (int i = 0; i < ELEMENTS; i++)
        to[i] = (double)(o->bf16 ? half_from_bf16(bits[i]) : half_from_f16(bits[i]));
    return true;
}

static uint32_t row_at(const operand *o, uint32_t row)
{
    return o->smem + row / 8 * o->stride + row % 8 * 128;
}

/* 64 or @n rows of which each has what is summed. */
static bool read_a(operand *o, product *p)
{
    for (uint32_t r = 0; r < M; r++)
        for (uint32_t k = 0; k < K; k += ELEMENTS)
            if (!read_chunk(o, row_at(o, r) + k * 2, &p->a[r][k]))
                return false;
    return true;
}

static bool read_b(operand *o, product *p)
{
    double chunk[ELEMENTS];
    for (uint32_t r = 0; r < (uint32_t)p->n; r++)
        for (uint32_t k = 0; k < K; k += ELEMENTS) {
            if (!read_chunk(o, row_at(o, r) + k * 2, chunk))
                return false;
            for (uint32_t i = 0; i < ELEMENTS; i++)
                p->b[k + i][r] = chunk[i];
        }
    return true;
}

/* 16 rows of @n columns, in panels. */
static bool read_b_across(operand *o, product *p)
{
    for (uint32_t k = 0; k < K; k++)
        for (uint32_t n = 0; n < (uint32_t)p->n; n += ELEMENTS)
            if (!read_chunk(o, row_at(o, k) + n / PANEL * o->leading + n % PANEL * 2, &p->b[k][n]))
                return false;
    return true;
}

bool wgmma_read_operands(machine *m, const warpgroup *g, product *p, uint32_t group)
{
    operand o;
    if (p->read)
        return true;
    p->read = true;
    if (p->desc[0] && (!operand_of(&o, m, g, p, p->desc[0], group) || !read_a(&o, p)))
        return false;
    if (!operand_of(&o, m, g, p, p->desc[1], group))
        return false;
    return p->desc[0] ? read_b(&o, p) : read_b_across(&o, p);
}

void wgmma_gather_a(product *p, uint32_t w)
{
    bool bf16 = p->flags & EMULATOR_WGMMA_BF16;
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++)
            for (int h = 0; h < 2; h++) {
                uint16_t bits = (uint16_t)(p->registers[w][lane][i] >> 16 * h);
                p->a[w * ROWS + (uint32_t)(lane / 4 + i % 2 * 8)][lane % 4 * 2 + i / 2 * 8 + h] =
                    (double)(bf16 ? half_from_bf16(bits) : half_from_f16(bits));
            }
}
