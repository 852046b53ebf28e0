/*
 * rival.c - typed requests to peers
 */
#include "rival.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lab/trial/process.h"

#define PROTOCOL "heed.trial/1"
/* Time limits, from protocol.md. */
#define HELLO_SECONDS 180.0
#define PREPARE_SECONDS 180.0
#define ANSWER_SECONDS 60.0
#define PATIENCE 10.0
/* Maximum number of starts of a rival. */
#define STARTS_MAX 4

/* The files of one prepare request. */
enum {
    FILE_Q,
    FILE_K,
    FILE_V,
    FILE_O,
    FILES,
    FILES_MAX = FILES + LAB_RIVAL_OPERANDS_MAX /* operands come after */
};

static lab_answer refuse(lab_rival *rival, lab_answer answer, const char *reason)
{
    snprintf(rival->reason, sizeof rival->reason, "%s", reason);
    return answer;
}

static void copy_member(char text[LAB_RIVAL_TEXT_SIZE], const json_t *reply, const char *member)
{
    const char *value = json_string_value(json_object_get(reply, member));

    snprintf(text, LAB_RIVAL_TEXT_SIZE, "%s", value ? value : "");
    lab_peer_tame(text);
}

/* Records how the peer was lost, and drops it. */
static lab_answer lose(lab_rival *rival)
{
    rival->lost = lab_peer_state_of(rival->peer);
    refuse(rival, LAB_ANSWER_LOST, lab_peer_reason(rival->peer));
    lab_peer_end(rival->peer);
    rival->peer = NULL;
    return LAB_ANSWER_LOST;
}

/* Sends @request, which is released. On LAB_ANSWER_OK the caller owns *@reply. */
static lab_answer ask(lab_rival *rival, json_t *request, double seconds, json_t **reply)
{
    char reason[LAB_RIVAL_TEXT_SIZE];

    *reply = NULL;
    if (!rival->peer) {
        json_decref(request);
        return LAB_ANSWER_LOST;
    }
    json_t *got = lab_peer_ask(rival->peer, request, seconds);
    if (!got)
        return lose(rival);
    const char *status = json_string_value(json_object_get(got, "status"));
    if (strcmp(status, "ok") == 0) {
        *reply = got;
        return LAB_ANSWER_OK;
    }
    lab_answer answer = strcmp(status, "unsupported") == 0 ? LAB_ANSWER_UNSUPPORTED
                                                           : LAB_ANSWER_ERROR;
    copy_member(reason, got, "reason");
    json_decref(got);
    return refuse(rival, answer, reason[0] ? reason : "gave no reason");
}

/* Like ask(), for requests whose reply has only a status. */
static lab_answer tell(lab_rival *rival, json_t *request, double seconds)
{
    json_t *reply;
    lab_answer answer = ask(rival, request, seconds, &reply);

    json_decref(reply);
    return answer;
}

/* Reads the options in a reply to hello. */
static void read_offers(lab_rival *rival, const json_t *reply)
{
    const json_t *backends = json_object_get(reply, "backends");

    rival->ceiling = json_is_true(json_object_get(reply, "ceiling"));
    rival->period = json_is_true(json_object_get(reply, "period"));
    rival->behind = json_is_true(json_object_get(reply, "behind"));
    rival->backend_count = 0;
    for (size_t i = 0; i < json_array_size(backends) && i < LAB_RIVAL_BACKENDS_MAX; i++) {
        const char *name = json_string_value(json_array_get(backends, i));
        if (name && name[0] && strlen(name) < LAB_PEER_NAME_SIZE &&
            strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name))
            snprintf(rival->backends[rival->backend_count++], LAB_PEER_NAME_SIZE, "%s", name);
    }
}

/* A peer without device support does not return the member. */
static lab_answer check_device(lab_rival *rival, const json_t *reply)
{
    const char *device = json_string_value(json_object_get(reply, "device"));
    char reason[LAB_PEER_REASON_SIZE];

    if (!rival->device[0] || (device && strcmp(device, rival->device) == 0))
        return LAB_ANSWER_OK;
    snprintf(reason, sizeof reason, "is not timed by replays on %s", rival->device);
    return refuse(rival, LAB_ANSWER_UNSUPPORTED, reason);
}

static lab_answer hello(lab_rival *rival)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:s, s:i}", "op", "hello", "protocol", PROTOCOL, "threads",
                                rival->threads);
    if (rival->device[0])
        json_object_set_new(request, "device", json_string(rival->device));
    lab_answer answer = ask(rival, request, HELLO_SECONDS, &reply);

    if (answer != LAB_ANSWER_OK)
        return answer;
    const char *protocol = json_string_value(json_object_get(reply, "protocol"));
    json_int_t threads = json_integer_value(json_object_get(reply, "threads"));
    copy_member(rival->version, reply, "version");
    copy_member(rival->detail, reply, "detail");
    read_offers(rival, reply);
    if (!protocol || strcmp(protocol, PROTOCOL) != 0)
        answer = refuse(rival, LAB_ANSWER_ERROR, "speaks another protocol than " PROTOCOL);
    else if (threads != rival->threads)
        answer = refuse(rival, LAB_ANSWER_ERROR, "does not use the requested number of threads");
    else
        answer = check_device(rival, reply);
    json_decref(reply);
    return answer;
}

static lab_answer start(lab_rival *rival)
{
    const lab_found *found = &rival->found;
    const char *interpreter = found->interpreter[0] ? found->interpreter : NULL;

    rival->starts++;
    rival->peer = lab_peer_start(found->path, interpreter, rival->interrupted);
    if (!rival->peer)
        return refuse(rival, LAB_ANSWER_ERROR, "no memory for a peer");
    return hello(rival);
}

lab_answer lab_rival_open(lab_rival *rival, const lab_found *found, int threads, const char *device,
                          bool (*interrupted)(void))
{
    *rival = (lab_rival){
        .found = *found, .threads = threads, .interrupted = interrupted, .o_fd = -1
    };
    snprintf(rival->device, sizeof rival->device, "%s", device);
    return start(rival);
}

void lab_rival_close(lab_rival *rival)
{
    lab_close_fd(&rival->o_fd);
    lab_peer_end(rival->peer);
    rival->peer = NULL;
}

/* Rows of Q and O: with packed queries, of all sequences. */
static int64_t query_rows(const heed_problem *p)
{
    return p->tokens_q > 0 ? p->tokens_q : p->batch * p->seq_q;
}

/* Rows of K and V: packed, in a pool of pages, or of all batch elements. */
static int64_t key_rows(const heed_problem *p)
{
    return p->tokens_k > 0 ? p->tokens_k : p->page > 0 ? p->pages * p->page : p->batch * p->seq_k;
}

/* Bytes of a dense tensor of a problem that has been checked. */
static size_t tensor_size(const heed_problem *p, int64_t rows, int64_t heads, int64_t dim)
{
    return (size_t)(rows * heads * dim) * heed_type_size(p->type);
}

/* The size of such a tensor's file. */
static size_t file_size(const heed_problem *p, size_t size, int64_t period)
{
    size_t repeated = (size_t)period * heed_type_size(p->type);
    return period > 0 && repeated < size ? repeated : size;
}

static json_t *file_path(int fd)
{
    return json_sprintf("/proc/%ld/fd/%d", (long)getpid(), fd);
}

static json_t *operand_list(const lab_rival_data *data, const int *fds)
{
    json_t *list = json_array();
    for (int i = 0; i < data->operand_count; i++) {
        const lab_rival_operand *it = &data->operands[i];
        json_t *shape = json_array();
        for (int j = 0; j < it->rank; j++)
            json_array_append_new(shape, json_integer(it->shape[j]));
        json_array_append_new(list, json_pack("{s:s, s:s*, s:s, s:o, s:o}", "name", it->name,
                                              "array", it->array, "type", it->type, "shape", shape,
                                              "file", file_path(fds[i])));
    }
    return list;
}

static json_t *prepare_request(const heed_problem *p, const lab_rival_data *data,
                               const int fds[FILES_MAX], int64_t copies)
{
    static const char *const masks[] = { [HEED_MASK_NONE] = "none",
                                         [HEED_MASK_CAUSAL_TOP_LEFT] = "causal=tl",
                                         [HEED_MASK_CAUSAL_BOTTOM_RIGHT] = "causal=br" };
    static const char *const names[FILES] = { "q", "k", "v", "o" };
    char spec[HEED_SPEC_SIZE];

    heed_problem_print(p, spec, sizeof spec);
    json_t *request = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I}",
                                "op", "prepare", "spec", spec, "type", heed_type_name(p->type),
                                "mask", masks[p->mask], "batch", (json_int_t)p->batch, "heads_q",
                                (json_int_t)p->heads_q, "heads_kv", (json_int_t)p->heads_kv,
                                "seq_q", (json_int_t)p->seq_q, "seq_k", (json_int_t)p->seq_k,
                                "dim_qk", (json_int_t)p->dim_qk, "dim_v", (json_int_t)p->dim_v,
                                "scale", (double)p->scale, "copies", (json_int_t)copies);
    const struct {
        const char *name;
        int64_t value;
    } serving[] = { { "tokens_q", p->tokens_q },
                    { "tokens_k", p->tokens_k },
                    { "page", p->page },
                    { "pages", p->pages } };
    for (size_t i = 0; i < sizeof serving / sizeof *serving; i++)
        if (serving[i].value > 0)
            json_object_set_new(request, serving[i].name, json_integer(serving[i].value));
    for (int i = 0; i < FILES; i++)
        json_object_set_new(request, names[i], file_path(fds[i]));
    if (data->operand_count > 0)
        json_object_set_new(request, "operands", operand_list(data, fds + FILES));
    if (data->period > 0)
        json_object_set_new(request, "period", json_integer(data->period));
    if (data->backend)
        json_object_set_new(request, "backend", json_string(data->backend));
    if (data->behind)
        json_object_set_new(request, "behind", json_string(data->behind));
    return request;
}

/* Restarts a lost rival, if that may help. */
static lab_answer revive(lab_rival *rival)
{
    if (rival->peer)
        return LAB_ANSWER_OK;
    if (rival->lost != LAB_PEER_CRASHED || rival->starts >= STARTS_MAX)
        return LAB_ANSWER_LOST;
    return start(rival);
}

/* Shares Q, K, V, an empty O and the operands. False: no memory. */
static bool share_files(const heed_problem *p, const lab_rival_data *data, int fds[FILES_MAX])
{
    const struct {
        const char *name;
        const void *data;
        size_t size;
    } rows[FILES] = {
        { "heed-q", data->q, tensor_size(p, query_rows(p), p->heads_q, p->dim_qk) },
        { "heed-k", data->k, tensor_size(p, key_rows(p), p->heads_kv, p->dim_qk) },
        { "heed-v", data->v, p->shared ? 0 : tensor_size(p, key_rows(p), p->heads_kv, p->dim_v) },
        { "heed-o", NULL, 0 },
    };
    bool done = true;
    for (int i = 0; i < FILES_MAX; i++)
        fds[i] = -1;
    for (int i = 0; i < FILES; i++) {
        fds[i] = lab_share(rows[i].name, rows[i].data, file_size(p, rows[i].size, data->period));
        done &= fds[i] >= 0;
    }
    for (int i = 0; i < data->operand_count; i++) {
        fds[FILES + i] = lab_share("heed-operand", data->operands[i].data, data->operands[i].size);
        done &= fds[FILES + i] >= 0;
    }
    return done;
}

lab_answer lab_rival_prepare(lab_rival *rival, const heed_problem *problem,
                             const lab_rival_data *data, int64_t copies)
{
    const heed_problem *p = problem;
    int fds[FILES_MAX];
    lab_answer answer = revive(rival);
    json_t *reply = NULL;

    if (answer != LAB_ANSWER_OK)
        return answer;
    if (data->behind && !rival->behind)
        return refuse(rival, LAB_ANSWER_UNSUPPORTED,
                      "is not timed behind a kernel of another module");
    rival->method[0] = '\0';
    if (share_files(p, data, fds))
        answer = ask(rival, prepare_request(p, data, fds, copies), PREPARE_SECONDS, &reply);
    else
        answer = refuse(rival, LAB_ANSWER_ERROR, "no memory to share the tensors in");
    for (int i = 0; i < FILES_MAX; i++)
        if (fds[i] >= 0 && (i != FILE_O || answer != LAB_ANSWER_OK))
            close(fds[i]);
    if (answer == LAB_ANSWER_OK) {
        copy_member(rival->method, reply, "detail");
        rival->o_fd = fds[FILE_O];
        rival->o_size = tensor_size(p, query_rows(p), p->heads_q, p->dim_v);
    }
    json_decref(reply);
    return answer;
}

/* Time limit for work that should take @expected seconds. */
static double patience(double expected)
{
    return PATIENCE * expected > ANSWER_SECONDS ? PATIENCE * expected : ANSWER_SECONDS;
}

/* Sends a request to run @calls timed calls, and reads the time per call from the reply. */
static lab_answer ask_time(lab_rival *rival, json_t *request, int64_t calls, double expected,
                           double *seconds)
{
    json_t *reply;
    lab_answer answer = ask(rival, request, patience(expected), &reply);

    if (answer != LAB_ANSWER_OK)
        return answer;
    json_int_t ns = json_integer_value(json_object_get(reply, "ns"));
    json_int_t done = json_integer_value(json_object_get(reply, "calls"));
    json_decref(reply);
    if (ns <= 0 || done != calls)
        return refuse(rival, LAB_ANSWER_ERROR, "reported an impossible time or number of calls");
    *seconds = (double)ns * 1e-9 / (double)calls;
    return LAB_ANSWER_OK;
}

lab_answer lab_rival_run(lab_rival *rival, int64_t warmup, int64_t calls, double expected,
                         double *seconds)
{
    json_t *request = json_pack("{s:s, s:I, s:I}", "op", "run", "warmup", (json_int_t)warmup,
                                "calls", (json_int_t)calls);
    return ask_time(rival, request, calls, expected, seconds);
}

lab_answer lab_rival_replay(lab_rival *rival, int64_t calls, int64_t warmup, int64_t replays,
                            double expected, double *seconds)
{
    json_t *request = json_pack("{s:s, s:s, s:I, s:I, s:I}", "op", "run", "mode", "replay",
                                "warmup", (json_int_t)warmup, "calls", (json_int_t)calls, "replays",
                                (json_int_t)replays);
    return ask_time(rival, request, calls * replays, expected, seconds);
}

lab_answer lab_rival_eager(lab_rival *rival, int64_t calls, double expected, double *seconds)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:s, s:i, s:I}", "op", "run", "mode", "eager", "warmup", 3,
                                "calls", (json_int_t)calls);
    lab_answer answer = ask(rival, request, patience(expected), &reply);

    if (answer != LAB_ANSWER_OK)
        return answer;
    const json_t *samples = json_object_get(reply, "samples_ns");
    bool good = calls <= LAB_RIVAL_EAGER_MAX && json_array_size(samples) == (size_t)calls;
    for (size_t i = 0; good && i < (size_t)calls; i++) {
        seconds[i] = 1e-9 * (double)json_integer_value(json_array_get(samples, i));
        good = seconds[i] > 0;
    }
    json_decref(reply);
    return good ? LAB_ANSWER_OK : refuse(rival, LAB_ANSWER_ERROR, "reported impossible samples");
}

lab_answer lab_rival_check(lab_rival *rival, const int64_t *rows, int64_t count, void *o,
                           size_t size)
{
    json_t *list = rows ? json_array() : NULL;

    if (!rows && size != rival->o_size)
        return refuse(rival, LAB_ANSWER_ERROR, "has prepared a problem of another size");
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(rows[i]));
    json_t *request = json_pack("{s:s, s:o*}", "op", "check", "rows", list);
    lab_answer answer = tell(rival, request, ANSWER_SECONDS);
    if (answer == LAB_ANSWER_OK && !lab_share_read(rival->o_fd, o, size))
        return refuse(rival, LAB_ANSWER_ERROR, "wrote an O of another size");
    return answer;
}

void lab_rival_pause(lab_rival *rival)
{
    if (rival->peer)
        lab_peer_pause(rival->peer);
}

void lab_rival_release(lab_rival *rival)
{
    if (rival->o_fd >= 0)
        tell(rival, json_pack("{s:s}", "op", "release"), ANSWER_SECONDS);
    lab_close_fd(&rival->o_fd);
}

lab_answer lab_rival_sgemm(lab_rival *rival, int64_t size, double *flops)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:s, s:I}", "op", "ceiling", "kind", "sgemm", "size",
                                (json_int_t)size);
    lab_answer answer = ask(rival, request, ANSWER_SECONDS, &reply);

    if (answer != LAB_ANSWER_OK)
        return answer;
    *flops = json_number_value(json_object_get(reply, "flops"));
    json_decref(reply);
    return *flops > 0 ? LAB_ANSWER_OK
                      : refuse(rival, LAB_ANSWER_ERROR, "reported an impossible rate");
}
