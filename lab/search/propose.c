/*
 * propose.c - requests to a proposer, and its replies
 */
#include "lab/search/propose.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/base/path.h"
#include "lab/trial/log.h"

#define PROTOCOL "heed.propose/1"
#define NAME_MAX_LENGTH 63
#define THOUGHT_MAX 2000
#define CHECK_SECONDS 10.0
#define TOKENS_MAX ((json_int_t)1 << 40)
#define TRIED_NAMES 400 /* names of tried kernels sent to a proposer, to avoid repetition */

const char *const lab_way_names[] = { "free", "insight", "full", NULL };

const char *lab_way_name(lab_way way)
{
    return way >= 0 && way < LAB_WAYS ? lab_way_names[way] : "unknown";
}

/* -------------------------------------------------------------------------- */
/* The request                                                                */
/* -------------------------------------------------------------------------- */

/* A text truncated to @most bytes; invalid UTF-8 becomes '?'. */
static json_t *text_of(const char *text, size_t most)
{
    if (!text)
        return json_null();
    char *copy = strndup(text, most);
    json_t *value = copy ? json_string(copy) : NULL;
    for (char *p = copy; p && !value && *p; p++)
        *p = (unsigned char)*p < 0x80 ? *p : '?';
    if (copy && !value)
        value = json_string(copy);
    free(copy);
    return value;
}

/* A log, limited to the remaining @left bytes. */
static json_t *log_of(const char *log, size_t *left)
{
    if (!log || !*log || *left < 2)
        return json_null();
    char *copy = strndup(log, (size_t)4 * LAB_PROPOSE_LOGS);
    if (!copy)
        return NULL;
    lab_log_strip(copy);
    size_t length = strlen(copy);
    if (length > *left)
        length = *left;
    *left -= length;
    json_t *value = text_of(copy, length);
    free(copy);
    return value;
}

static json_t *kernel_of(const lab_tried *it, bool with_source, size_t *left)
{
    json_t *kernel = json_pack("{s:o, s:o, s:o, s:o}", "name", text_of(it->name, NAME_MAX_LENGTH),
                               "verdict", text_of(it->verdict, NAME_MAX_LENGTH), "seconds",
                               it->seconds > 0 ? json_real(it->seconds) : json_null(), "thought",
                               text_of(it->thought, THOUGHT_MAX));
    if (kernel && left)
        json_object_set_new(kernel, "log", log_of(it->log, left));
    if (kernel && with_source && it->source)
        json_object_set_new(kernel, "source", text_of(it->source, LAB_PROPOSE_SOURCE));
    return kernel;
}

static json_t *texts_of(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, text_of(texts[i], THOUGHT_MAX));
    return list;
}

static json_t *names_of(const lab_brief *brief)
{
    size_t count = brief->history_count;
    json_t *list = json_array();
    for (size_t i = count > TRIED_NAMES ? count - TRIED_NAMES : 0; i < count; i++)
        json_array_append_new(list, text_of(brief->history[i].name, NAME_MAX_LENGTH));
    return list;
}

/* A few random thoughts of kernels that ran. */
static json_t *thoughts_of(const lab_brief *brief)
{
    json_t *list = json_array();
    uint64_t random = brief->seed * 6364136223846793005u + (uint64_t)brief->number;
    size_t count = brief->history_count;
    for (size_t i = 0; i < count && json_array_size(list) < LAB_PROPOSE_THOUGHTS; i++) {
        const lab_tried *it = &brief->history[(random + i * 7) % count];
        if (it->seconds > 0 && it->thought && *it->thought)
            json_array_append_new(list, kernel_of(it, false, NULL));
    }
    return list;
}

/* The newest @most kernels, oldest first; the newest ones have logs. */
static json_t *history_of(const lab_brief *brief, size_t most)
{
    json_t *list = json_array();
    size_t left = LAB_PROPOSE_LOGS, count = brief->history_count;
    for (size_t i = 0; i < most && i < count; i++)
        json_array_insert_new(list, 0, kernel_of(&brief->history[count - 1 - i], false, &left));
    return list;
}

/* The best kernel other than the current one, for crossover. NULL: none. */
static const lab_tried *find_other(const lab_brief *brief)
{
    const lab_tried *best = NULL;
    for (size_t i = 0; i < brief->history_count; i++) {
        const lab_tried *it = &brief->history[i];
        bool same = it->source && brief->current.source &&
                    strcmp(it->source, brief->current.source) == 0;
        if (it->seconds > 0 && !same && (!best || it->seconds < best->seconds))
            best = it;
    }
    return best;
}

/* Finite figures by name. */
static json_t *clues_of(const lab_clue *clues, size_t count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(object, clues[i].name, json_real(clues[i].value));
    return object;
}

static json_t *request_of(const lab_brief *brief, size_t history)
{
    json_t *request = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "op", "propose",
        "protocol", PROTOCOL, "way", lab_way_name(brief->way), "number", (json_int_t)brief->number,
        "seed", (json_int_t)(brief->seed & INT64_MAX), "task",
        text_of(brief->task, THOUGHT_MAX * 4), "language", text_of(brief->language, 8), "header",
        text_of(brief->header, LAB_PROPOSE_SOURCE), "problems",
        texts_of(brief->problems, brief->problem_count), "device", text_of(brief->device, 200),
        "origin", text_of(brief->origin, LAB_PROPOSE_SOURCE), "current",
        kernel_of(&brief->current, true, NULL), "tried", names_of(brief));
    if (!request || brief->way == LAB_WAY_FREE)
        return request;
    json_object_set_new(request, "insights", texts_of(brief->insights, brief->insight_count));
    json_object_set_new(request, "findings", texts_of(brief->findings, brief->finding_count));
    json_object_set_new(request, "counters", clues_of(brief->counters, brief->counter_count));
    json_object_set_new(request, "effects", clues_of(brief->effects, brief->effect_count));
    json_object_set_new(request, "thoughts", thoughts_of(brief));
    if (brief->way == LAB_WAY_INSIGHT)
        return request;
    const lab_tried *other = history > 0 ? find_other(brief) : NULL;
    json_object_set_new(request, "history", history_of(brief, history));
    json_object_set_new(request, "operator",
                        json_string(other && brief->number % 2 == 0 ? "crossover" : "mutation"));
    if (other && brief->number % 2 == 0)
        json_object_set_new(request, "other", kernel_of(other, true, NULL));
    return request;
}

/* To fit in a line, the history is dropped first, then the original source. */
json_t *lab_brief_request(const lab_brief *brief)
{
    size_t most = brief->history_count < LAB_PROPOSE_HISTORY ? brief->history_count
                                                             : LAB_PROPOSE_HISTORY;
    lab_brief shorter = *brief;
    for (;;) {
        json_t *request = request_of(&shorter, most);
        size_t length = request ? json_dumpb(request, NULL, 0, JSON_COMPACT) : 0;
        if (!request || (length > 0 && length < LAB_PEER_LINE_SIZE - 1))
            return request;
        json_decref(request);
        if (most == 0 && !shorter.origin)
            return NULL;
        if (most == 0)
            shorter.origin = NULL;
        most /= 2;
    }
}

/* -------------------------------------------------------------------------- */
/* The reply                                                                  */
/* -------------------------------------------------------------------------- */

void lab_proposal_free(lab_proposal *proposal)
{
    free(proposal->name);
    free(proposal->source);
    free(proposal->thought);
    *proposal = (lab_proposal){ .name = NULL };
}

/* Names are used in file names and tables. */
static bool is_name(const char *name)
{
    if (!name || !isalnum((unsigned char)*name) || strlen(name) > NAME_MAX_LENGTH)
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-.", *p))
            return false;
    return true;
}

static heed_status refuse(lab_error *error, const char *what)
{
    return lab_fail(error, HEED_ERR_INVALID, "the proposer's answer: %s", what);
}

/* The tokens of @way used, or -1 if not reported. */
static int64_t tokens_of(const json_t *reply, const char *way)
{
    const json_t *value = json_object_get(json_object_get(reply, "tokens"), way);
    json_int_t count = json_is_integer(value) ? json_integer_value(value) : -1;
    return count >= 0 && count <= TOKENS_MAX ? count : -1;
}

static heed_status take_proposal(const json_t *reply, lab_proposal *proposal, lab_error *error)
{
    const char *name = json_string_value(json_object_get(reply, "name"));
    const char *source = json_string_value(json_object_get(reply, "source"));
    const char *thought = json_string_value(json_object_get(reply, "thought"));
    if (!is_name(name))
        return refuse(error, "name is missing, or not a name of at most 63 letters and digits");
    if (!source || !*source)
        return refuse(error, "source is missing");
    if (strlen(source) > LAB_PROPOSE_SOURCE)
        return refuse(error, "source is longer than 24 KiB");
    proposal->tokens_in = tokens_of(reply, "in");
    proposal->tokens_out = tokens_of(reply, "out");
    proposal->name = strdup(name);
    proposal->source = strdup(source);
    proposal->thought = strndup(thought ? thought : "", THOUGHT_MAX);
    if (!proposal->name || !proposal->source || !proposal->thought) {
        lab_proposal_free(proposal);
        return HEED_ERR_NO_MEMORY;
    }
    lab_peer_tame(proposal->thought);
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* The process                                                                */
/* -------------------------------------------------------------------------- */

void lab_proposer_find(const char *command, char *path, size_t size)
{
    static const char *const places[] = { "../proposers", "../libexec/heed/proposers" };
    static const char *const prefixes[] = { "", "heed-propose-" };
    char place[512];
    for (size_t i = 0; i < 4 && !strchr(command, '/'); i++) {
        int length = snprintf(place, sizeof place, "%s/%s%s", places[i / 2], prefixes[i % 2],
                              command);
        if (length > 0 && (size_t)length < sizeof place && lab_beside(place, path, size) &&
            access(path, X_OK) == 0)
            return;
    }
    snprintf(path, size, "%s", command);
}

static const char *status_of(const json_t *reply)
{
    return json_string_value(json_object_get(reply, "status"));
}

/* The proposer gave a reason instead of a proposal. */
static heed_status tell_refusal(const json_t *reply, lab_error *error)
{
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    snprintf(error->text, sizeof error->text, "the proposer says: %.300s",
             reason ? reason : "nothing");
    lab_peer_tame(error->text);
    return strcmp(status_of(reply), "unsupported") == 0 ? HEED_ERR_UNSUPPORTED : HEED_ERR_INVALID;
}

/* Returns the reply; NULL, with the reason, if there is none. */
static json_t *reply_of(lab_peer *proposer, json_t *request, double seconds, lab_error *error)
{
    json_t *reply = lab_peer_ask(proposer, request, seconds);
    if (!reply)
        snprintf(error->text, sizeof error->text, "the proposer %.300s", lab_peer_reason(proposer));
    return reply;
}

heed_status lab_proposer_check(const char *program, bool (*interrupted)(void), lab_error *error)
{
    lab_peer *proposer = lab_peer_start(program, NULL, interrupted);
    if (!proposer)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for a proposer");
    json_t *request = json_pack("{s:s, s:s}", "op", "check", "protocol", PROTOCOL);
    json_t *reply = reply_of(proposer, request, CHECK_SECONDS, error);
    heed_status status = !reply                                ? HEED_ERR_SYSTEM
                         : strcmp(status_of(reply), "ok") != 0 ? tell_refusal(reply, error)
                                                               : HEED_OK;
    json_decref(reply);
    lab_peer_end(proposer);
    return status;
}

heed_status lab_proposer_ask(lab_peer *proposer, const lab_brief *brief, double seconds,
                             lab_proposal *proposal, lab_error *error)
{
    *proposal = (lab_proposal){ .name = NULL };
    error->text[0] = '\0';
    json_t *request = lab_brief_request(brief);
    if (!request) {
        return lab_fail(error, HEED_ERR_INVALID,
                        "the source is too long for a proposer: a request has at most %d bytes",
                        LAB_PEER_LINE_SIZE);
    }
    json_t *reply = reply_of(proposer, request, seconds, error);
    if (!reply)
        return HEED_ERR_SYSTEM;
    heed_status result = strcmp(status_of(reply), "ok") == 0 ? take_proposal(reply, proposal, error)
                                                             : tell_refusal(reply, error);
    json_decref(reply);
    return result;
}
