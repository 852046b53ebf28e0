/*
 * sass_text.c - parser for the disassembly of a kernel
 *
 * Two programs write it. nvdisasm begins a kernel with ".text.NAME:" and names the targets of
 * branches by labels; cuobjdump begins it with "Function : NAME", gives addresses, and writes the
 * encoding after each instruction. With <> in place of C comment marks:
 *
 *     .L_x_1:
 *             <0010>              @!P0 BRA `(.L_x_1) ;
 *
 *             <0010>              @!P0 BRA 0x10 ;             <0x0000000000078947>
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspect/sass_parts.h"

/* -------------------------------------------------------------------------- */
/* Lines                                                                      */
/* -------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Returns true, with the name, if the line at @at begins a kernel's code. */
static bool begins_kernel(const char *at, const char *end, const char **name, int *length)
{
    static const char section[] = ".text.", function[] = "Function : ";
    size_t left = (size_t)(end - at);
    bool is_section = left > strlen(section) && strncmp(at, section, strlen(section)) == 0;
    bool is_function = left > strlen(function) && strncmp(at, function, strlen(function)) == 0;
    if (!is_section && !is_function)
        return false;
    *name = at + strlen(is_section ? section : function);
    while (end > *name && (end[-1] == ':' || isspace((unsigned char)end[-1])))
        end--;
    *length = (int)(end - *name);
    return true;
}

/* The end of the operands, before @stop: some disassemblers append scheduling information,
 * "&req={0} &wr=0x3 ?trans1". */
static const char *end_operands(const char *at, const char *stop)
{
    const char *end = at;
    for (; end < stop; end++)
        if ((*end == '&' || *end == '?') && end > at && isspace((unsigned char)end[-1]))
            break;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return end;
}

/* An instruction is its address in a comment, [@[!]predicate], opcode, operands and a semicolon. */
static bool read_instruction(const char *at, const char *end, sass_instruction *instruction)
{
    char *digits_end;
    if (end - at < 8 || at[0] != '/' || at[1] != '*' || !isxdigit((unsigned char)at[2]))
        return false;
    *instruction = (sass_instruction){ .address = strtoll(at + 2, &digits_end, 16) };
    if (digits_end + 2 > end || digits_end[0] != '*' || digits_end[1] != '/')
        return false;
    at = skip_blanks(digits_end + 2, end);
    const char *stop = memchr(at, ';', (size_t)(end - at));
    if (!stop)
        return false;
    if (at < stop && *at == '@') {
        instruction->guarded = true;
        instruction->never = strncmp(at, "@!PT ", 5) == 0;
        while (at < stop && !isspace((unsigned char)*at))
            at++;
        at = skip_blanks(at, stop);
    }
    instruction->opcode = at;
    while (at < stop && (isalnum((unsigned char)*at) || *at == '.' || *at == '_'))
        at++;
    instruction->opcode_length = (int)(at - instruction->opcode);
    instruction->operands = skip_blanks(at, stop);
    instruction->operand_length = (int)(end_operands(instruction->operands, stop) -
                                        instruction->operands);
    return instruction->opcode_length > 0;
}

static heed_status add_instruction(sass_code *code, const sass_instruction *instruction,
                                   const char *name, lab_error *error)
{
    if (code->count == SASS_INSTRUCTIONS_MAX)
        return lab_fail(error, HEED_ERR_UNSUPPORTED, "%s: more than %d instructions", name,
                        SASS_INSTRUCTIONS_MAX);
    if (code->count > 0 && code->list[code->count - 1].address >= instruction->address)
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "%s: the disassembly is out of order at address 0x%llx", name,
                        (unsigned long long)instruction->address);
    if (!lab_grow(&code->list, (size_t)code->count, sizeof *code->list))
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for its code", name);
    code->list[code->count++] = *instruction;
    return HEED_OK;
}

/* A label is a word at the beginning of a line, followed by a colon. */
static heed_status add_label(sass_code *code, const char *at, const char *end, const char *name,
                             lab_error *error)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));
    if (!colon || colon == at || isspace((unsigned char)*at) || skip_blanks(colon + 1, end) != end)
        return HEED_OK;
    if (!lab_grow(&code->labels, (size_t)code->label_count, sizeof *code->labels))
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for its labels", name);
    code->labels[code->label_count++] = (sass_label){ .name = at,
                                                      .length = (int)(colon - at),
                                                      .at = code->count };
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* A kernel                                                                   */
/* -------------------------------------------------------------------------- */

static int compare_labels(const void *left, const void *right)
{
    const sass_label *a = left, *b = right;
    int shorter = a->length < b->length ? a->length : b->length;
    int order = strncmp(a->name, b->name, (size_t)shorter);
    return order ? order : a->length - b->length;
}

static heed_status read_lines(sass_code *code, const char *text, const char *name, lab_error *error)
{
    bool inside = false;
    heed_status status = HEED_OK;
    for (const char *at = text; *at && status == HEED_OK;) {
        const char *end = at + strcspn(at, "\r\n"), *start = skip_blanks(at, end), *found;
        int length;
        sass_instruction instruction;
        if (begins_kernel(start, end, &found, &length))
            inside = (size_t)length == strlen(name) && strncmp(found, name, (size_t)length) == 0;
        else if (inside && read_instruction(start, end, &instruction))
            status = add_instruction(code, &instruction, name, error);
        else if (inside)
            status = add_label(code, at, end, name, error);
        at = end + strspn(end, "\r\n");
    }
    return status;
}

heed_status sass_code_read(sass_code *code, const char *text, const char *name, lab_error *error)
{
    *code = (sass_code){ .count = 0 };
    heed_status status = read_lines(code, text, name, error);
    if (status == HEED_OK && code->count == 0)
        status = lab_fail(error, HEED_ERR_CORRUPT, "%s: the disassembly does not have it", name);
    if (status == HEED_OK && code->label_count > 0)
        qsort(code->labels, (size_t)code->label_count, sizeof *code->labels, compare_labels);
    return status;
}

void sass_code_free(sass_code *code)
{
    free(code->list);
    free(code->labels);
    *code = (sass_code){ .count = 0 };
}

/* -------------------------------------------------------------------------- */
/* Words and targets                                                          */
/* -------------------------------------------------------------------------- */

bool sass_is(const sass_instruction *instruction, const char *word)
{
    size_t length = strlen(word);
    return (size_t)instruction->opcode_length >= length &&
           strncmp(instruction->opcode, word, length) == 0 &&
           ((size_t)instruction->opcode_length == length || instruction->opcode[length] == '.');
}

bool sass_has(const sass_instruction *instruction, const char *word)
{
    size_t length = strlen(word);
    const char *at = instruction->opcode, *end = at + instruction->opcode_length;
    while ((at = memchr(at, '.', (size_t)(end - at)))) {
        at++;
        if ((size_t)(end - at) >= length && strncmp(at, word, length) == 0 &&
            (at + length == end || at[length] == '.'))
            return true;
    }
    return false;
}

/* The instruction at a label; -1: none. */
static int find_label(const sass_code *code, const char *name, int length)
{
    const sass_label key = { .name = name, .length = length };
    const sass_label *found = code->label_count > 0
                                  ? bsearch(&key, code->labels, (size_t)code->label_count,
                                            sizeof key, compare_labels)
                                  : NULL;
    return found && found->at < code->count ? found->at : -1;
}

static int find_address(const sass_code *code, int64_t address)
{
    int low = 0, high = code->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (code->list[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < code->count && code->list[low].address == address ? low : -1;
}

/* The instruction that the word of @length characters names: `(label), a label of a table, or an
 * address. */
static int find_target(const sass_code *code, const char *word, int length)
{
    char *end;
    if (length > 3 && word[0] == '`' && word[1] == '(')
        return find_label(code, word + 2, length - 3);
    if (length > 2 && word[0] == '0' && word[1] == 'x') {
        long long address = strtoll(word, &end, 16);
        return end == word + length ? find_address(code, address) : -1;
    }
    return length > 1 && word[0] == '.' ? find_label(code, word, length) : -1;
}

int sass_targets(const sass_code *code, int at, int *targets, int max, bool *first)
{
    static const char separators[] = " \t,\"*[]";
    const char *word = code->list[at].operands, *end = word + code->list[at].operand_length;
    int count = 0, words = 0;
    *first = false;
    while (word < end && count < max) {
        int length = 0;
        while (word + length < end && !strchr(separators, word[length]))
            length++;
        int target = find_target(code, word, length);
        if (target >= 0) {
            *first = *first || words == 0;
            targets[count++] = target;
        }
        words += length > 0;
        word += length + 1;
    }
    return count;
}
