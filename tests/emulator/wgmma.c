/*
 * wgmma.c - products of a warpgroup
 *
 * The four warps of a warpgroup start the same products and commit the same groups. When the first
 * warp waits for a group, the shared memory operands of its products are read, once for all warps;
 * each warp multiplies its 16 rows when it waits itself. Until then its sums are poison, and the
 * registers of operand a have not been read.
 */
#include "emulator/wgmma.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/half.h"

/* -------------------------------------------------------------------------- */
/* Life                                                                       */
/* -------------------------------------------------------------------------- */

static void release_product(product *p)
{
    free(p->clock);
    free(p);
}

static void empty(warpgroup *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->products[i])
            release_product(g->products[i]);
    for (int w = 0; w < WARPGROUP; w++)
        while (g->parts[w].sums) {
            sums *s = g->parts[w].sums;
            g->parts[w].sums = s->next;
            free(s);
        }
    memset(g->parts, 0, sizeof g->parts);
    g->count = g->groups = 0;
    g->actor = 0;
}

void wgmma_reset(machine *m)
{
    for (uint32_t i = 0; i < m->cluster * WARPGROUPS_MAX; i++)
        if (m->warpgroups[i])
            empty(m->warpgroups[i]);
}

void wgmma_free(machine *m)
{
    wgmma_reset(m);
    for (uint32_t i = 0; i < m->cluster * WARPGROUPS_MAX; i++)
        if (m->warpgroups[i]) {
            free(m->warpgroups[i]->products);
            free(m->warpgroups[i]->ends);
            free(m->warpgroups[i]);
        }
}

/* The number of a thread's warp in its block. */
static uint32_t warp_of(const machine *m, const thread *t)
{
    return machine_index(m, t) / LANES - t->rank * m->block_warps;
}

/* The warpgroup of a warp; NULL after machine_fail(). */
static warpgroup *group_of(machine *m, const thread *lanes)
{
    uint32_t number = warp_of(m, lanes) / WARPGROUP;
    uint32_t index = lanes->rank * WARPGROUPS_MAX + number;
    if ((number + 1) * WARPGROUP > m->block_warps) {
        machine_fail(m, "%s: thread %s is in no whole warpgroup",
                     machine_site_print(m, machine_site(m, lanes)).text,
                     machine_thread_print(m, machine_index(m, lanes)).text);
        return NULL;
    }
    if (!m->warpgroups[index])
        m->warpgroups[index] = calloc(1, sizeof(warpgroup));
    if (m->warpgroups[index])
        m->warpgroups[index]->base = lanes->base;
    else
        machine_fail(m, "no memory for the emulator");
    return m->warpgroups[index];
}

static uint32_t part_of(const machine *m, const thread *lanes)
{
    return warp_of(m, lanes) % WARPGROUP;
}

/* -------------------------------------------------------------------------- */
/* Start                                                                      */
/* -------------------------------------------------------------------------- */

/* The next product of the warp, created by the first warp of the warpgroup to get there. */
static product *next_product(machine *m, warpgroup *g, const thread *lanes)
{
    const emulator_request *request = lanes->request;
    uint32_t number = g->parts[part_of(m, lanes)].started;
    if (number < g->count)
        return g->products[number];
    product **list = machine_grow(m, g->products, g->count, &g->room, sizeof *list);
    if (!list)
        return NULL;
    g->products = list;
    product *p = malloc(sizeof *p);
    uint32_t *clock = malloc(m->stride * sizeof *clock);
    if (!p || !clock) {
        free(p);
        free(clock);
        machine_fail(m, "no memory for the emulator");
        return NULL;
    }
    memset(clock, 0xff, m->stride * sizeof *clock);
    p->at = machine_site(m, lanes);
    p->n = request->n;
    p->flags = request->x;
    p->desc[0] = request->desc[0];
    p->desc[1] = request->desc[1];
    p->waiting = WARPGROUP;
    p->read = false;
    p->clock = clock;
    g->products[g->count++] = p;
    return p;
}

/* The arguments common to all lanes. */
static void meet_clock(const machine *m, const thread *lanes, uint32_t *restrict clock)
{
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t *restrict own = order_clock(m, machine_index(m, lanes) + i);
        for (uint32_t k = 0; k < m->actors; k++)
            clock[k] = clock[k] > own[k] ? own[k] : clock[k];
    }
}

/* Address of element @column in row @row of the warp's sums. */
static float *register_of(float *const d[LANES], int row, int column)
{
    int lane = row % 8 * 4 + column % 8 / 2;
    return &d[lane][column / 8 * 4 + row / 8 * 2 + column % 2];
}

static bool same_registers(const sums *s, const thread *lanes)
{
    for (int i = 0; i < LANES; i++)
        if (s->d[i] != lanes[i].request->d)
            return false;
    return true;
}

/* The sums named by the warp's lanes, which are poison from now on. */
static sums *sums_of(machine *m, warp_part *part, const thread *lanes)
{
    int n = lanes->request->n;
    for (sums *s = part->sums; s; s = s->next)
        if (same_registers(s, lanes)) {
            if (s->n != n)
                machine_fail(m, "%s: a product of %d columns is added to one of %d",
                             machine_site_print(m, machine_site(m, lanes)).text, n, s->n);
            return s;
        }
    sums *s = malloc(sizeof *s);
    if (!s) {
        machine_fail(m, "no memory for the emulator");
        return NULL;
    }
    s->next = part->sums;
    s->at = machine_site(m, lanes);
    s->n = n;
    s->uses = 0;
    part->sums = s;
    for (int i = 0; i < LANES; i++)
        s->d[i] = lanes[i].request->d;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < n; k++)
            s->value[i][k] = *register_of(s->d, i, k);
    for (int i = 0; i < LANES; i++)
        memset(s->d[i], POISON, (size_t)n / 2 * sizeof(float));
    return s;
}

void wgmma_start(machine *m, thread *lanes)
{
    const emulator_request *request = lanes->request;
    warpgroup *g = group_of(m, lanes);
    product *p = g ? next_product(m, g, lanes) : NULL;
    if (!p)
        return;
    uint32_t w = part_of(m, lanes);
    if (p->at != machine_site(m, lanes) || p->n != request->n || p->flags != request->x ||
        p->desc[0] != request->desc[0] || p->desc[1] != request->desc[1]) {
        machine_fail(m, "%s: thread %s starts another wgmma than its warpgroup, which is at %s",
                     machine_site_print(m, machine_site(m, lanes)).text,
                     machine_thread_print(m, machine_index(m, lanes)).text,
                     machine_site_print(m, p->at).text);
        return;
    }
    if (g->actor == 0)
        g->actor = order_actor(m);
    meet_clock(m, lanes, p->clock);
    p->sums[w] = sums_of(m, &g->parts[w], lanes);
    if (!p->sums[w])
        return;
    p->sums[w]->uses++;
    for (int i = 0; i < LANES; i++)
        p->registers[w][i] = lanes[i].request->a;
    g->parts[w].started++;
}

void wgmma_commit(machine *m, thread *lanes)
{
    warpgroup *g = group_of(m, lanes);
    if (!g)
        return;
    warp_part *part = &g->parts[part_of(m, lanes)];
    uint32_t *list = machine_grow(m, g->ends, g->groups, &g->groups_room, sizeof *list);
    if (!list)
        return;
    g->ends = list;
    if (part->committed == g->groups)
        g->ends[g->groups++] = part->started;
    if (g->ends[part->committed++] != part->started)
        machine_fail(m, "%s: thread %s commits another group than its warpgroup",
                     machine_site_print(m, machine_site(m, lanes)).text,
                     machine_thread_print(m, machine_index(m, lanes)).text);
}

/* -------------------------------------------------------------------------- */
/* Wait                                                                       */
/* -------------------------------------------------------------------------- */

/* Number of groups that must be complete when the warp continues. */
static uint32_t groups_wanted(const warp_part *part, const thread *lanes)
{
    uint32_t left = (uint32_t)lanes->request->n;
    return part->committed > left ? part->committed - left : 0;
}

bool wgmma_ready(machine *m, const thread *lanes)
{
    const warpgroup *g = group_of(m, lanes);
    if (!g)
        return false;
    uint32_t wanted = groups_wanted(&g->parts[part_of(m, lanes)], lanes);
    for (int w = 0; w < WARPGROUP; w++)
        if (g->parts[w].committed < wanted)
            return false;
    return true;
}

static void multiply(product *p, uint32_t w)
{
    sums *s = p->sums[w];
    int n = p->n;
    double sum[N_MAX];
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < n; j++)
            sum[j] = p->flags & EMULATOR_WGMMA_ADD ? (double)s->value[i][j] : 0.0;
        for (int k = 0; k < K; k++) {
            double a = p->a[w * ROWS + (uint32_t)i][k];
            const double *b = p->b[k];
            for (int j = 0; j < n; j++)
                sum[j] += a * b[j];
        }
        for (int j = 0; j < n; j++)
            s->value[i][j] = (float)sum[j];
    }
}

/* Writes sums without pending products to their registers. */
static void deliver(machine *m, warp_part *part)
{
    for (sums **link = &part->sums; *link;) {
        sums *s = *link;
        bool poison = true;
        if (s->uses > 0) {
            link = &s->next;
            continue;
        }
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < s->n; k++) {
                float *d = register_of(s->d, i, k);
                poison = poison && half_bits(*d) == 0xffffffffu;
                *d = s->value[i][k];
            }
        if (!poison)
            machine_fail(m, "%s: sums of wgmma are written before it is waited for",
                         machine_site_print(m, s->at).text);
        *link = s->next;
        free(s);
    }
}

static bool finish_product(machine *m, warpgroup *g, uint32_t w, uint32_t number, uint32_t group)
{
    product *p = g->products[number];
    if (!wgmma_read_operands(m, g, p, group))
        return false;
    if (!p->desc[0])
        wgmma_gather_a(p, w);
    multiply(p, w);
    p->sums[w]->uses--;
    if (--p->waiting == 0) {
        release_product(p);
        g->products[number] = NULL;
    }
    return true;
}

void wgmma_finish(machine *m, thread *lanes)
{
    warpgroup *g = group_of(m, lanes);
    uint32_t w = part_of(m, lanes);
    warp_part *part = &g->parts[w];
    uint32_t wanted = groups_wanted(part, lanes);
    for (; part->done_groups < wanted; part->done_groups++)
        for (; part->done < g->ends[part->done_groups]; part->done++)
            if (!finish_product(m, g, w, part->done, part->done_groups))
                return;
    deliver(m, part);
    for (uint32_t i = 0; g->actor && i < LANES; i++) {
        uint32_t *known = &order_clock(m, machine_index(m, lanes) + i)[g->actor];
        *known = *known < part->done_groups ? part->done_groups : *known;
    }
}

void wgmma_left(machine *m, thread *t)
{
    uint32_t warp = warp_of(m, t);
    const warpgroup *g = m->warpgroups[t->rank * WARPGROUPS_MAX + warp / WARPGROUP];
    const warp_part *part = g ? &g->parts[warp % WARPGROUP] : NULL;
    if (part && part->done < part->started)
        machine_fail(m, "%s: thread %s leaves before its warp has waited for this",
                     machine_site_print(m, g->products[part->done]->at).text,
                     machine_thread_print(m, machine_index(m, t)).text);
}
