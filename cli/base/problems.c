/*
 * problems.c - the problems of a command line
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "base/suggest.h"
#include "cli.h"
#include "search/space.h"
#include "shapes/shapes.h"

static cli_exit add_problem(lab_problems *problems, const heed_problem *problem)
{
    if (!lab_grow(&problems->items, problems->count, sizeof *problems->items)) {
        cli_error("not enough memory for %zu problems", problems->count + 1);
        return CLI_ENVIRONMENT;
    }
    problems->items[problems->count++] = *problem;
    return CLI_OK;
}

static cli_exit add(lab_problems *problems, const char *spec)
{
    heed_problem problem;
    heed_status status = heed_problem_parse(&problem, spec);
    return status == HEED_OK ? add_problem(problems, &problem) : cli_fail(status, NULL);
}

/* Adds the words of operands @first to @end - 1 as one spec. */
static cli_exit add_words(lab_problems *problems, const cli_args *args, int first, int end)
{
    char spec[2 * HEED_SPEC_SIZE] = "";
    size_t length = 0;
    for (int i = first; i < end && length < sizeof spec; i++)
        length += (size_t)snprintf(spec + length, sizeof spec - length, "%s%s",
                                   i > first ? " " : "", cli_args_operand(args, i));
    if (length < sizeof spec)
        return add(problems, spec);
    cli_error("the problem that begins with '%s' is longer than %zu bytes",
              cli_args_operand(args, first), sizeof spec - 1);
    return CLI_USAGE;
}

static bool has_blank(const char *text)
{
    return strpbrk(text, " \t\n") != NULL;
}

static cli_exit add_operands(lab_problems *problems, const cli_args *args, int first)
{
    int count = cli_args_operand_count(args);
    cli_exit code = CLI_OK;
    for (int i = first, end; i < count && code == CLI_OK; i = end) {
        end = i + 1;
        if (has_blank(cli_args_operand(args, i))) {
            code = add(problems, cli_args_operand(args, i));
            continue;
        }
        while (end < count && !has_blank(cli_args_operand(args, end)))
            end++;
        code = add_words(problems, args, i, end);
    }
    return code;
}

/* Folders of the lists that come with heed, relative to the program: in the build, and
 * installed. */
static const char *const places[] = { "..", "../share/heed" };

#define LIST_END ".txt"

static int is_list(const struct dirent *file)
{
    const char *end = strstr(file->d_name, LIST_END);
    return end && end[sizeof LIST_END - 1] == '\0';
}

/* Returns "; did you mean 'NAME'?" with the list of @folder that is closest to @name, or the names
 * of all if none is close, in @text, which has room for @size bytes; "" if @name is a file or a
 * path. */
static const char *list_hint(const char *folder, const char *name, char *text, size_t size)
{
    char place[256], path[1024], best[256] = "", names[256] = "";
    lab_suggestion suggestion = lab_suggest(name);
    text[0] = '\0';
    if (strchr(name, '/') || access(name, F_OK) == 0)
        return text;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct dirent **all = NULL;
        snprintf(place, sizeof place, "%s/%s", places[i], folder);
        int count = lab_beside(place, path, sizeof path) ? scandir(path, &all, is_list, alphasort)
                                                         : 0;
        for (int j = 0; j < count; j++) {
            char *one = all[j]->d_name;
            size_t distance = suggestion.distance, length = strlen(names);
            *strstr(one, LIST_END) = '\0';
            lab_suggest_consider(&suggestion, one);
            if (suggestion.distance < distance)
                snprintf(best, sizeof best, "%s", one);
            snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", one);
            free(all[j]);
        }
        free(all);
    }
    if (*best)
        snprintf(text, size, "; did you mean '%s'?", best);
    else if (*names)
        snprintf(text, size, "; with heed come %s", names);
    return text;
}

const char *cli_find_list(const char *folder, const char *name, char *path, size_t size)
{
    static const char *const ends[] = { "", ".txt" };
    char place[256];
    if (!*name || strchr(name, '/') || access(name, F_OK) == 0)
        return name;
    for (size_t i = 0; i < 4; i++) {
        int length = snprintf(place, sizeof place, "%s/%s/%s%s", places[i / 2], folder, name,
                              ends[i % 2]);
        if (length > 0 && (size_t)length < sizeof place && lab_beside(place, path, size) &&
            access(path, R_OK) == 0)
            return path;
    }
    return name;
}

cli_exit cli_space_load(lab_space *space, const char *name, const char *before)
{
    char found[1024], hint[300];
    lab_error error;
    const char *path = cli_find_list("spaces", name, found, sizeof found);
    heed_status status = lab_space_load(space, path, &error);
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("%s%s%s", before, error.text, list_hint("spaces", name, hint, sizeof hint));
    return cli_exit_of(status);
}

static cli_exit add_file(lab_problems *problems, const char *name)
{
    lab_shapes list;
    lab_error error;
    char found[1024], hint[300];
    const char *path = cli_find_list("shapes", name, found, sizeof found);
    heed_status status = lab_shapes_load(&list, path, &error);
    if (status != HEED_OK) {
        cli_error("--shapes: %s%s", error.text, list_hint("shapes", name, hint, sizeof hint));
        return cli_exit_of(status);
    }
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < list.count; i++)
        code = add_problem(problems, &list.shapes[i].problem);
    lab_shapes_free(&list);
    return code;
}

cli_exit cli_problems_read_from(lab_problems *problems, const cli_args *args, int first)
{
    memset(problems, 0, sizeof *problems);
    cli_exit code = add_operands(problems, args, first);
    size_t files = cli_args_has(args, "shapes") ? cli_args_list_count(args, "shapes") : 0;
    for (size_t i = 0; i < files && code == CLI_OK; i++)
        code = add_file(problems, cli_args_list(args, "shapes", i));
    if (code == CLI_OK && problems->count == 0) {
        cli_error("no problem given; name one, such as 'b1 h8 s512 d64 f32'");
        return CLI_USAGE;
    }
    return code;
}

cli_exit cli_problems_read(lab_problems *problems, const cli_args *args)
{
    return cli_problems_read_from(problems, args, 0);
}

void cli_problems_free(lab_problems *problems)
{
    free(problems->items);
    memset(problems, 0, sizeof *problems);
}

bool cli_problem_repeated(const heed_problem *again, const heed_problem *first)
{
    char spec[HEED_SPEC_SIZE], other[HEED_SPEC_SIZE];
    heed_problem_print(again, spec, sizeof spec);
    heed_problem_print(first, other, sizeof other);
    if (strcmp(spec, other) != 0)
        return false;
    cli_message("%s is named more than once, and counts once", spec);
    return true;
}
