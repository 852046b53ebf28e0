/*
 * number.h - numbers in specs and wisdom: strict, exact, and the same in every locale
 *
 * The C library's strtod() also takes "nan", "0x1p3", leading blanks and the locale's decimal sign,
 * and printf() writes that sign. These functions accept and produce plain decimal numbers with a
 * point, nothing else. The conversion itself is still done by the C library, which rounds
 * correctly: the text is passed as whole digits and an exponent, so no decimal sign is involved.
 */
#ifndef HEED_NUMBER_H
#define HEED_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer of this size holds every number that these functions print, and every number that they
 * read is shorter. */
#define HEED_NUMBER_SIZE 64

/* heed_number_int() reads the decimal digits that @text begins with into @value and returns their
 * number; 0 if there are none. A value beyond INT64_MAX is read as INT64_MAX. */
size_t heed_number_int(const char *text, int64_t *value);

/* heed_number_double() reads the @length characters of @text, all of which must form one decimal
 * number such as "2",
 * "-0.125" or "1.5e-7", rounded to the nearest double. Returns false, with @value unchanged, for
 * anything else, for a number of HEED_NUMBER_SIZE characters or more, and for one beyond the range
 * of a finite double. */
bool heed_number_double(const char *text, size_t length, double *value);

/* heed_number_float() is like heed_number_double(), but rounds to the nearest float in one step. */
bool heed_number_float(const char *text, size_t length, float *value);

/* heed_number_print_double() writes the finite @value with the fewest digits (6 or more, without
 * trailing zeros) that read back as the same double. @text has room for HEED_NUMBER_SIZE bytes. */
void heed_number_print_double(char *text, double value);

/* heed_number_print_float() is like heed_number_print_double(), for a float. */
void heed_number_print_float(char *text, float value);

/* heed_number_print_range() writes "2 to 5", or only "2" if @most is @least, for messages. Returns
 * @text, which has room for HEED_NUMBER_SIZE bytes. */
const char *heed_number_print_range(char *text, int64_t least, int64_t most);

#endif /* HEED_NUMBER_H */
