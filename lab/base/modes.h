/*
 * modes.h - the modes of a thread's CPU that a function must leave unchanged
 */
#ifndef LAB_MODES_H
#define LAB_MODES_H

#include <fenv.h>
#include <stdint.h>

#ifdef __x86_64__
/* The layout of FXSAVE: the x87 control word, the registers in use (MMX uses the same ones), and
 * MXCSR. */
typedef struct lab_fxsave {
    _Alignas(16) uint16_t control;
    uint16_t status;
    uint8_t used, other[19];
    uint32_t mxcsr, rest[121];
} lab_fxsave;
_Static_assert(sizeof(lab_fxsave) == 512, "FXSAVE writes 512 bytes");

#define LAB_MODES_EXCEPTIONS 0x3fu            /* of MXCSR: flags of exceptions that occurred */
#define LAB_MODES_FLAGS (1u << 10 | 1u << 18) /* direction, alignment checks */
#endif

/* lab_modes() returns this thread's rounding mode and, on x86, how it treats subnormal numbers,
 * whether x87 or MMX registers are in use, the direction of string instructions, and whether
 * alignment is checked; without the flags of exceptions. */
static inline uint64_t lab_modes(void)
{
#ifdef __x86_64__
    lab_fxsave state;
    __asm__ volatile("fxsave %0" : "=m"(state));
    uint64_t flags = __builtin_ia32_readeflags_u64() & LAB_MODES_FLAGS;
    return state.control | (uint64_t)(state.mxcsr & ~LAB_MODES_EXCEPTIONS & 0xffff) << 16 |
           (uint64_t)state.used << 32 | flags << 40;
#else
    return (uint64_t)fegetround();
#endif
}

#endif /* LAB_MODES_H */
