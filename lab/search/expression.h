/*
 * expression.h - integer expressions over named values, as in search space files
 *
 *     threads / 32 % 2 == 0 && (tile < 64 || keys >= 32)
 *     tile == 32 ? 2 : 4
 *
 * Operators are C's, with C's precedence: ?: || && == != < <= > >= + - * / % ! and unary minus,
 * with parentheses, min(a, b) and max(a, b). Values are 64-bit integers; comparisons yield 1 or 0.
 */
#ifndef LAB_EXPRESSION_H
#define LAB_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "lab/base/error.h"

/* Room for a name with its null byte. A name is a letter or underscore, followed by letters, digits
 * and underscores. */
#define LAB_NAME_SIZE 32

typedef struct lab_named {
    char name[LAB_NAME_SIZE];
    int64_t value;
} lab_named;

/* The names that an expression can see. */
typedef struct lab_scope {
    const lab_named *items;
    size_t count;
} lab_scope;

/* lab_expression_value() computes @text. An unevaluated operand of ?:, && and || is parsed, but may
 * divide by zero. Returns HEED_OK; HEED_ERR_INVALID if @text is not an expression, or uses a name
 * that is not in @scope; HEED_ERR_UNSUPPORTED for a division by zero or a value beyond 64 bits,
 * which may not happen with other values in @scope. @error has the reason and place. */
heed_status lab_expression_value(const char *text, const lab_scope *scope, int64_t *value,
                                 lab_error *error);

/* lab_name_length() returns the length of the name at the start of @text; 0 if there is none, or it
 * is too long. */
size_t lab_name_length(const char *text);

#endif /* LAB_EXPRESSION_H */
