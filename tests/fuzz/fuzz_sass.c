/*
 * fuzz_sass.c - arbitrary disassembly
 */
#include <stdlib.h>
#include <string.h>

#include "lab/inspect/findings.h"
#include "lab/inspect/sass.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const lab_sass *sass)
{
    int64_t sum = 0;
    for (int i = 0; i < LAB_SASS_CLASSES; i++)
        sum += sass->all.of[i];
    require(sum == sass->all.total && sum > 0, "each instruction is of one class");
    require(sass->main.total <= sum && sass->producer.total <= sum, "loops have no more than all");
    for (size_t i = 0; i < sass->loop_count; i++) {
        const lab_sass_loop *loop = &sass->loops[i];
        require(loop->parent >= -1 && loop->parent < (int)i, "outer loops come first");
        require(loop->depth == (loop->parent < 0 ? 1 : sass->loops[loop->parent].depth + 1),
                "a loop is one deeper than that around it");
        require(loop->counts.total > 0, "a loop has instructions");
    }
    require(sass->banks.ways >= 0 && sass->banks.ways <= 32, "at most all lanes conflict");
    require((sass->banks.known > 0) == (sass->banks.ways > 0), "known accesses have a worst");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_sass sass;
    lab_error error = { "" };
    lab_code_finding findings[LAB_CODE_FINDINGS_MAX];
    char *text = calloc(size + 1, 1);
    require(text != NULL, "there is memory");
    if (size > 0)
        memcpy(text, data, size);
    heed_status status = lab_sass_read(&sass, text, "k", NULL, &error);
    if (status == HEED_OK) {
        const lab_code_facts facts = { .arch = 90, .resident = -1, .sass = &sass };
        check(&sass);
        lab_code_judge(&facts, findings);
    } else {
        require(status == HEED_ERR_CORRUPT, "a text that is no disassembly is corrupt");
        require(strncmp(error.text, "k: ", 3) == 0, "a message names the kernel");
        require(!sass.loops && sass.all.total == 0, "it has nothing");
    }
    lab_sass_free(&sass);
    free(text);
    return 0;
}
