/*
 * suite.c - the kernels of the suite as subjects of verification
 */
#include "lab/verify/mutants/suite.h"

#include <stdio.h>

#include "lab/tensor/random.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/mutants/steps.h"

#include "commit.h" /* made by the build: HEED_GATES */

static const lab_mutant device_controls[] = {
    { .name = "plain", .does = "has no mistake", .unlocked = true },
    { .name = NULL },
};

#define TABLES(...) ((const lab_mutant *const[]){ __VA_ARGS__, NULL })

static const lab_mutant *const *const lists[] = {
    [LAB_MUTANTS] = TABLES(lab_mutants_keys, lab_mutants_logits, lab_mutants_operands,
                           lab_mutants_append, lab_mutants_softmax, lab_mutants_output,
                           lab_mutants_memory, lab_mutants_rows, lab_mutants_values,
                           lab_mutants_cheats, lab_mutants_prefix),
    [LAB_CONTROLS] = TABLES(lab_controls),
    [LAB_SOURCES] = TABLES(lab_mutants_sources),
    [LAB_DEVICE_MUTANTS] = TABLES(lab_mutants_device),
    [LAB_DEVICE_CONTROLS] = TABLES(device_controls),
};

/* Problems for controls: tails, groups, masks, empty rows, gaps, other dimension orders,
 * half-precision sums, and products of rounded operands. */
static const char *const scenes[] = {
    "b2 h2 s17/33 d24 f32",
    "b1 h4/2 s40 d16/5 f16 causal",
    "b2 h2 s12/30 d33 bf16 causal=br",
    "b1 h1 s30/12 d8 f32 causal=br",
    "b1 h1 s5 d1 f16 causal",
    "b2 h1 s9/20 d3 f32 causal=tl scale=-0.7",
    "b2 h2 s11 d7 bf16 q=300:20:8 k=0:21:9 v=350:22:10 o=400:23:11",
    "b1 h1 s1 d1 bf16",
    "b1 h2 s9 d8 f32 causal k=100:0:16",
    "b2 h2 s9 d8 bf16 causal k=480:1:16 v=480:1:16",
    "b1 h2 s10/130 d72/40 f16 acc=f16",
    "b2 h1 s30 d64 f16 causal acc=f16",
    "b1 h1 s30 d3/1 f16 causal acc=f16 scale=-2",
    "b1 h1 s2/600 d128 f16 acc=f16",
    "b2 h2 s17/33 d24 f32 products=tf32",
    "b1 h1 s2/600 d128/72 f32 products=tf32",
    "b1 h1 s4/600 d3/7 f32 products=bf16x3 scale=0.500980377",
    "b1 h1 s30 d3/1 f32 causal products=tf32 scale=-2",
    "b1 h4/2 s40 d16/5 f32 causal=br products=tf32 alibi softcap=3",
    "b2 h1 s12/130 d40 f32 products=bf16x3",
    "b2 h2 s17/33 d24 f32 bias=f16:hq sinks window=9:4 align=br",
    "b1 h4/2 s40 d16/5 f16 causal alibi softcap=3",
    "b2 h2 s24 d8 bf16 shown=bits sinks=bh starts",
    "b3 h4/2 s5/40 d8 f16 lengths causal=br alibi",
    "b3 h4/2 s5/40 d8 f16 lengths causal=br paged=8/20",
    "b3 h4/2 s9/20 d8 f16 varlen=17/40 causal=br",
    "b3 h4/2 s5/40 d8 f16 lengths causal=br append=3 rotary=6 paged=8/20",
    "b3 h4/2 s5/40 d8 f16 lengths causal=br prefix=16 paged=8/11",
    ("b2 h2 s20 d8 f32 chunk=6 array=doc:i32:2x20 score=s-0.5*abs(p-k)/(1+head) "
     "visible=doc[batch,k]==doc[batch,q]||k%3==0"),
};

static const char *const device_scenes[] = {
    "b1 h2 s17/40 d8/16 f16",
    "b2 h4/2 s9/70 d8/16 f16 causal=br",
    "b1 h2 s20/9 d8/16 f16 causal=br",
    "b1 h3 s1/100 d8/16 f16",
    "b2 h1 s33/17 d8/16 f16 causal=tl scale=-0.3",
};

const lab_mutant *lab_mutant_at(lab_suite_list list, size_t index)
{
    for (const lab_mutant *const *table = lists[list]; *table; table++)
        for (const lab_mutant *mutant = *table; mutant->name; mutant++)
            if (index-- == 0)
                return mutant;
    return NULL;
}

const char *lab_scene_at(bool device, size_t index)
{
    size_t count = device ? sizeof device_scenes / sizeof *device_scenes
                          : sizeof scenes / sizeof *scenes;
    return index < count ? (device ? device_scenes : scenes)[index] : NULL;
}

/* ---------------------------------------------------------------------------------------------- */
/* Digest                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static uint64_t add_text(uint64_t digest, const char *text)
{
    for (; *text; text++)
        digest = lab_random_bits(digest, (unsigned char)*text);
    return lab_random_bits(digest, 256); /* end of the text */
}

uint64_t lab_suite_digest(void)
{
    static const lab_suite_list wrong[] = { LAB_MUTANTS, LAB_DEVICE_MUTANTS };
    uint64_t digest = add_text(0, HEED_GATES);
    const lab_mutant *m;
    for (size_t i = 0; lab_gate_at(i); i++)
        digest = add_text(digest, lab_gate_at(i)->name);
    for (size_t list = 0; list < 2; list++)
        for (size_t i = 0; (m = lab_mutant_at(wrong[list], i)); i++) {
            const char *const texts[] = { m->name, m->spec, m->inputs, m->gate };
            for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
                digest = add_text(digest, texts[t]);
        }
    for (size_t i = 0; (m = lab_mutant_at(LAB_CONTROLS, i)); i++)
        digest = add_text(digest, m->name);
    for (int device = 0; device < 2; device++)
        for (size_t i = 0; lab_scene_at(device, i); i++)
            digest = add_text(digest, lab_scene_at(device, i));
    return add_text(digest, lab_device_source());
}

/* ---------------------------------------------------------------------------------------------- */
/* Subjects                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

struct lab_actor {
    const lab_behaviour *behaviour;
    heed_problem problem; /* prepared last */
    mutant_memory memory;
};

lab_actor *lab_actor_create(const lab_behaviour *behaviour)
{
    lab_actor *actor = calloc(1, sizeof *actor);
    if (!actor)
        return NULL;
    actor->behaviour = behaviour;
    actor->memory.role = behaviour->role;
    return actor;
}

void lab_actor_destroy(lab_actor *actor)
{
    if (!actor)
        return;
    free(actor->memory.o);
    free(actor->memory.lse);
    free(actor);
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    lab_actor *actor = data;
    actor->problem = *problem;
    actor->memory.since = 0;
    snprintf(needs->name, sizeof needs->name, "suite");
    needs->workspace_size = actor->behaviour->workspace;
    needs->deterministic = !actor->behaviour->random;
    needs->seconds = -1;
    return HEED_OK;
}

static void behave(lab_actor *actor, const heed_problem *problem, const heed_buffers *buffers)
{
    const lab_behaviour *behaviour = actor->behaviour;
    heed_problem misread = *problem;
    if (behaviour->misread) {
        behaviour->misread(&misread);
        mutant_plain(&misread, buffers);
    } else if (behaviour->run) {
        behaviour->run(problem, buffers);
    } else if (behaviour->call) {
        actor->memory.problem = problem;
        actor->memory.buffers = buffers;
        behaviour->call(&actor->memory);
    } else {
        mutant_run_by(problem, buffers, behaviour);
    }
}

void lab_actor_run(lab_actor *actor, const heed_buffers *buffers)
{
    mutant_rest rest;
    if (actor->problem.append > 0 && !actor->behaviour->appends) {
        mutant_append(&rest, &actor->problem, buffers);
        behave(actor, &rest.problem, &rest.buffers);
        free(rest.queries);
    } else {
        behave(actor, &actor->problem, buffers);
    }
    actor->memory.calls++;
    actor->memory.since++;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    lab_actor_run(data, buffers);
    return HEED_OK;
}

lab_subject lab_actor_subject(lab_actor *actor)
{
    return (lab_subject){ .data = actor, .prepare = prepare, .run = run };
}
