/*
 * sized.c - copies the structs of heed.h that begin with their size, of any version of heed.h
 */
#include "sized.h"

#include <string.h>

const heed_sized heed_sized_problem = { "heed_problem", sizeof(heed_problem),
                                        offsetof(heed_problem, pass) };
const heed_sized heed_sized_options = { "heed_options", sizeof(heed_options),
                                        offsetof(heed_options, compile) };
const heed_sized heed_sized_buffers = { "heed_buffers", sizeof(heed_buffers),
                                        offsetof(heed_buffers, bias) };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Index of the first non-zero byte from @begin up to @end, or @end. */
static size_t find_byte(const void *from, size_t begin, size_t end)
{
    while (begin < end && ((const unsigned char *)from)[begin] == 0)
        begin++;
    return begin;
}

static heed_status check_size(const heed_sized *kind, size_t size)
{
    if (size < kind->least || size > (size_t)1 << 16)
        return heed_fail(HEED_ERR_INVALID, "size of %s is %zu; it must be sizeof(%s), %zu here",
                         kind->name, size, kind->name, kind->size);
    return HEED_OK;
}

heed_status heed_sized_read(const heed_sized *kind, void *to, const void *from)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    heed_status status = check_size(kind, size);
    if (status != HEED_OK)
        return status;
    size_t at = find_byte(from, smaller(kind->size, size), size);
    if (at < size)
        return heed_fail(
            HEED_ERR_INVALID,
            "byte %zu of %s is not zero: the caller was compiled for a newer heed than "
            "this one, %s, which has %zu bytes of it",
            at, kind->name, HEED_VERSION_STRING, kind->size);
    size = smaller(kind->size, size);
    memset(to, 0, kind->size);
    memcpy(to, from, size);
    memcpy(to, &size, sizeof size);
    return HEED_OK;
}

heed_status heed_sized_write(const heed_sized *kind, void *to, size_t size, const void *from)
{
    heed_status status = check_size(kind, size);
    if (status != HEED_OK)
        return status;
    if (find_byte(from, smaller(kind->size, size), kind->size) < kind->size)
        return heed_fail(HEED_ERR_INVALID,
                         "%s needs more than the %zu bytes that the caller was compiled with",
                         kind->name, size);
    memset(to, 0, size);
    memcpy(to, from, smaller(kind->size, size));
    memcpy(to, &size, sizeof size);
    return HEED_OK;
}
