/*
 * code.c - device code that was compiled elsewhere, as a plan of this process
 */
#include "code.h"

#include <stdio.h>

heed_status cli_plan_code(heed_plan **plan, heed_context *context, const heed_problem *problem,
                          const char *name, const heed_launch_facts *launch, const heed_cubin *code,
                          char hash[LAB_RECORD_HASH_SIZE])
{
    heed_cubin cubin = { .data = code->data, .size = code->size, .ptx = code->ptx };
    lab_record_hash(cubin.data, cubin.size, hash);
    snprintf(cubin.key, sizeof cubin.key, "%s", hash);
    return heed_plan_create_foreign(plan, context, problem, name, launch, &cubin);
}
