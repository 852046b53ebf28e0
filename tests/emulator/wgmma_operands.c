/*
 * wgmma_operands.c - operands of a warpgroup's products, from shared memory and from registers
 *
 * Operands in shared memory consist of rows of 128, 64 or 32 bytes, swizzled, or of 16, which are
 * not; eight rows are contiguous. Rows are either along the summed dimension, or along columns of
 * the product.
 */
#include "emulator/wgmma.h"

#include <string.h>

#include "emulator/half.h"

#define CHUNK 16 /* bytes */
#define ELEMENTS 8

typedef struct operand {
    access it;
    uint32_t smem, leading, stride; /* bytes */
    uint32_t row;                   /* bytes per row */
    bool bf16;
} operand;

/* False after machine_fail(). */
static bool operand_of(operand *o, machine *m, const warpgroup *g, const product *p, uint64_t desc,
                       uint32_t group)
{
    static const uint32_t rows[] = { 16, 128, 64, 32 }; /* by swizzle mode */
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
                    .row = rows[desc >> 62],
                    .bf16 = p->flags & EMULATOR_WGMMA_BF16 };
    if ((desc >> 46 & 3) != 0 || (desc >> 49 & 0x1fff) != 0)
        machine_fail(m, "%s: descriptor %#llx: only modes of swizzling, bits 62 and 63, are known",
                     machine_site_print(m, p->at).text, (unsigned long long)desc);
    else if (o->row == CHUNK && o->leading == 0)
        machine_fail(m, "%s: descriptor %#llx: an operand without swizzle needs two distances",
                     machine_site_print(m, p->at).text, (unsigned long long)desc);
    else if (o->smem % (8 * o->row) >= o->row)
        machine_fail(m, "%s: descriptor %#llx begins amid eight rows",
                     machine_site_print(m, p->at).text, (unsigned long long)desc);
    else
        return true;
    return false;
}

/* Reads the 8 elements at @smem (address before swizzling). */
static bool read_chunk(operand *o, uint32_t smem, double to[ELEMENTS])
{
    uint16_t bits[ELEMENTS];
    o->it.smem = smem ^ (smem >> 3 & (o->row - CHUNK));
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
    return o->smem + row / 8 * o->stride + row % 8 * o->row;
}

/* Address of the chunk with column @k of row @row, if rows are along the summed dimension. */
static uint32_t chunk_along(const operand *o, uint32_t row, uint32_t k)
{
    uint32_t columns = o->row / 2;
    return row_at(o, row) + k / columns * o->leading + k % columns * 2;
}

/* The same if rows are along columns of the product. Without swizzling the two distances are
 * exchanged. */
static uint32_t chunk_across(const operand *o, uint32_t row, uint32_t n)
{
    uint32_t columns = o->row / 2;
    if (o->row == CHUNK)
        return o->smem + row / 8 * o->leading + row % 8 * CHUNK + n / columns * o->stride;
    return row_at(o, row) + n / columns * o->leading + n % columns * 2;
}

/* 64 or @n rows along the summed dimension. */
static bool read_a(operand *o, product *p)
{
    for (uint32_t r = 0; r < M; r++)
        for (uint32_t k = 0; k < K; k += ELEMENTS)
            if (!read_chunk(o, chunk_along(o, r, k), &p->a[r][k]))
                return false;
    return true;
}

static bool read_b(operand *o, product *p)
{
    double chunk[ELEMENTS];
    for (uint32_t r = 0; r < (uint32_t)p->n; r++)
        for (uint32_t k = 0; k < K; k += ELEMENTS) {
            if (!read_chunk(o, chunk_along(o, r, k), chunk))
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
            if (!read_chunk(o, chunk_across(o, k, n), &p->b[k][n]))
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
    return p->flags & EMULATOR_WGMMA_ACROSS ? read_b_across(&o, p) : read_b(&o, p);
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
