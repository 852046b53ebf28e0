/*
 * test_header.c - consistency of heed.h: every function is documented, and all version numbers
 * agree
 */
#include "run_tests.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* Extracts the name before the first parenthesis of a declaration. */
static void name_of(const char *declaration, char name[64])
{
    const char *end = strchr(declaration, '(');
    assert_non_null(end);
    const char *start = end;
    while (isalnum((unsigned char)start[-1]) || start[-1] == '_')
        start--;
    assert_true(end - start < 64);
    memcpy(name, start, (size_t)(end - start));
    name[end - start] = '\0';
}

/* The comment directly above @declaration must begin with "NAME()". Returns 1 if it does. */
static int is_documented(const char *header, const char *declaration, const char *name)
{
    const char *at = declaration;
    while (at > header && isspace((unsigned char)at[-1]))
        at--;
    if (at - header < 2 || at[-1] != '/' || at[-2] != '*')
        return 0;
    while (at > header && !(at[0] == '/' && at[1] == '*'))
        at--;
    at += strspn(at, "/* \n");
    size_t length = strlen(name);
    return strncmp(at, name, length) == 0 && strncmp(at + length, "()", 2) == 0;
}

static void test_every_function_is_documented(void **state)
{
    char *header = read_text(HEED_SOURCE_DIR "/include/heed.h");
    int count = 0;
    int missing = 0;
    static const char *const starts[] = { "\nHEED_API ", "\nstatic inline " };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        for (const char *at = header; (at = strstr(at, starts[i])); count++) {
            char name[64];
            at++;
            name_of(at, name);
            if (!is_documented(header, at, name)) {
                fprintf(stderr, "%s() has no comment that begins with its name\n", name);
                missing++;
            }
        }
    }
    free(header);
    assert_true(count > 20);
    assert_int_equal(missing, 0);
}

static void test_version(void **state)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", HEED_VERSION_MAJOR, HEED_VERSION_MINOR,
             HEED_VERSION_PATCH);
    assert_string_equal(version, HEED_VERSION_STRING);
    assert_string_equal(version, heed_version());
    assert_string_equal(version, HEED_PROJECT_VERSION);
}

RUN_TESTS(test_every_function_is_documented, test_version)
