/*
 * prompt.c - writes the prompt for a language model, and parses its answer
 */
#include "prompt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "line.h"

const char prompt_system[] =
    "You write fast kernels for scaled-dot-product attention. You get a task and the best source "
    "so far, and answer with one JSON object and nothing else: {\"name\": a short name of letters, "
    "digits and dashes, \"thought\": one or two sentences on what you changed and why, \"source\": "
    "the whole new source}. The kernel has to be right on every problem of its kind, not only on "
    "those that are named; it is checked against a float64 reference. Timing is done outside.";

/* ---- The question ---- */

static void write_text(FILE *stream, const char *title, const json_t *value)
{
    const char *text = json_string_value(value);
    if (text && *text)
        fprintf(stream, "%s: %s\n", title, text);
}

static void write_list(FILE *stream, const char *title, const json_t *list)
{
    if (json_array_size(list) > 0)
        fprintf(stream, "%s:\n", title);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text)
            fprintf(stream, "- %s\n", text);
    }
}

static void write_kernel(FILE *stream, const json_t *kernel)
{
    const char *name = json_string_value(json_object_get(kernel, "name"));
    const char *verdict = json_string_value(json_object_get(kernel, "verdict"));
    const json_t *seconds = json_object_get(kernel, "seconds");
    fprintf(stream, "- %s: %s", name ? name : "?", verdict ? verdict : "?");
    if (json_is_number(seconds))
        fprintf(stream, ", %.6g microseconds", 1e6 * json_number_value(seconds));
    fprintf(stream, "\n");
    write_text(stream, "  thought", json_object_get(kernel, "thought"));
    write_text(stream, "  log", json_object_get(kernel, "log"));
}

static void write_kernels(FILE *stream, const char *title, const json_t *list)
{
    if (json_array_size(list) > 0)
        fprintf(stream, "%s:\n", title);
    for (size_t i = 0; i < json_array_size(list); i++)
        write_kernel(stream, json_array_get(list, i));
}

static void write_source(FILE *stream, const char *title, const json_t *kernel,
                         const char *language)
{
    const char *source = json_string_value(json_object_get(kernel, "source"));
    if (!source)
        return;
    fprintf(stream, "\n%s:\n", title);
    write_kernel(stream, kernel);
    fprintf(stream, "```%s\n%s\n```\n", language ? language : "", source);
}

char *prompt_write(const json_t *request)
{
    char *text = NULL;
    size_t size = 0;
    const char *language = json_string_value(json_object_get(request, "language"));
    const char *how = json_string_value(json_object_get(request, "operator"));
    const char *header = json_string_value(json_object_get(request, "header"));
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    write_text(stream, "Task", json_object_get(request, "task"));
    write_text(stream, "Language", json_object_get(request, "language"));
    write_text(stream, "Device", json_object_get(request, "device"));
    write_list(stream, "Timed on the problems", json_object_get(request, "problems"));
    write_list(stream, "Known facts", json_object_get(request, "insights"));
    write_list(stream, "Limits of the best source", json_object_get(request, "findings"));
    write_kernels(stream, "Thoughts behind earlier kernels", json_object_get(request, "thoughts"));
    write_kernels(stream, "Earlier kernels, the newest last", json_object_get(request, "history"));
    if (header)
        fprintf(stream, "\nThe header that it includes:\n```%s\n%s\n```\n",
                language ? language : "", header);
    write_source(stream, "The best source so far", json_object_get(request, "current"), language);
    write_source(stream, "Another good one", json_object_get(request, "other"), language);
    fprintf(stream, "\n%s\n",
            how && strcmp(how, "crossover") == 0 ? "Combine what is good in both into a faster one."
                                                 : "Write a faster one.");
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- The answer ---- */

static const char *text_in(const json_t *object, const char *key, const char *other)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : json_string_value(json_object_get(object, other));
}

/* Makes a valid name: other characters become dashes. */
static void clean_name(const char *name, long long number, char out[64])
{
    size_t length = 0;
    for (const char *p = name ? name : ""; *p && length < 63; p++)
        if (isalnum((unsigned char)*p) || (length > 0 && strchr("_-. ", *p)))
            out[length++] = isalnum((unsigned char)*p) || *p != ' ' ? *p : '-';
    out[length] = '\0';
    if (length == 0)
        snprintf(out, 64, "proposal-%lld", number);
}

static json_t *reply_of(const char *name, const char *source, const char *thought, long long number)
{
    char clean[64];
    clean_name(name, number, clean);
    return json_pack("{s:s, s:s, s:s, s:s}", "status", "ok", "name", clean, "source", source,
                     "thought", thought ? thought : "");
}

/* Returns an object in @text, or NULL. */
static json_t *object_in(const char *text, size_t length)
{
    const char *from = memchr(text, '{', length);
    if (!from)
        return NULL;
    json_t *object = json_loadb(from, length - (size_t)(from - text), JSON_DISABLE_EOF_CHECK, NULL);
    if (object && !json_is_object(object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Returns the rest of a line that begins with @key and a colon, to be freed; NULL if there is none.
 * */
static char *line_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *p = text; p; p = strchr(p, '\n')) {
        p += strspn(p, "\n\t *#");
        if (strncasecmp(p, key, length) != 0)
            continue;
        const char *value = p + length + strspn(p + length, "* ");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, "* ");
        return strndup(value, strcspn(value, "\n"));
    }
    return NULL;
}

/* Returns the first block between lines of three backticks. */
static const char *block_in(const char *text, size_t *length)
{
    const char *from = strstr(text, "```");
    from = from ? strchr(from, '\n') : NULL;
    const char *to = from ? strstr(from, "\n```") : NULL;
    if (!to)
        return NULL;
    *length = (size_t)(to - from); /* with the newline at its end, not the one before it */
    return from + 1;
}

static json_t *read_block(const char *text, long long number)
{
    size_t length = 0;
    const char *block = block_in(text, &length);
    char *source = block ? strndup(block, length) : NULL;
    char *name = line_of(text, "name"), *thought = line_of(text, "thought");
    json_t *reply = source && *source ? reply_of(name, source, thought, number)
                                      : line_refuse("error", "the model's answer has no source");
    free(source);
    free(name);
    free(thought);
    return reply;
}

json_t *prompt_read(const char *text, long long number)
{
    size_t length = 0;
    const char *block = block_in(text, &length);
    json_t *object = *text == '{' || !block ? object_in(text, strlen(text)) : NULL;
    if (!object && block && *block == '{')
        object = object_in(block, length);
    const char *source = text_in(object, "source", "code");
    json_t *reply = source && *source ? reply_of(text_in(object, "name", "title"), source,
                                                 text_in(object, "thought", "rationale"), number)
                                      : read_block(text, number);
    json_decref(object);
    return reply;
}
