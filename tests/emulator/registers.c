/*
 * registers.c - division of the multiprocessor's registers among the warps of a block
 */
#include "emulator/machine.h"

/* The registers of a multiprocessor, and the granularity per thread. */
#define REGISTERS 65536u
#define REGISTERS_UNIT 8

/* The warps of a warpgroup must set their registers by the same instruction, to the same number. */
static void check_warpgroup(machine *m, uint32_t warp, uint32_t other)
{
    site here = m->registers_at[warp], there = m->registers_at[other];
    site_text at = machine_site_print(m, here);
    if (m->registers[other] && m->registers[other] != m->registers[warp])
        machine_fail(m, "%s: warps of a warpgroup have %u registers and %u", at.text,
                     m->registers[warp], m->registers[other]);
    if (m->registers_times[other] == m->registers_times[warp] && there != here)
        machine_fail(m, "%s: warps of a warpgroup set registers here and at %s", at.text,
                     machine_site_print(m, there).text);
}

/* A block has the registers with which its threads start, the same number each: it cannot use the
 * other registers of the multiprocessor. */
void registers_set(machine *m, const thread *lanes)
{
    uint32_t warp = machine_index(m, lanes) / LANES, total = 0;
    uint32_t first = lanes->rank * m->block_warps; /* first warp of the block, as for warpgroups */
    uint32_t count = (uint32_t)lanes->request->n, threads = m->block_warps * LANES;
    uint32_t most = REGISTERS / threads / REGISTERS_UNIT * REGISTERS_UNIT * threads;
    m->registers[warp] = count;
    m->registers_at[warp] = machine_site(m, lanes);
    m->registers_times[warp]++;
    site_text at = machine_site_print(m, m->registers_at[warp]);
    if (count < 24 || count > 256 || count % REGISTERS_UNIT != 0)
        machine_fail(m, "%s: %u registers of a thread; multiples of 8 from 24 to 256 are possible",
                     at.text, count);
    for (uint32_t w = first; w < first + m->block_warps; w++) {
        total += m->registers[w] * LANES;
        if ((w - first) / WARPGROUP == (warp - first) / WARPGROUP)
            check_warpgroup(m, warp, w);
    }
    if (total > most)
        machine_fail(m, "%s: %u registers in all; the block has %u", at.text, total, most);
}
