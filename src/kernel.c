/*
 * kernel.c - the table of built-in kernels
 */
#include <stddef.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/few.h"
#include "cpu/tile.h"
#include "cuda/backend.h"
#include "internal.h"

#define HEED_TYPES_ANY ((1u << HEED_TYPE_COUNT) - 1)
#define HEED_TYPES_16BIT (1u << HEED_F16 | 1u << HEED_BF16)
#define HEED_TYPES_BF16 (1u << HEED_BF16)
#define HEED_TYPES_F32 (1u << HEED_F32)

static const heed_kernel kernels[] = {
#define HEED_KERNEL(name, pass, backend, features, arch, types, algorithm, code, summary) \
    { #name, summary, pass, backend, features, arch, types, &(algorithm), code },
#include "kernels.def"
#undef HEED_KERNEL
};

size_t heed_kernel_count(void)
{
    return sizeof kernels / sizeof *kernels;
}

const heed_kernel *heed_kernel_at(size_t index)
{
    return index < heed_kernel_count() ? &kernels[index] : NULL;
}

const heed_kernel *heed_kernel_find(const char *name, const char **config_text)
{
    const char *mark = strstr(name, "__");
    size_t length = mark ? (size_t)(mark - name) : strlen(name);
    *config_text = mark ? mark + 2 : NULL;
    for (size_t i = 0; i < heed_kernel_count(); i++)
        if (strlen(kernels[i].name) == length && !memcmp(kernels[i].name, name, length))
            return &kernels[i];
    return NULL;
}

const heed_kernel *heed_kernel_of(const void *code)
{
    size_t i = 0;
    while (i < heed_kernel_count() && kernels[i].code != code)
        i++;
    return heed_kernel_at(i);
}

const char *heed_kernel_build(void)
{
    return HEED_KERNEL_BUILD;
}

const char *heed_kernel_name(size_t index)
{
    const heed_kernel *kernel = heed_kernel_at(index);
    return kernel ? kernel->name : NULL;
}

const char *heed_kernel_summary(size_t index)
{
    const heed_kernel *kernel = heed_kernel_at(index);
    return kernel ? kernel->summary : NULL;
}

const char *heed_kernel_knob(size_t index, size_t knob, char *letter)
{
    const heed_kernel *kernel = heed_kernel_at(index);
    if (!kernel || knob >= (size_t)heed_knob_count(kernel->algorithm))
        return NULL;
    if (letter)
        *letter = kernel->algorithm->knobs[knob].letter;
    return kernel->algorithm->knobs[knob].name;
}

heed_status heed_kernel_config(size_t index, size_t config, char *name, size_t size)
{
    const heed_kernel *kernel = heed_kernel_at(index);
    heed_config values;
    if (!kernel)
        return heed_fail(HEED_ERR_INVALID, "kernel index is %zu; there are %zu kernels", index,
                         heed_kernel_count());
    size_t count = (size_t)heed_config_count(kernel->algorithm);
    if (config >= count)
        return heed_fail(HEED_ERR_INVALID, "config index is %zu; %s has %zu configs", config,
                         kernel->name, count);
    if (!name)
        return heed_fail(HEED_ERR_INVALID, "name is NULL");
    heed_config_at(kernel->algorithm, (int)config, &values);
    size_t length = heed_config_print(kernel, &values, name, size);
    if (length >= size)
        return heed_fail(HEED_ERR_INVALID, "size is %zu; the name needs %zu bytes", size,
                         length + 1);
    return HEED_OK;
}
