/*
 * roofline_machine.c - a GPU that need not be there
 */
#include <string.h>

#include "base/suggest.h"
#include "roofline.h"
#include "src/cuda/facts.h"

cli_exit roofline_machine_find(heed_gpu *gpu, const char *name)
{
    char list[256] = "";
    size_t length = 0;
    const char *brief;
    lab_suggestion suggestion = lab_suggest(name);
    if (heed_gpu_find(gpu, name))
        return CLI_OK;
    for (size_t i = 0; length < sizeof list && heed_gpu_at(gpu, i, &brief); i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                   brief);
        lab_suggest_consider(&suggestion, brief);
    }
    if (suggestion.best)
        cli_error("--machine: heed knows no GPU '%s'; did you mean %s? It knows %s", name,
                  suggestion.best, list);
    else
        cli_error("--machine: heed knows no GPU '%s'; it knows %s", name, list);
    return CLI_USAGE;
}

roofline_prediction roofline_machine_predict(const heed_gpu *gpu, const heed_problem *problem)
{
    roofline_prediction best = { .seconds = -1 };
    for (size_t i = 0; heed_kernel_name(i); i++) {
        heed_cuda_facts facts;
        if (heed_cuda_facts_for(heed_kernel_name(i), problem, gpu, &facts) != HEED_OK ||
            (*best.kernel && facts.seconds >= best.seconds))
            continue;
        best.seconds = facts.seconds;
        snprintf(best.kernel, sizeof best.kernel, "%s", facts.name);
    }
    return best;
}
