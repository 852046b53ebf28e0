/*
 * features.c - the CPU's instruction set extensions, as a set of features
 */
#include "features.h"

#include <string.h>

#ifdef HEED_X86
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static bool always(void)
{
    return true;
}

#ifdef HEED_X86
/* clang 14's __builtin_cpu_supports() does not have F16C. */
static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

static bool has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

static bool has_avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512bf16(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
}

#define AMX_BF16 (1u << 22) /* of leaf 7 of cpuid, register edx */
#define AMX_TILE (1u << 24)
#define REQUEST_STATE 0x1023 /* arch_prctl's ARCH_REQ_XCOMP_PERM */
#define TILE_STATE 18        /* XFEATURE_XTILEDATA */

/* Linux gives a process the state of the tile registers on request alone (5.16 and later). */
static bool has_amx(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & AMX_TILE) &&
           (edx & AMX_BF16) && syscall(SYS_arch_prctl, REQUEST_STATE, TILE_STATE) == 0;
}
#else
static bool never(void)
{
    return false;
}
#define has_avx2 never
#define has_avx512 never
#define has_avx512bf16 never
#define has_amx never
#endif

const heed_cpu_feature heed_cpu_features[] = {
    { "scalar", 0, 0, always },
    { "avx2", HEED_CPU_AVX2, 0, has_avx2 },
    { "avx512", HEED_CPU_AVX512, HEED_CPU_AVX2, has_avx512 },
    { "avx512bf16", HEED_CPU_AVX512BF16, HEED_CPU_AVX512, has_avx512bf16 },
    { "amx", HEED_CPU_AMX, HEED_CPU_AVX512BF16, has_amx },
    { NULL, 0, 0, NULL },
};

unsigned heed_cpu_detect(const heed_cpu_feature *table)
{
    unsigned features = 0;
    for (; table->name; table++)
        if ((table->implies & ~features) == 0 && table->detect())
            features |= table->bit;
    return features;
}

/* @features with all that they imply. Rows come after those that they imply, so one pass from the
 * last row to the first finds all. */
static unsigned closure(const heed_cpu_feature *table, unsigned features)
{
    size_t count = 0;
    while (table[count].name)
        count++;
    while (count--)
        if (table[count].bit & features)
            features |= table[count].implies;
    return features;
}

bool heed_cpu_allowed(const heed_cpu_feature *table, const char *name, unsigned *allowed)
{
    for (const heed_cpu_feature *row = table; row->name; row++) {
        if (strcmp(row->name, name) != 0)
            continue;
        *allowed = closure(table, row->bit);
        return true;
    }
    return false;
}

void heed_cpu_print(const heed_cpu_feature *table, unsigned features, char text[HEED_FEATURES_SIZE])
{
    heed_text out = { .data = text, .size = HEED_FEATURES_SIZE };
    unsigned implied = 0;
    for (const heed_cpu_feature *row = table; row->name; row++)
        if (row->bit & features)
            implied |= row->implies;
    unsigned shown = features & ~implied;
    for (const heed_cpu_feature *row = table; row->name; row++)
        if (row->bit ? row->bit & shown : !shown)
            heed_text_add(&out, "%s%s", out.length ? "+" : "", row->name);
}
