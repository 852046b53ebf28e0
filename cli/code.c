/*
 * code.c - device code that was compiled elsewhere, as a plan of this process
 */
#include "code.h"

#include <stdio.h>

heed_status cli_plan_code(heed_plan **plan, heed_context *context, const heed_problem *problem,
                          const char *name, const lab_launch *launch, const heed_cubin *code,
                          char hash[LAB_RECORD_HASH_SIZE])
{
    heed_cuda_facts facts = { .entry = launch->entry,
                              .registers = launch->registers,
                              .threads = launch->threads,
                              .smem = launch->smem,
                              .rows = launch->rows,
                              .splits = launch->splits,
                              .mapped = launch->mapped,
                              .aligned = launch->aligned,
                              .window = launch->window,
                              .in_turn = launch->in_turn,
                              .paired = launch->paired,
                              .resident = launch->resident };
    heed_cubin cubin = { .data = code->data, .size = code->size, .ptx = code->ptx };
    snprintf(facts.name, sizeof facts.name, "%.95s", name);
    lab_record_hash(cubin.data, cubin.size, hash);
    snprintf(cubin.key, sizeof cubin.key, "%s", hash);
    return heed_plan_create_foreign(plan, context, problem, &facts, &cubin);
}
