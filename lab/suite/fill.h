/*
 * fill.h - texts with places to be filled in, and the texts of solutions
 */
#ifndef LAB_FILL_H
#define LAB_FILL_H

#include <stdio.h>

/* A place, @NAME@ in a text, and what becomes of it. */
typedef struct lab_place {
    const char *name;
    const char *text;
} lab_place;

/* lab_fill() writes @text to @out with its places, which are in the array @places of @count, filled
 * in. A name that is not among them stays. */
void lab_fill(FILE *out, const char *text, const lab_place *places, size_t count);

/* The texts, each a file of lab/suite/texts/. */
const char *lab_text_library(void);
const char *lab_text_kernel(void);
const char *lab_text_multihead(void);
const char *lab_text_launch(void);
const char *lab_text_forward(void);
const char *lab_text_maps(void);

#endif /* LAB_FILL_H */
