/*
 * tensor.c - copies of boxes between tensors and shared memory
 *
 * A copy completes some turns after it was started, in random order. Its source is read at that
 * time; until then its target is poison.
 */
#include "emulator/machine.h"
#include "emulator/map.h"

#include <string.h>

#define MAGIC 0x70616d20646565ull
#define CHUNK 16
#define BOX_ALIGN 8 /* rows */
#define TURNS_MAX 6 /* that a copy may take at most */

/* The content of a map. */
typedef struct tensor_map {
    uint64_t magic;
    uint64_t base;
    int64_t dims[4];
    int64_t strides[3];
    int32_t box[4];
} tensor_map;

_Static_assert(sizeof(tensor_map) <= sizeof(heed_cuda_map), "it must fit");

typedef struct tensor_copy {
    tensor_map map;
    int at[4];
    uint32_t smem;
    uint32_t bytes;
    uint32_t due;   /* turn */
    uint32_t phase; /* of the barrier */
    mbarrier *barrier;
    thread *thread; /* for a store; NULL: a load */
    site site;
} tensor_copy;

void emulator_map(heed_cuda_map *map, const void *base, const int64_t dims[4],
                  const int64_t strides[3], const int box[4])
{
    tensor_map it = { .magic = MAGIC, .base = (uintptr_t)base };
    for (int i = 0; i < 4; i++) {
        it.dims[i] = dims[i];
        it.box[i] = box[i];
        if (i < 3)
            it.strides[i] = strides[i];
    }
    memset(map, 0, sizeof *map);
    memcpy(map, &it, sizeof it);
}

/* Bytes of a row of a box. */
static uint32_t row_bytes(const tensor_map *map)
{
    return (uint32_t)map->box[0] * GRANULE;
}

/* Returns whether the accelerator supports the map. */
static bool fits(const tensor_map *map)
{
    bool fine = map->base % 16 == 0 && (map->box[0] == 8 || map->box[0] == 16 ||
                                        map->box[0] == 32 || map->box[0] == HEED_MAP_COLUMNS);
    for (int i = 0; i < 4; i++)
        fine = fine && map->dims[i] > 0 && map->dims[i] < INT64_C(1) << 32 && map->box[i] > 0 &&
               map->box[i] <= 256;
    for (int i = 0; i < 3; i++)
        fine = fine && map->strides[i] > 0 && map->strides[i] < INT64_C(1) << 40 &&
               map->strides[i] % 16 == 0;
    return fine;
}

/* -------------------------------------------------------------------------- */
/* Boxes                                                                      */
/* -------------------------------------------------------------------------- */

/* Row @index of the box in the tensor; NULL if out of bounds. */
static uint8_t *row_of(const tensor_copy *c, uint32_t index)
{
    const tensor_map *map = &c->map;
    int64_t offset = 0;
    for (int i = 1; i < 4; i++) {
        int64_t x = c->at[i] + (int64_t)(index % (uint32_t)map->box[i]);
        index /= (uint32_t)map->box[i];
        if (x < 0 || x >= map->dims[i])
            return NULL;
        offset += x * map->strides[i - 1];
    }
    return (uint8_t *)(uintptr_t)map->base + offset;
}

static void move_row(const tensor_copy *c, uint8_t *shared, uint32_t index)
{
    uint8_t *row = row_of(c, index);
    uint32_t bytes = row_bytes(&c->map), turned = bytes - CHUNK;
    for (int i = 0; i < c->map.box[0]; i++) {
        uint32_t smem = c->smem + index * bytes + (uint32_t)i * GRANULE;
        uint8_t *in = shared + ((smem ^ (smem >> 3 & turned)) - EMULATOR_SHARED_BASE);
        int64_t column = (int64_t)c->at[0] + i;
        bool there = row && column >= 0 && column < c->map.dims[0];
        if (there && c->thread)
            memcpy(row + column * GRANULE, in, GRANULE);
        else if (there)
            memcpy(in, row + column * GRANULE, GRANULE);
        else if (!c->thread)
            memset(in, 0, GRANULE);
    }
}

static void deliver(machine *m, size_t index)
{
    tensor_copy c = m->tensor_copies[index];
    m->tensor_copies[index] = m->tensor_copies[--m->tensor_count];
    for (uint32_t i = 0; i < c.bytes / row_bytes(&c.map); i++)
        move_row(&c, m->shared, i);
    if (c.thread) {
        c.thread->stores_left--;
        return;
    }
    if (c.barrier->phase != c.phase)
        machine_fail(m, "%s: the phase of barrier %s is over before this copy is done",
                     machine_site_print(m, c.site).text,
                     machine_shared_print(m, c.barrier->smem).text);
    mbarrier_bytes(m, c.barrier, c.bytes);
}

bool tensor_deliver(machine *m, bool any)
{
    bool moved = false;
    for (size_t i = 0; i < m->tensor_count && !m->report->error[0];) {
        if (m->tensor_copies[i].due > m->turn) {
            i++;
            continue;
        }
        deliver(m, i);
        moved = true;
    }
    if (!moved && any && m->tensor_count > 0) {
        deliver(m, machine_random(m, (uint32_t)m->tensor_count));
        moved = true;
    }
    return moved;
}

/* -------------------------------------------------------------------------- */
/* Questions of threads                                                       */
/* -------------------------------------------------------------------------- */

/* Starts a copy; NULL after machine_fail(). */
static tensor_copy *start(machine *m, const access *it, const void *map, const int at[4])
{
    tensor_copy c = { .smem = it->smem, .site = it->at };
    tensor_copy *list = machine_grow(m, m->tensor_copies, m->tensor_count, &m->tensor_room,
                                     sizeof *list);
    if (!list)
        return NULL;
    m->tensor_copies = list;
    memcpy(&c.map, map, sizeof c.map);
    if ((uintptr_t)map % 64 != 0 || c.map.magic != MAGIC || !fits(&c.map))
        machine_fail(m, "%s: thread %s copies with what is no map",
                     machine_site_print(m, it->at).text, machine_thread_print(m, it->actor).text);
    c.bytes = (uint32_t)c.map.box[0] * GRANULE;
    for (int i = 0; i < 4; i++) {
        c.at[i] = at[i];
        c.bytes *= i > 0 ? (uint32_t)c.map.box[i] : 1;
    }
    c.due = m->turn + machine_random(m, TURNS_MAX + 1);
    if (!shared_locate(it, c.bytes, BOX_ALIGN * row_bytes(&c.map)))
        return NULL;
    list[m->tensor_count] = c;
    return &list[m->tensor_count++];
}

void emulator_tensor_load(uint32_t smem, const void *map, uint32_t barrier, const int at[4])
{
    machine *m = machine_here();
    thread *t = m->running;
    access it = shared_access(m, t, smem, "copies to");
    access counted = shared_access(m, t, barrier, "counts a copy at");
    mbarrier *b = mbarrier_at(&counted);
    tensor_copy *c = start(m, &it, map, at);
    if (!b || !c)
        return;
    mbarrier_count_copy(&counted, b);
    c->barrier = b;
    c->phase = b->phase;
    it.async = true;
    order_write(&it, c->bytes, PLAIN, b->actor, b->phase + 1);
    memset(m->shared + (it.smem - EMULATOR_SHARED_BASE), POISON, c->bytes);
}

void emulator_tensor_store(const void *map, uint32_t smem, const int at[4])
{
    machine *m = machine_here();
    thread *t = m->running;
    access it = shared_access(m, t, smem, "stores from");
    tensor_copy *c = start(m, &it, map, at);
    if (!c)
        return;
    c->thread = t;
    if (t->stores_actor == 0)
        t->stores_actor = order_actor(m);
    t->stores_open++;
    t->stores_left++;
    t->stores_at = it.at;
    it.async = true;
    it.actor = t->stores_actor;
    it.tick = t->stores_group + 1;
    order_read(&it, c->bytes);
}

void emulator_bulk_commit(void)
{
    thread *t = machine_here()->running;
    t->stores_group++;
    t->stores_open = 0;
}

void emulator_bulk_wait(void)
{
    machine *m = machine_here();
    thread *t = m->running;
    if (t->stores_open > 0)
        machine_fail(m, "%s: thread %s waits for stores, but that at %s is not in a group",
                     machine_site_print(m, machine_site(m, t)).text,
                     machine_thread_print(m, machine_index(m, t)).text,
                     machine_site_print(m, t->stores_at).text);
    t->waits = (waits){ .barrier = NULL };
    if (t->stores_left > 0) {
        t->state = WAITING;
        machine_give_way(m);
    }
    if (t->stores_actor)
        order_clock(m, machine_index(m, t))[t->stores_actor] = t->stores_group;
}

void tensor_left(machine *m, thread *t)
{
    uint32_t self = machine_index(m, t);
    if (t->stores_open > 0 ||
        (t->stores_actor && order_clock(m, self)[t->stores_actor] < t->stores_group))
        machine_fail(m, "%s: thread %s leaves before this store has read shared memory",
                     machine_site_print(m, t->stores_at).text, machine_thread_print(m, self).text);
}
