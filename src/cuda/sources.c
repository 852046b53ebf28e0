/*
 * sources.c - the device sources, embedded in the library as text
 *
 * The assembler copies each file unchanged into read-only data, so the code compiled at run time is
 * exactly that in the files, and nothing is generated. A file is added by a row of sources.def.
 * CMake defines HEED_KERNELS, the folder, and makes this object depend on its files.
 */
#include "sources.h"

#include <pthread.h>
#include <string.h>

#include "cache.h"

/* clang-format off */
#define HEED_SOURCE(symbol, end, file)                                \
    __asm__(".pushsection .rodata\n"                                  \
            ".globl " #symbol "\n.hidden " #symbol "\n" #symbol ":\n" \
            ".incbin \"" HEED_KERNELS "/" file "\"\n"                 \
            ".globl " #end "\n.hidden " #end "\n" #end ":\n"          \
            ".byte 0\n"                                               \
            ".popsection\n");
#include "sources.def"
#undef HEED_SOURCE

#define HEED_SOURCE(symbol, end, file) \
    extern const char(symbol)[] __attribute__((visibility("hidden"))); \
    extern const char(end)[] __attribute__((visibility("hidden")));
#include "sources.def"
#undef HEED_SOURCE

/* The end instead of the size: the difference of two symbols is not a constant expression. */
static const struct {
    const char *file, *text, *end;
} files[] = {
#define HEED_SOURCE(symbol, end, file) { file, symbol, end },
#include "sources.def"
#undef HEED_SOURCE
};
/* clang-format on */

#define FILES (sizeof files / sizeof *files)

static size_t size_of(size_t index)
{
    return (size_t)(files[index].end - files[index].text);
}

/* Computed on first use: every plan needs all of them, and together they take two milliseconds. */
static uint8_t digests[FILES][HEED_CACHE_DIGEST_SIZE];
static pthread_once_t digested = PTHREAD_ONCE_INIT;

static void make_digests(void)
{
    for (size_t i = 0; i < FILES; i++) {
        const heed_cache_part part = { files[i].text, size_of(i) };
        heed_cache_digest(&part, digests[i]);
    }
}

static const char *name_of(const char *file)
{
    while (strncmp(file, "../", 3) == 0)
        file += 3;
    return file;
}

bool heed_source_at(size_t index, heed_source *source)
{
    if (index >= FILES)
        return false;
    pthread_once(&digested, make_digests);
    *source = (heed_source){ .name = name_of(files[index].file),
                             .text = files[index].text,
                             .size = size_of(index),
                             .digest = digests[index] };
    return true;
}

bool heed_source_find(const char *name, heed_source *source)
{
    for (size_t i = 0; heed_source_at(i, source); i++)
        if (strcmp(source->name, name) == 0)
            return true;
    return false;
}

bool heed_source_is_header(const heed_source *source)
{
    const char *dot = strrchr(source->name, '.');
    return dot && strcmp(dot, ".cu") != 0;
}
