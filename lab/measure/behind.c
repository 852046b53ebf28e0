/*
 * behind.c - a kernel from another module that runs before each call
 */
#include "lab/measure/behind.h"

#include <stdlib.h>

#include "src/cuda/custom.h"
#include "src/device.h"

#define ENTRY "heed_behind"

const char lab_behind_text[] = ".version 7.0\n"
                               ".target sm_80\n"
                               ".address_size 64\n"
                               ".visible .entry " ENTRY "(.param .u64 element)\n"
                               "{\n"
                               "    .reg .u64 %address;\n"
                               "    .reg .f32 %value;\n"
                               "    ld.param.u64 %address, [element];\n"
                               "    cvta.to.global.u64 %address, %address;\n"
                               "    ld.global.f32 %value, [%address];\n"
                               "    add.f32 %value, %value, 0f3F800000;\n"
                               "    st.global.f32 [%address], %value;\n"
                               "    ret;\n"
                               "}\n";

struct lab_behind {
    heed_context *context;
    heed_custom *kernel;
    void *element; /* in device memory: the kernel's parameter */
};

heed_status lab_behind_create(lab_behind **behind, heed_context *context)
{
    static const float zero = 0;
    lab_behind *made = calloc(1, sizeof *made);
    *behind = made;
    if (!made)
        return HEED_ERR_NO_MEMORY;
    made->context = context;
    heed_status status = heed_custom_load(&made->kernel, context, lab_behind_text, ENTRY);
    if (status == HEED_OK)
        status = heed_device_allocate(context, sizeof zero, &made->element);
    if (status == HEED_OK)
        status = heed_device_upload(context, made->element, &zero, sizeof zero);
    if (status != HEED_OK) {
        lab_behind_destroy(made);
        *behind = NULL;
    }
    return status;
}

void lab_behind_destroy(lab_behind *behind)
{
    if (!behind)
        return;
    heed_device_free(behind->context, behind->element);
    heed_custom_destroy(behind->kernel);
    free(behind);
}

heed_status lab_behind_start(const lab_behind *behind, void *stream)
{
    return heed_custom_start(behind->kernel, 1, 1, &behind->element, stream);
}
