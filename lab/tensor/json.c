/*
 * json.c - messages for JSON errors, reworded where jansson's are for programmers
 */
#include "json.h"

static const struct {
    enum json_error_code code;
    const char *words;
} plain[] = {
    { json_error_null_character, "a string has the character \\u0000, which heed does not take" },
    { json_error_null_byte_in_key, "a name has the character \\u0000, which heed does not take" },
    { json_error_stack_overflow, "arrays or objects are nested too deeply" },
};

const char *lab_json_fault(const json_error_t *fault)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (json_error_code(fault) == plain[i].code)
            return plain[i].words;
    return fault->text;
}
