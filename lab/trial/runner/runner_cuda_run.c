/*
 * runner_cuda_run.c - launches a CUDA candidate on tensors in device memory, on request
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/trial/runner/runner_cuda.h"
#include "lab/trial/wire.h"
#include "src/cuda/facts.h"

/* Granularity of memory between walls. */
#define PIECE ((size_t)2 << 20)
#define ALIGNMENT ((size_t)256)

/* The copy of a room in device memory. */
typedef struct mirror {
    void *memory; /* NULL: none */
    size_t size;
    bool walled;
    unsigned char *room;
    uint64_t start; /* start of that room */
} mirror;

typedef struct runner {
    size_t arena_size;
    unsigned char *inputs, *outputs;
    heed_context *context;
    heed_launch_facts launch;
    heed_cubin cubin;
    heed_plan *plan;
    lab_wire_orders opened;
    mirror mirrors[LAB_WIRE_SETS][LAB_WIRE_ROOMS];
} runner;

static unsigned char *arena_of(const runner *it, int index)
{
    return index < LAB_WIRE_FIRST_OUTPUT ? it->inputs : it->outputs;
}

static heed_strides strides_of(const heed_candidate_strides *strides)
{
    return (heed_strides){ strides->batch, strides->seq, strides->head };
}

static heed_problem problem_of(const heed_candidate_problem *p)
{
    return (heed_problem){ .size = sizeof(heed_problem),
                           .type = (heed_type)p->type,
                           .mask = (heed_mask)p->mask,
                           .batch = p->batch,
                           .heads_q = p->heads_q,
                           .heads_kv = p->heads_kv,
                           .seq_q = p->seq_q,
                           .seq_k = p->seq_k,
                           .dim_qk = p->dim_qk,
                           .dim_v = p->dim_v,
                           .scale = p->scale,
                           .accumulate = p->accumulate_f16 ? HEED_ACC_F16 : HEED_ACC_F32,
                           .q = strides_of(&p->q),
                           .k = strides_of(&p->k),
                           .v = strides_of(&p->v),
                           .o = strides_of(&p->o),
                           .align = (heed_align)p->align,
                           .window = { .sides = (unsigned)p->window_sides,
                                       .left = p->window_left,
                                       .right = p->window_right },
                           .chunk = p->chunk,
                           .products = p->products };
}

/* Makes the plan for the problem of the orders. If the candidate cannot do it, reports that and
 * returns false.
 */
static bool make_plan(runner *it)
{
    const lab_wire_orders *orders = (const lab_wire_orders *)(const void *)it->inputs;
    const heed_problem problem = problem_of(&orders->problem);
    heed_plan *plan;
    heed_status status = heed_plan_create_foreign(&plan, it->context, &problem, "candidate",
                                                  &it->launch, &it->cubin);

    heed_plan_destroy(it->plan);
    it->plan = plan;
    if (status == HEED_ERR_UNSUPPORTED)
        runner_say("unsupported");
    else if (status != HEED_OK)
        runner_fail(status);
    return status == HEED_OK;
}

static void free_mirrors(runner *it)
{
    for (int i = 0; i < LAB_WIRE_SETS; i++)
        for (int room = 0; room < LAB_WIRE_ROOMS; room++) {
            mirror *m = &it->mirrors[i][room];
            if (m->memory && m->walled)
                heed_device_release(it->context, m->memory, m->size);
            else if (m->memory)
                heed_device_free(it->context, m->memory);
            *m = (mirror){ .memory = NULL };
        }
}

/* Allocates memory for @room with the upper wall as near as the alignment of its start allows. */
static void make_mirror(const runner *it, const lab_wire_room *room, mirror *m)
{
    size_t lean = room->start % ALIGNMENT;
    size_t size = (room->size + lean + ALIGNMENT + PIECE - 1) / PIECE * PIECE;

    *m = (mirror){ .size = size, .walled = true, .start = room->start };
    heed_status status = heed_device_reserve(it->context, size, true, &m->memory);
    if (status != HEED_OK && status != HEED_ERR_LOST && status != HEED_ERR_NO_MEMORY) {
        m->walled = false;
        status = heed_device_allocate(it->context, size, &m->memory);
    }
    runner_must(status);
    size_t slack = (size - room->size) / ALIGNMENT * ALIGNMENT;
    slack = slack + lean + room->size > size ? slack - ALIGNMENT : slack;
    m->room = (unsigned char *)m->memory + slack + lean;
}

static void place(runner *it)
{
    free_mirrors(it);
    memcpy(&it->opened, it->inputs, sizeof it->opened);
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int index = 0; index < LAB_WIRE_ROOMS; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            mirror *m = &it->mirrors[i][index];
            if (room->size > 0)
                make_mirror(it, room, m);
        }
    if (it->plan || make_plan(it))
        runner_say("placed");
}

/* Moves the mirror of @room, one of those with @index, to position @i. */
static void find_mirror(runner *it, int i, int index, const lab_wire_room *room)
{
    for (int j = i; j < it->opened.count && j < LAB_WIRE_SETS; j++)
        if (it->mirrors[j][index].memory && it->mirrors[j][index].start == room->start) {
            mirror other = it->mirrors[i][index];
            it->mirrors[i][index] = it->mirrors[j][index];
            it->mirrors[j][index] = other;
            return;
        }
    runner_fail_system("a room that is not open");
}

/* Copies the values to the device, to the positions in the current orders. */
static void upload(runner *it)
{
    memcpy(&it->opened, it->inputs, sizeof it->opened);
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int index = 0; index < LAB_WIRE_ROOMS; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            if (room->size == 0)
                continue;
            find_mirror(it, i, index, room);
            runner_must(heed_device_upload(it->context, it->mirrors[i][index].room,
                                           arena_of(it, index) + room->start, room->size));
        }
    runner_must(heed_device_wait(it->context));
}

static void *data_of(const runner *it, int set, int index)
{
    const lab_wire_room *room = &it->opened.set[set].room[index];

    return room->size > 0 ? it->mirrors[set][index].room + (room->data - room->start) : NULL;
}

/* A heed_work_fn: computes set @index. */
static heed_status compute(void *data, int index, void *stream)
{
    const runner *it = data;

    return heed_execute(it->plan,
                        &(heed_buffers){ .size = sizeof(heed_buffers),
                                         .q = data_of(it, index, LAB_WIRE_Q),
                                         .k = data_of(it, index, LAB_WIRE_K),
                                         .v = data_of(it, index, LAB_WIRE_V),
                                         .o = data_of(it, index, LAB_WIRE_O),
                                         .lse = data_of(it, index, LAB_WIRE_LSE),
                                         .workspace = data_of(it, index, LAB_WIRE_WORKSPACE),
                                         .workspace_size = it->opened.set[index].workspace_size,
                                         .stream = stream });
}

static void download(const runner *it)
{
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int index = 0; index < LAB_WIRE_ROOMS; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            if (room->size > 0 && index >= LAB_WIRE_FIRST_OUTPUT)
                runner_must(heed_device_download(it->context, arena_of(it, index) + room->start,
                                                 it->mirrors[i][index].room, room->size));
        }
}

/* Returns the name of an input that was written to, if any: inputs cannot be protected on a device.
 */
static const char *find_changed_input(const runner *it)
{
    static const char *const names[] = { "Q", "K", "V" };
    const char *changed = NULL;

    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS && !changed; i++)
        for (int index = 0; index < LAB_WIRE_FIRST_OUTPUT && !changed; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            unsigned char *now = room->size > 0 ? malloc(room->size) : NULL;
            if (!now)
                continue;
            runner_must(
                heed_device_download(it->context, now, it->mirrors[i][index].room, room->size));
            if (memcmp(now, it->inputs + room->start, room->size) != 0)
                changed = names[index];
            free(now);
        }
    return changed;
}

static void run(runner *it)
{
    heed_replay replay;
    double seconds = 0;

    if (!it->plan)
        runner_fail_system("run before place");
    upload(it);
    int count = it->opened.count;
    runner_must(heed_replay_create(&replay, it->context, compute, it, count));
    runner_must(heed_replay_run(&replay, &seconds));
    runner_must(heed_device_wait(it->context));
    heed_replay_destroy(&replay);
    const char *changed = find_changed_input(it);
    if (changed) {
        runner_say("spoiled %s", changed);
        _exit(1);
    }
    download(it);
    runner_say("done %.0f", seconds * count * 1e9);
}

static void serve(runner *it)
{
    char line[LAB_WIRE_LINE];

    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "size\n") == 0) {
            if (make_plan(it))
                runner_say("size %zu", heed_plan_workspace_size(it->plan));
        } else if (strcmp(line, "place\n") == 0)
            place(it);
        else if (strcmp(line, "run\n") == 0)
            run(it);
        else
            runner_fail_system("an unknown request");
    }
}

static void take_facts(runner *it)
{
    lab_wire_launch launch;
    size_t size;

    memcpy(&launch, &((const lab_wire_orders *)(const void *)it->inputs)->launch, sizeof launch);
    launch.entry[sizeof launch.entry - 1] = launch.device[sizeof launch.device - 1] = '\0';
    char *entry = strdup(launch.entry);
    if (!entry)
        runner_fail_system("a name");
    it->launch = launch.facts;
    it->launch.entry = entry;
    it->cubin.data = (unsigned char *)runner_read_file(LAB_WIRE_CODE, &size);
    it->cubin.size = size;
    it->cubin.ptx = launch.ptx;
    snprintf(it->cubin.key, sizeof it->cubin.key, "candidate");
    it->context = runner_open_device(launch.device);
}

void runner_run_orders(size_t arena_size)
{
    static runner it;

    it.arena_size = arena_size;
    it.inputs = mmap(NULL, arena_size, PROT_READ, MAP_SHARED, LAB_WIRE_INPUTS, 0);
    it.outputs = mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_SHARED, LAB_WIRE_OUTPUTS, 0);
    if (it.inputs == MAP_FAILED || it.outputs == MAP_FAILED)
        runner_fail_system("the tensors' memory");
    take_facts(&it);
    runner_say("ready %" PRIxPTR " %" PRIxPTR " %zx", (uintptr_t)it.inputs, (uintptr_t)it.outputs,
               (size_t)LAB_WIRE_LAYOUT);
    serve(&it);
}
