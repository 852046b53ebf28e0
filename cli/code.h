/*
 * code.h - device code that was compiled elsewhere, as a plan of this process
 */
#ifndef CLI_CODE_H
#define CLI_CODE_H

#include "record/record.h"
#include "src/cuda/facts.h"
#include "trial/candidate.h"

/* cli_plan_code() makes a plan for @problem out of device code that was compiled, @size bytes, @ptx
 * or a cubin, launched as @launch says; it answers for @name. @hash becomes that of the code. It
 * executes in this process, so it should have done well in one of its own before. Returns as
 * heed_plan_create() does. */
heed_status cli_plan_code(heed_plan **plan, heed_context *context, const heed_problem *problem,
                          const char *name, const heed_launch_facts *launch, const heed_cubin *code,
                          char hash[LAB_RECORD_HASH_SIZE]);

#endif /* CLI_CODE_H */
