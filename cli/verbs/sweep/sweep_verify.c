/*
 * sweep_verify.c - the best points go through all gates before they may be called that
 *
 * heed verify does that, in a process of its own: a process that has talked to CUDA can have no
 * children that do, and what crashes there leaves this one alone.
 */
#include "sweep.h"

static const lab_sweep_proof *find_proof(const lab_sweep *run, int64_t index)
{
    for (size_t i = 0; i < run->proof_count; i++)
        if (run->proofs[i].index == index)
            return &run->proofs[i];
    return NULL;
}

const char *sweep_proof_word(const lab_sweep *run, int64_t index)
{
    const lab_sweep_proof *proof = find_proof(run, index);
    return !proof || proof->passed == proof->refused ? "unknown"
           : proof->passed                           ? "all"
                                                     : "refused";
}

static void keep_proof(lab_sweep *run, int64_t index)
{
    if (run->proof_count < LAB_SWEEP_PROOFS)
        run->proofs[run->proof_count++] = (lab_sweep_proof){ index, run->verified, run->refuted };
}

cli_exit sweep_verify(lab_sweep *run, int64_t index)
{
    const lab_sweep_proof *proof = find_proof(run, index);
    if (proof && proof->passed != proof->refused) {
        run->verified = proof->passed;
        run->refuted = proof->refused;
        return CLI_OK;
    }
    const lab_point point = lab_space_at(&run->space, index);
    const char *specs[LAB_SEARCH_SHAPES];
    char name[HEED_NAME_SIZE];
    lab_error error;
    if (lab_space_name(&run->space, &point, run->kernel, name, &error) != HEED_OK)
        return CLI_ENVIRONMENT;
    for (size_t i = 0; i < run->problems.count; i++)
        specs[i] = run->shapes[i].spec;
    int code = cli_prove(&run->options.machine, name, specs, run->problems.count, 0);
    run->verified = code == CLI_OK;
    run->refuted = code == CLI_VERIFY_FAILED || code == CLI_FINDING;
    if (code == CLI_INTERRUPTED || cli_interrupted())
        return CLI_INTERRUPTED;
    keep_proof(run, index);
    if (run->refuted)
        cli_error("%s does not pass verification", name);
    else if (!run->verified)
        cli_warning("%s could not be verified: heed verify returned %d", name, code);
    return CLI_OK;
}

bool sweep_plan_passes(const lab_sweep *run, size_t number)
{
    const lab_sweep_shape *shape = &run->shapes[number];
    const char *spec = shape->spec;
    int code = cli_prove(&run->options.machine, shape->usual, &spec, 1, 0);
    if (code != CLI_OK && !cli_interrupted())
        cli_warning("%s: %s, which heed plans, is not ranked: 'heed verify --proof' returned %d",
                    spec, shape->usual, code);
    return code == CLI_OK;
}
