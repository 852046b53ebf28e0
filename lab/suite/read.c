/*
 * read.c - reads the contents of tasks with read_task.py
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/file.h"
#include "lab/base/pool.h"
#include "lab/suite/suite.h"
#include "lab/trial/peer/peer.h"

/* Maximum of distinct attentions in a task; a model has a few kinds, in layers. */
#define ATTENTION_MAX 64

#define ELEMENTS_MAX ((size_t)1 << 40)

char *lab_task_text(const lab_task *task, size_t *size, lab_error *error)
{
    FILE *file;
    if (lab_file_require_plain(task->path, error) != HEED_OK ||
        lab_file_open(&file, task->path, error) != HEED_OK)
        return NULL;
    char *text = malloc(LAB_SUITE_FILE_MAX + 2);
    *size = text ? fread(text, 1, LAB_SUITE_FILE_MAX + 1, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (text && !failed && *size <= LAB_SUITE_FILE_MAX) {
        text[*size] = '\0';
        return text;
    }
    if (!text)
        lab_fail(error, HEED_ERR_NO_MEMORY, "no memory to read %s", task->path);
    else if (failed)
        lab_fail(error, HEED_ERR_SYSTEM, "%s could not be read", task->path);
    else
        lab_fail(error, HEED_ERR_INVALID, "%s: more than %zu KiB", task->path,
                 LAB_SUITE_FILE_MAX >> 10);
    free(text);
    return NULL;
}

/* ---- The reply ---- */

/* Copies a string, which a task may have influenced. */
static void copy_text(const json_t *from, char *text, size_t size)
{
    const char *value = json_string_value(from);
    snprintf(text, size, "%s", value ? value : "");
    lab_peer_tame(text);
}

static void take_text(const json_t *from, const char *key, char *text, size_t size)
{
    copy_text(json_object_get(from, key), text, size);
}

/* The strings of an array, separated by "; ". */
static void take_texts(const json_t *list, char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < json_array_size(list) && length < size; i++) {
        const char *value = json_string_value(json_array_get(list, i));
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? "; " : "",
                                   value ? value : "");
    }
    lab_peer_tame(text);
}

static int whole_of(const json_t *from, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(from, key));
    return value < 0 ? 0 : value > INT_MAX ? INT_MAX : (int)value;
}

/* Makes the spec canonical, or keeps the first line of heed's message if it is refused. */
static void take_problem(lab_task_attention *it)
{
    heed_problem problem;
    if (heed_problem_parse(&problem, it->spec) == HEED_OK) {
        heed_problem_print(&problem, it->spec, sizeof it->spec);
        return;
    }
    const char *message = heed_message();
    snprintf(it->refusal, sizeof it->refusal, "%.*s", (int)strcspn(message, "\n"), message);
}

static void take_attention(const json_t *from, lab_task_attention *it)
{
    const json_t *notes = json_object_get(from, "notes");
    take_text(from, "spec", it->spec, sizeof it->spec);
    take_text(from, "call", it->call, sizeof it->call);
    take_text(from, "how", it->how, sizeof it->how);
    take_texts(json_object_get(from, "unfit"), it->unfit, sizeof it->unfit);
    it->line = whole_of(from, "line");
    it->layers = whole_of(from, "layers");
    it->operations = json_number_value(json_object_get(from, "operations"));
    for (size_t i = 0; i < json_array_size(notes) && it->note_count < LAB_TASK_NOTES; i++)
        copy_text(json_array_get(notes, i), it->notes[it->note_count++], LAB_TASK_TEXT);
    take_problem(it);
}

static void take_work(const json_t *list, lab_task *task)
{
    for (size_t i = 0; i < json_array_size(list) && task->work_count < LAB_TASK_WORKS; i++) {
        const json_t *from = json_array_get(list, i);
        lab_task_work *work = &task->work[task->work_count++];
        take_text(from, "kind", work->kind, sizeof work->kind);
        work->count = whole_of(from, "count");
        work->operations = json_number_value(json_object_get(from, "operations"));
    }
}

/* The number of elements of a tensor of shape @shape; 0 if invalid. */
static size_t elements_of(const json_t *shape)
{
    size_t count = json_array_size(shape) > 0 || json_is_array(shape);
    for (size_t i = 0; i < json_array_size(shape); i++) {
        json_int_t size = json_integer_value(json_array_get(shape, i));
        if (size < 1 || __builtin_mul_overflow(count, (size_t)size, &count) || count > ELEMENTS_MAX)
            return 0;
    }
    return count;
}

static void take_json(const json_t *value, char *text, size_t size)
{
    char *all = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    snprintf(text, size, "%s", all && *all == '[' && strlen(all) < size ? all : "");
    free(all);
}

/* Reads the shapes of the model's inputs and output. */
static void take_shapes(const json_t *json, lab_task *task)
{
    const json_t *inputs = json_object_get(json, "inputs");
    const json_t *output = json_object_get(json, "output");
    bool whole = json_array_size(inputs) > 0 && json_array_size(inputs) <= LAB_TASK_INPUTS;
    task->output_elements = elements_of(output);
    for (size_t i = 0; i < json_array_size(inputs) && whole; i++) {
        task->input_elements[i] = elements_of(json_array_get(inputs, i));
        whole = task->input_elements[i] > 0;
    }
    if (!whole || task->output_elements == 0)
        return;
    task->input_count = (int)json_array_size(inputs);
    take_json(inputs, task->inputs, sizeof task->inputs);
    take_json(output, task->output, sizeof task->output);
}

/* A task whose attentions are all refused gets the reason of the first. */
static void judge_limits(lab_task *task)
{
    bool able = false;
    for (size_t i = 0; i < task->attention_count; i++)
        able = able || *task->attention[i].refusal == '\0';
    if (task->kind != LAB_TASK_ATTENTION || able)
        return;
    task->kind = LAB_TASK_LIMITED;
    snprintf(task->reason, sizeof task->reason, "%s", task->attention[0].refusal);
}

static heed_status take_answer(const json_t *json, lab_task *task, lab_error *error)
{
    const char *word = json_string_value(json_object_get(json, "class"));
    const json_t *list = json_object_get(json, "attention");
    size_t count = json_array_size(list);
    task->kind = LAB_TASK_DAMAGED;
    for (int kind = LAB_TASK_ATTENTION; word && kind < LAB_TASK_KINDS; kind++)
        if (strcmp(word, lab_task_kind_name((lab_task_kind)kind)) == 0)
            task->kind = (lab_task_kind)kind;
    take_text(json, "reason", task->reason, sizeof task->reason);
    take_work(json_object_get(json, "beside"), task);
    task->whole = json_is_true(json_object_get(json, "whole"));
    take_json(json_object_get(json, "init"), task->init, sizeof task->init);
    take_shapes(json, task);
    count = count < ATTENTION_MAX ? count : ATTENTION_MAX;
    task->attention = calloc(count + 1, sizeof *task->attention);
    if (!task->attention)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for the problems of a task");
    for (; task->attention_count < count; task->attention_count++)
        take_attention(json_array_get(list, task->attention_count),
                       &task->attention[task->attention_count]);
    judge_limits(task);
    return HEED_OK;
}

heed_status lab_task_read(lab_task *task, const lab_python *python, bool (*interrupted)(void),
                          lab_error *error)
{
    size_t size;
    heed_status status;
    lab_error why;
    char *text = lab_task_text(task, &size, &why);
    json_t *json = NULL;
    if (text) {
        json = lab_python_read(python, "read", text, size, interrupted, &status, &why);
        free(text);
        if (!json && status != HEED_ERR_INVALID)
            return lab_fail(error, status, "%s", why.text);
    }
    if (json)
        status = take_answer(json, task, error);
    else {
        const size_t path = strlen(task->path); /* a reason does not repeat it */
        bool named = strncmp(why.text, task->path, path) == 0 && why.text[path] == ':';
        status = HEED_OK;
        task->kind = LAB_TASK_DAMAGED;
        snprintf(task->reason, sizeof task->reason, "%.*s", LAB_TASK_TEXT - 1,
                 why.text + (named ? path + 2 : 0));
    }
    json_decref(json);
    return status;
}

/* ---- All tasks ---- */

/* Starting an interpreter takes as long as reading some dozens of tasks. */
#define CHUNK 24

/* A batch of tasks for one process. */
typedef struct chunk {
    lab_job job;
    lab_task *tasks;
    size_t count;
    heed_status status;
    lab_error error;
} chunk;

typedef struct reading {
    const lab_python *python;
    const lab_sink *sink;
    chunk *chunks;
    size_t count;
    bool failed; /* a process could not be run: begin no more */
} reading;

static lab_job *next_job(void *owner)
{
    const reading *it = owner;
    for (size_t i = 0; i < it->count && !it->failed; i++)
        if (it->chunks[i].job.state == LAB_JOB_UNTOUCHED)
            return &it->chunks[i].job;
    return NULL;
}

/* The texts of @mine, each preceded by its length; NULL if one of them cannot be read. */
static char *join_texts(const chunk *mine, size_t *size)
{
    char *all = NULL;
    FILE *out = open_memstream(&all, size);
    bool whole = out != NULL;
    for (size_t i = 0; i < mine->count && whole; i++) {
        size_t length;
        char *text = lab_task_text(&mine->tasks[i], &length, NULL);
        whole = text != NULL;
        if (text)
            fprintf(out, "%zu\n", length);
        if (text && length > 0)
            whole = fwrite(text, length, 1, out) == 1;
        free(text);
    }
    if (out && fclose(out) != 0)
        whole = false;
    if (whole)
        return all;
    free(all);
    return NULL;
}

/* Reads all of @mine with one process. If that fails, returns false and changes nothing. */
static bool read_together(chunk *mine, const lab_python *python, bool (*interrupted)(void))
{
    size_t size = 0;
    heed_status status;
    char *text = join_texts(mine, &size);
    if (!text)
        return false;
    json_t *json = lab_python_read(python, "batch", text, size, interrupted, &status, NULL);
    const json_t *answers = json_object_get(json, "answers");
    free(text);
    bool whole = json_array_size(answers) == mine->count;
    mine->status = HEED_OK;
    for (size_t i = 0; i < mine->count && whole && mine->status == HEED_OK; i++)
        mine->status = take_answer(json_array_get(answers, i), &mine->tasks[i], &mine->error);
    json_decref(json);
    return whole;
}

/* If a task crashes the process, or takes too long, each task gets a separate process. */
static void do_job(void *owner, lab_job *job)
{
    const reading *it = owner;
    chunk *mine = (chunk *)(void *)job;
    bool (*interrupted)(void) = it->sink ? it->sink->interrupted : NULL;
    if (read_together(mine, it->python, interrupted))
        return;
    mine->status = HEED_OK;
    for (size_t i = 0; i < mine->count && mine->status == HEED_OK; i++)
        mine->status = lab_task_read(&mine->tasks[i], it->python, interrupted, &mine->error);
}

static heed_status finish_all(reading *it, lab_pool *pool, lab_error *error)
{
    lab_progress progress = lab_progress_start(it->sink, "reading", it->count * CHUNK);
    heed_status status = HEED_OK;
    for (size_t i = 0; i < it->count && status == HEED_OK; i++) {
        lab_progress_step(&progress, i * CHUNK, it->chunks[i].tasks[0].name);
        lab_pool_finish(pool, &it->chunks[i].job);
        status = it->chunks[i].status;
        if (status != HEED_OK && error)
            *error = it->chunks[i].error;
    }
    lab_progress_end(&progress);
    lab_pool_lock(pool);
    it->failed = status != HEED_OK;
    lab_pool_unlock(pool);
    return status;
}

heed_status lab_suite_read(lab_suite *suite, const lab_python *python, int threads,
                           const lab_sink *sink, lab_error *error)
{
    reading it = { .python = python, .sink = sink, .count = (suite->count + CHUNK - 1) / CHUNK };
    lab_pool pool = { .owner = &it, .next = next_job, .work = do_job };
    it.chunks = calloc(it.count + 1, sizeof *it.chunks);
    if (!it.chunks)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for %zu tasks", suite->count);
    for (size_t i = 0; i < it.count; i++) {
        size_t first = i * CHUNK, left = suite->count - first;
        it.chunks[i].tasks = &suite->tasks[first];
        it.chunks[i].count = left < CHUNK ? left : CHUNK;
    }
    lab_pool_start(&pool, threads);
    heed_status status = finish_all(&it, &pool, error);
    lab_pool_stop(&pool);
    free(it.chunks);
    return status;
}

double lab_task_share(const lab_task *task)
{
    double own = 0, all = 0;
    for (size_t i = 0; i < task->attention_count; i++)
        own += task->attention[i].operations;
    for (int i = 0; i < task->work_count; i++)
        all += task->work[i].operations;
    return own > 0 && isfinite(all) ? own / (own + all) : 0;
}
