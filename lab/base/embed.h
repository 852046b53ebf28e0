/*
 * embed.h - files that a program carries as text
 */
#ifndef LAB_BASE_EMBED_H
#define LAB_BASE_EMBED_H

/* Defines @symbol, the text of the file at @place, with a zero behind it, for this program alone.
 * The assembler copies the file as it is; CMake has to say that the object depends on it. */
/* clang-format off */
#define LAB_EMBED(symbol, place)                                      \
    __asm__(".pushsection .rodata\n"                                  \
            ".globl " #symbol "\n.hidden " #symbol "\n" #symbol ":\n" \
            ".incbin \"" place "\"\n"                                 \
            ".byte 0\n"                                               \
            ".popsection\n");                                         \
    extern const char(symbol)[] __attribute__((visibility("hidden")))
/* clang-format on */

#endif /* LAB_BASE_EMBED_H */
