/*
 * number.c - numbers in specs and wisdom: strict, exact, and the same in every locale
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t heed_number_int(const char *text, int64_t *value)
{
    int64_t number = 0;
    bool beyond = false;
    size_t length = 0;
    for (; is_digit(text[length]); length++) {
        beyond = beyond || __builtin_mul_overflow(number, 10, &number) ||
                 __builtin_add_overflow(number, text[length] - '0', &number);
    }
    if (length > 0)
        *value = beyond ? INT64_MAX : number;
    return length;
}

/* Reads [+-]digits at the end of a number. An exponent of more than 5 digits is refused: no number
 * of HEED_NUMBER_SIZE characters needs one. */
static bool read_exponent(const char *text, const char *end, int *exponent)
{
    int sign = 1;
    if (text < end && (*text == '+' || *text == '-'))
        sign = *text++ == '-' ? -1 : 1;
    if (text == end || end - text > 5)
        return false;
    int number = 0;
    for (; text < end; text++) {
        if (!is_digit(*text))
            return false;
        number = number * 10 + (*text - '0');
    }
    *exponent = sign * number;
    return true;
}

/* Rewrites a decimal number without its point: "-0.125e3" becomes "-0125e0", which strtod() reads
 * the same way in every locale. Returns false if the text is not a decimal number. @plain has room
 * for twice HEED_NUMBER_SIZE. */
static bool remove_point(const char *text, size_t length, char *plain)
{
    if (length >= HEED_NUMBER_SIZE)
        return false;
    const char *end = text + length;
    size_t filled = 0, digits = 0;
    int exponent = 0, fraction = 0;
    bool point = false;

    if (text < end && (*text == '+' || *text == '-'))
        plain[filled++] = *text++;
    for (; text < end && (is_digit(*text) || (*text == '.' && !point)); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        plain[filled++] = *text;
        digits++;
        fraction += point;
    }
    if (digits == 0)
        return false;
    if (text < end && (*text == 'e' || *text == 'E')) {
        if (!read_exponent(text + 1, end, &exponent))
            return false;
        text = end;
    }
    snprintf(plain + filled, 2 * HEED_NUMBER_SIZE - filled, "e%d", exponent - fraction);
    return text == end;
}

bool heed_number_double(const char *text, size_t length, double *value)
{
    char plain[2 * HEED_NUMBER_SIZE];
    if (!remove_point(text, length, plain))
        return false;
    double number = strtod(plain, NULL);
    if (!isfinite(number))
        return false;
    *value = number;
    return true;
}

bool heed_number_float(const char *text, size_t length, float *value)
{
    char plain[2 * HEED_NUMBER_SIZE];
    if (!remove_point(text, length, plain))
        return false;
    float number = strtof(plain, NULL);
    if (!isfinite(number))
        return false;
    *value = number;
    return true;
}

/* Writes @value with @digits significant digits and a point, whatever the locale's decimal sign. */
static void print_digits(char *text, double value, int digits)
{
    char local[HEED_NUMBER_SIZE];
    snprintf(local, sizeof(local), "%.*g", digits, value);
    size_t filled = 0;
    for (const char *c = local; *c != '\0'; c++)
        if (is_digit(*c) || *c == '-' || *c == '+' || *c == 'e')
            text[filled++] = *c;
        else if (filled > 0 && text[filled - 1] != '.')
            text[filled++] = '.'; /* replaces all bytes of the locale's sign */
    text[filled] = '\0';
}

void heed_number_print_double(char *text, double value)
{
    double back = 0;
    for (int digits = 6; digits <= 17; digits++) {
        print_digits(text, value, digits);
        if (heed_number_double(text, strlen(text), &back) && back == value)
            return;
    }
}

void heed_number_print_float(char *text, float value)
{
    float back = 0;
    for (int digits = 6; digits <= 9; digits++) {
        print_digits(text, (double)value, digits);
        if (heed_number_float(text, strlen(text), &back) && back == value)
            return;
    }
}

const char *heed_number_print_range(char *text, int64_t least, int64_t most)
{
    if (least == most)
        snprintf(text, HEED_NUMBER_SIZE, "%lld", (long long)least);
    else
        snprintf(text, HEED_NUMBER_SIZE, "%lld to %lld", (long long)least, (long long)most);
    return text;
}
