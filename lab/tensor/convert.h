/*
 * convert.h - conversion of f32, f16 and bf16 elements from and to double
 *
 * Portable C without compiler extensions: every other conversion in the project is checked against
 * this one.
 */
#ifndef LAB_CONVERT_H
#define LAB_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* lab_element_get() returns the element at @index of an array of @type. Every value of the three
 * types is exact in a double; NaN stays NaN. */
double lab_element_get(heed_type type, const void *base, int64_t index);

/* lab_element_set() writes @value to the element at @index, rounded once to nearest, ties to even:
 * directly from the double, not through float32. Overflow gives an infinity; subnormals are kept; a
 * NaN becomes a quiet NaN. */
void lab_element_set(heed_type type, void *base, int64_t index, double value);

/* lab_element_round() returns @value as lab_element_set() followed by lab_element_get() would. */
double lab_element_round(heed_type type, double value);

/* lab_elements_load() writes @count elements, starting at @index, to @values. */
void lab_elements_load(heed_type type, const void *base, int64_t index, int64_t count,
                       double *values);

/* lab_type_unit() returns the unit roundoff of @type: half the distance from 1 to the next number.
 */
double lab_type_unit(heed_type type);

/* lab_type_quantum() returns the smallest positive number of @type, a subnormal. */
double lab_type_quantum(heed_type type);

/* lab_type_normal() returns the smallest positive number of @type with full precision, and
 * lab_type_largest() the largest finite one. */
double lab_type_normal(heed_type type);
double lab_type_largest(heed_type type);

/* lab_type_bits() returns the bits of a number of @type between 0.5 and 1, or -1 and -0.5 if
 * @negative, whose fraction is the lowest bits of @random. */
uint32_t lab_type_bits(heed_type type, bool negative, uint32_t random);

/* lab_type_fraction() returns the mask of the fraction bits of @type. The highest bit of an element
 * is its sign, and those between are its exponent. */
uint32_t lab_type_fraction(heed_type type);

/* lab_type_is_narrow() returns true if @type has a smaller exponent range than float32. */
bool lab_type_is_narrow(heed_type type);

/* ---- Operands -------------------------------------------------------------------------------- */

/* lab_data_size() returns the bytes of an element of an operand, 4 for a word of bits; 0 for
 * HEED_DATA_NONE. lab_data_name() returns "f32", "bits", ...; "none". */
size_t lab_data_size(heed_data kind);
const char *lab_data_name(heed_data kind);

/* lab_data_of() returns the kind of elements of @type; lab_data_type() the type of those of @kind,
 * or HEED_F32 if it is not an element type. */
heed_data lab_data_of(heed_type type);
heed_type lab_data_type(heed_data kind);

/* lab_data_is_element() returns true if @kind is an element type. */
bool lab_data_is_element(heed_data kind);

/* lab_data_get() returns the element at @index of an operand: a number, or 0 or 1 for booleans;
 * lab_data_set() writes one. For bits, @index counts bits, 32 per word, lowest first.
 */
double lab_data_get(heed_data kind, const void *base, int64_t index);
void lab_data_set(heed_data kind, void *base, int64_t index, double value);

#endif /* LAB_CONVERT_H */
