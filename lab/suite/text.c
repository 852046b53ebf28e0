/*
 * text.c - the text of solutions: templates, one of heed's kernels as one text, and its launch
 *
 * HEED_SUITE_TEXTS is the folder of the templates, from CMake.
 */
#include "lab/suite/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/embed.h"
#include "src/cuda/outline.h"
#include "src/cuda/sources.h"

#define FILES_MAX 64
#define DEPTH_MAX 16
#define NUMBERS 14
#define NUMBER_SIZE 24

LAB_EMBED(lab_text_library, HEED_SUITE_TEXTS "/library.py");
LAB_EMBED(lab_text_kernel, HEED_SUITE_TEXTS "/kernel.in");
LAB_EMBED(lab_text_multihead, HEED_SUITE_TEXTS "/multihead.py");
LAB_EMBED(lab_text_forward, HEED_SUITE_TEXTS "/forward.cu");
LAB_EMBED(lab_text_launch, HEED_SUITE_TEXTS "/launch.cu");
LAB_EMBED(lab_text_maps, HEED_SUITE_TEXTS "/maps.cu");

char *lab_text_of(lab_writer *write, const void *data, const char *what, heed_status *status,
                  lab_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    *status = out ? write(out, data, error) : HEED_OK;
    if (!out || (fclose(out) != 0 && *status == HEED_OK))
        *status = lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for %s", what);
    if (*status == HEED_OK)
        return text;
    free(text);
    return NULL;
}

/* ---- Templates ---- */

/* The place whose name is at @at, after the mark; NULL if none. */
static const lab_place *place_at(const char *at, const lab_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(places[i].name);
        if (strncmp(at, places[i].name, length) == 0 && at[length] == '@')
            return &places[i];
    }
    return NULL;
}

void lab_fill(FILE *out, const char *text, const lab_place *places, size_t count)
{
    while (*text) {
        size_t length = strcspn(text, "@");
        fprintf(out, "%.*s", (int)length, text);
        text += length;
        const lab_place *place = *text ? place_at(text + 1, places, count) : NULL;
        if (place) {
            fputs(place->text, out);
            text += strlen(place->name) + 2;
        } else if (*text) {
            fputc(*text++, out);
        }
    }
}

/* ---- A kernel with its headers ---- */

typedef struct flattener {
    FILE *out;
    const char *done[FILES_MAX]; /* headers already included unconditionally */
    int count;
    int depth;
    lab_error *error;
} flattener;

static heed_status add_file(flattener *it, const char *name);

/* The end of the string or character literal at @at. */
static const char *skip_literal(const char *at)
{
    const char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* Copies @text to @to with a space for each comment; keeps newlines within comments. */
static void strip_comments(const char *text, char *to)
{
    while (*text) {
        const char *begin = text;
        if (strncmp(text, "/*", 2) == 0) {
            const char *end = strstr(text + 2, "*/");
            for (; *text && text != end; text++)
                if (*text == '\n')
                    *to++ = '\n';
            text += end ? 2 : 0;
            *to++ = ' ';
        } else if (strncmp(text, "//", 2) == 0) {
            text += strcspn(text, "\n");
        } else if (*text == '"' || *text == '\'') {
            text = skip_literal(text);
            memcpy(to, begin, (size_t)(text - begin));
            to += text - begin;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

static bool is_done(const flattener *it, const char *name)
{
    for (int i = 0; i < it->count; i++)
        if (strcmp(it->done[i], name) == 0)
            return true;
    return false;
}

/* Handles an #include of the file @name. Within conditions other than the header's guard it may not
 * be compiled, so the header does not count as included. */
static heed_status include(flattener *it, const char *name, bool conditional)
{
    heed_source source;
    if (strcmp(name, "program.cuh") == 0 || is_done(it, name))
        return HEED_OK;
    if (!heed_source_find(name, &source))
        return lab_fail(it->error, HEED_ERR_INVALID, "the library has no source %s", name);
    if (!conditional && it->count < FILES_MAX)
        it->done[it->count++] = source.name;
    return add_file(it, name);
}

/* The change in depth of #if nesting by a line. */
static int step_of(const char *line)
{
    static const char *const opens[] = { "if ", "ifdef ", "ifndef " };
    if (*line != '#')
        return 0;
    line += 1 + strspn(line + 1, " ");
    if (strncmp(line, "endif", 5) == 0)
        return -1;
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++)
        if (strncmp(line, opens[i], strlen(opens[i])) == 0)
            return 1;
    return 0;
}

/* Writes the lines of @text, a header if @guarded. */
static heed_status add_lines(flattener *it, const char *text, bool guarded, int around)
{
    heed_status status = HEED_OK;
    int depth = 0;
    while (*text && status == HEED_OK) {
        char name[64];
        size_t length = strcspn(text, "\n"), kept = length;
        while (kept > 0 && (text[kept - 1] == ' ' || text[kept - 1] == '\t'))
            kept--;
        depth += step_of(text);
        if (sscanf(text, "#include \"%63[^\"]\"", name) == 1) {
            it->depth = around + depth - guarded;
            status = include(it, name, it->depth > 0);
        } else if (kept > 0) {
            fprintf(it->out, "%.*s\n", (int)kept, text);
        }
        text += length + (text[length] == '\n');
    }
    return status;
}

static heed_status add_file(flattener *it, const char *name)
{
    heed_source source;
    if (!heed_source_find(name, &source))
        return lab_fail(it->error, HEED_ERR_INVALID, "the library has no source %s", name);
    if (it->depth > DEPTH_MAX)
        return lab_fail(it->error, HEED_ERR_INVALID, "%s: conditions nest too deep", name);
    char *text = malloc(source.size + 1);
    if (!text)
        return lab_fail(it->error, HEED_ERR_NO_MEMORY, "no memory for the text of %s", name);
    strip_comments(source.text, text);
    heed_status status = add_lines(it, text, heed_source_is_header(&source), it->depth);
    free(text);
    return status;
}

heed_status lab_flatten(FILE *out, const char *name, lab_error *error)
{
    flattener it = { .out = out, .error = error };
    return add_file(&it, name);
}

/* ---- The arguments ---- */

static void put_divisor(FILE *out, const char *place, heed_cuda_divisor by)
{
    fprintf(out, "    %s = { %uu, %uu, %uu };\n", place, by.value, by.multiplier, by.shift);
}

static void put_args(FILE *out, const heed_cuda_args *args)
{
    fprintf(out, "    args.visible = %lldll;\n", args->visible);
    fprintf(out, "    args.hidden = %lldll;\n", args->hidden);
    fprintf(out, "    args.first = %lldll;\n", args->first);
    fprintf(out, "    args.rows = %uu;\n", args->rows);
    fprintf(out, "    args.seq_q = %uu;\n", args->seq_q);
    fprintf(out, "    args.seq_k = %uu;\n", args->seq_k);
    fprintf(out, "    args.heads = %uu;\n", args->heads);
    fprintf(out, "    args.blocks = %uu;\n", args->blocks);
    fprintf(out, "    args.scale = %af;\n", (double)args->scale);
    fprintf(out, "    args.negate = %uu;\n", args->negate);
    put_divisor(out, "args.heads_kv", args->heads_kv);
    put_divisor(out, "args.group", args->group);
    put_divisor(out, "args.splits", args->splits);
    put_divisor(out, "args.section", args->section);
    put_divisor(out, "args.rest", args->rest);
    put_divisor(out, "args.work", args->work);
    put_divisor(out, "args.chunk", args->chunk);
}

/* Writes the arguments of a kernel with tensor maps. */
static void put_maps(FILE *out, const heed_cuda_outline *outline, const heed_launch_facts *launch)
{
    put_divisor(out, "launched.share", outline->share);
    fprintf(out, "    launched.ahead = %uu;\n", outline->ahead);
    static const struct {
        const char *name;
        bool keys;
    } tensors[] = { { "q", false }, { "k", true }, { "v", true }, { "o", false } };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const char *name = tensors[i].name;
        int heads = tensors[i].keys ? 1 : outline->heads;
        int rows = tensors[i].keys ? (int)launch->mapped : 64 / outline->heads;
        fprintf(out, "    heed_map(&launched.%s, %s, %d, %d);\n", name, name, heads, rows);
    }
}

/* A kernel that is being written. */
typedef struct launched {
    const heed_cuda_facts *facts;
    const heed_problem *problem;
    heed_cuda_outline outline;
} launched;

static heed_status put_fill(FILE *out, const void *data, lab_error *error)
{
    const launched *it = data;
    (void)error;
    put_args(out, &it->outline.args);
    if (it->facts->launch.mapped)
        put_maps(out, &it->outline, &it->facts->launch);
    return HEED_OK;
}

/* ---- The launch ---- */

/* Sizes and launch facts as texts. */
typedef struct numbers {
    char text[NUMBERS][NUMBER_SIZE];
    int count;
} numbers;

static const char *number(numbers *all, int64_t value)
{
    char *text = all->text[all->count++];
    snprintf(text, NUMBER_SIZE, "%" PRId64, value);
    return text;
}

static heed_status put_map_code(FILE *out, const void *data, lab_error *error)
{
    const launched *it = data;
    const lab_place kind = { "MAP_KIND", it->problem->type == HEED_BF16 ? "BFLOAT16" : "FLOAT16" };
    (void)error;
    if (it->facts->launch.mapped)
        lab_fill(out, lab_text_maps, &kind, 1);
    return HEED_OK;
}

static void put_launch(FILE *out, const launched *it, const char *fill, const char *maps)
{
    static const char *const kinds[] = { "kFloat32", "kHalf", "kBFloat16" };
    const heed_problem *p = it->problem;
    const heed_launch_facts *launch = &it->facts->launch;
    numbers n = { .count = 0 };
    const lab_place places[] = {
        { "KIND", kinds[p->type] },
        { "ALIGNED", launch->aligned ? "true" : "false" },
        { "BATCH", number(&n, p->batch) },
        { "HEADS_Q", number(&n, p->heads_q) },
        { "HEADS_KV", number(&n, p->heads_kv) },
        { "SEQ_Q", number(&n, p->seq_q) },
        { "SEQ_K", number(&n, p->seq_k) },
        { "DIM_QK", number(&n, p->dim_qk) },
        { "DIM_V", number(&n, p->dim_v) },
        { "ENTRY", launch->entry },
        { "ARGS_TYPE", launch->mapped ? "heed_cuda_mapped_args" : "heed_cuda_args" },
        { "ARGS", launch->mapped ? "launched.args" : "launched" },
        { "SMEM", number(&n, launch->smem) },
        { "GRID", number(&n, it->outline.grid) },
        { "THREADS", number(&n, launch->threads) },
        { "FILL", fill },
        { "MAPS", maps },
    };
    lab_fill(out, lab_text_launch, places, sizeof places / sizeof *places);
}

/* ---- The source ---- */

static heed_status put_source(FILE *out, const void *data, lab_error *error)
{
    const launched *it = data;
    const heed_cuda_facts *facts = it->facts;
    heed_status status;
    char *maps = NULL,
         *fill = lab_text_of(put_fill, it, "the arguments of a kernel", &status, error);
    if (fill)
        maps = lab_text_of(put_map_code, it, "the maps of a kernel", &status, error);
    for (int i = 0; i < facts->define_count; i++)
        fprintf(out, "#define %s %lld\n", facts->defines[i].name, facts->defines[i].value);
    if (maps)
        status = lab_flatten(out, facts->source, error);
    /* The attribute is only needed on the kernel; a check of the suite looks for this word. */
    fprintf(out, "extern \"C\" __global__ void %s(const __grid_constant__ %s);\n",
            facts->launch.entry, facts->launch.mapped ? "heed_cuda_mapped_args" : "heed_cuda_args");
    if (status == HEED_OK)
        put_launch(out, it, fill, maps);
    free(fill);
    free(maps);
    return status;
}

char *lab_launch_source(const heed_cuda_facts *facts, const heed_problem *problem,
                        const heed_gpu *gpu, heed_status *status, lab_error *error)
{
    launched it = { .facts = facts, .problem = problem };
    if (heed_launch_merges(&facts->launch) || facts->launch.list_keys > 0 || facts->steps) {
        *status = lab_fail(error, HEED_ERR_UNSUPPORTED, "%s is launched in more than one step",
                           facts->name);
        return NULL;
    }
    heed_cuda_outline_of(&it.outline, problem, gpu, &facts->launch);
    return lab_text_of(put_source, &it, "the source of a kernel", status, error);
}
