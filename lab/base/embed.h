/*
 * embed.h - files embedded in a program as text
 */
#ifndef LAB_BASE_EMBED_H
#define LAB_BASE_EMBED_H

/* Defines @symbol, the zero-terminated text of the file at @place, with hidden visibility. The
 * assembler copies the file as it is; CMake must declare that the object depends on it. */
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
