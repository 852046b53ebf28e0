/*
 * cubin_log.c - spills, which only the assembler's log tells
 */
#include <stdio.h>
#include <string.h>

#include "inspect/cubin.h"

/* The line after "Function properties for NAME" reads "... N bytes stack frame, N bytes spill
 * stores, N bytes spill loads". */
void lab_cubin_spills(lab_cubin *cubin, const char *log)
{
    static const char head[] = "Function properties for ";
    for (const char *at = log; (at = strstr(at, head));) {
        const char *name = at + strlen(head);
        size_t length = strcspn(name, "\r\n");
        const char *line = name + length + strspn(name + length, "\r\n");
        const char *frame = strstr(line, " bytes stack frame, ");
        long long stores, loads;
        at = line;
        if (!frame || frame - line > 64 ||
            sscanf(frame, " bytes stack frame, %lld bytes spill stores, %lld bytes spill loads",
                   &stores, &loads) != 2)
            continue;
        for (size_t i = 0; i < cubin->count; i++) {
            lab_cubin_kernel *kernel = &cubin->kernels[i];
            if (strlen(kernel->name) != length || strncmp(kernel->name, name, length) != 0)
                continue;
            kernel->spill_stores = stores;
            kernel->spill_loads = loads;
        }
    }
}
