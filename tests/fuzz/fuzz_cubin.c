/*
 * fuzz_cubin.c - arbitrary cubins
 *
 * An input is the file and, with null bytes replaced by newlines, also the log.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/inspect/cubin.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_kernel(const lab_cubin_kernel *kernel)
{
    require(strlen(kernel->name) < LAB_CUBIN_NAME_SIZE, "a name ends");
    require(kernel->registers >= 0 && kernel->registers <= 256, "registers are in their range");
    require(kernel->barriers >= 0 && kernel->barriers <= 255, "barriers are in their range");
    require(kernel->max_threads >= 0 && kernel->stack >= 0 && kernel->smem >= 0 &&
                kernel->params >= 0 && kernel->constant >= 0 && kernel->code >= 0,
            "sizes are not negative");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_cubin cubin;
    lab_error error = { "" };
    heed_status status = lab_cubin_read(&cubin, data, size, "fuzz", &error);
    if (status != HEED_OK) {
        require(status == HEED_ERR_CORRUPT || status == HEED_ERR_UNSUPPORTED,
                "a bad cubin is corrupt or unsupported");
        require(strncmp(error.text, "fuzz: ", 6) == 0, "a message names the file");
        require(cubin.count == 0 && !cubin.kernels, "a bad cubin has no kernels");
        return 0;
    }
    char *log = calloc(size + 1, 1);
    require(log != NULL, "there is memory");
    memcpy(log, data, size);
    for (size_t i = 0; i < size; i++)
        log[i] = log[i] ? log[i] : '\n';
    lab_cubin_spills(&cubin, log);
    free(log);
    for (size_t i = 0; i < cubin.count; i++)
        check_kernel(&cubin.kernels[i]);
    lab_cubin_free(&cubin);
    return 0;
}
