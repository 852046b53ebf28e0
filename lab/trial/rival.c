/*
 * rival.c - requests and replies, typed, and the tensors' files
 */
#define _GNU_SOURCE /* memfd_create() */
#include "rival.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROTOCOL "heed.trial/1"
/* Seconds, as protocol.md has them. */
#define ANSWER_SECONDS 60.0
#define PATIENCE 10.0
/* A rival is started at most this often. */
#define STARTS_MAX 4

/* The files of one prepare request. */
enum {
    FILE_Q,
    FILE_K,
    FILE_V,
    FILE_O,
    FILES
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
    for (char *c = text; *c; c++) /* one line, and nothing that a terminal would obey */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
}

/* The peer is lost: remembers how, and forgets it. */
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

/* As ask(), for requests whose reply says nothing more. */
static lab_answer tell(lab_rival *rival, json_t *request, double seconds)
{
    json_t *reply;
    lab_answer answer = ask(rival, request, seconds, &reply);

    json_decref(reply);
    return answer;
}

static lab_answer hello(lab_rival *rival)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:s, s:i}", "op", "hello", "protocol", PROTOCOL, "threads",
                                rival->threads);
    lab_answer answer = ask(rival, request, ANSWER_SECONDS, &reply);

    if (answer != LAB_ANSWER_OK)
        return answer;
    const char *protocol = json_string_value(json_object_get(reply, "protocol"));
    json_int_t threads = json_integer_value(json_object_get(reply, "threads"));
    copy_member(rival->version, reply, "version");
    copy_member(rival->detail, reply, "detail");
    rival->ceiling = json_is_true(json_object_get(reply, "ceiling"));
    if (!protocol || strcmp(protocol, PROTOCOL) != 0)
        answer = refuse(rival, LAB_ANSWER_ERROR, "speaks another protocol than " PROTOCOL);
    else if (threads != rival->threads)
        answer = refuse(rival, LAB_ANSWER_ERROR, "does not use as many threads as it was asked to");
    json_decref(reply);
    return answer;
}

static lab_answer start(lab_rival *rival)
{
    const lab_found *found = &rival->found;
    const lab_peer_command command = { .path = found->path,
                                       .interpreter = found->interpreter[0] ? found->interpreter
                                                                            : NULL,
                                       .interrupted = rival->interrupted };

    rival->starts++;
    rival->peer = lab_peer_start(&command);
    if (!rival->peer)
        return refuse(rival, LAB_ANSWER_ERROR, "no memory for a peer");
    return hello(rival);
}

lab_answer lab_rival_open(lab_rival *rival, const lab_found *found, int threads,
                          bool (*interrupted)(void))
{
    *rival = (lab_rival){
        .found = *found, .threads = threads, .interrupted = interrupted, .o_fd = -1
    };
    return start(rival);
}

static void close_output(lab_rival *rival)
{
    if (rival->o_fd >= 0)
        close(rival->o_fd);
    rival->o_fd = -1;
}

void lab_rival_close(lab_rival *rival)
{
    close_output(rival);
    lab_peer_end(rival->peer);
    rival->peer = NULL;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

/* A file in memory, with @data in it and sealed if that is not NULL. It is gone when the last
 * process closes it, whatever happens to heed. Returns -1 on failure. */
static int share(const char *name, const void *data, size_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || !data)
        return fd;
    if (write_all(fd, data, size) &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Bytes of a dense tensor of a problem that has been checked. */
static size_t tensor_size(const heed_problem *p, int64_t heads, int64_t seq, int64_t dim)
{
    return (size_t)(p->batch * heads * seq * dim) * heed_type_size(p->type);
}

static json_t *prepare_request(const heed_problem *p, const int fds[FILES], int64_t copies)
{
    static const char *const masks[] = { [HEED_MASK_NONE] = "none",
                                         [HEED_MASK_CAUSAL_TOP_LEFT] = "causal=tl",
                                         [HEED_MASK_CAUSAL_BOTTOM_RIGHT] = "causal=br" };
    static const char *const names[FILES] = { "q", "k", "v", "o" };
    char spec[HEED_SPEC_SIZE];
    char path[64];

    heed_problem_print(p, spec, sizeof spec);
    json_t *request = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I}",
                                "op", "prepare", "spec", spec, "type", heed_type_name(p->type),
                                "mask", masks[p->mask], "batch", (json_int_t)p->batch, "heads_q",
                                (json_int_t)p->heads_q, "heads_kv", (json_int_t)p->heads_kv,
                                "seq_q", (json_int_t)p->seq_q, "seq_k", (json_int_t)p->seq_k,
                                "dim_qk", (json_int_t)p->dim_qk, "dim_v", (json_int_t)p->dim_v,
                                "scale", (double)p->scale, "copies", (json_int_t)copies);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fds[i]);
        json_object_set_new(request, names[i], json_string(path));
    }
    return request;
}

/* Starts a lost rival again, if that may help. */
static lab_answer revive(lab_rival *rival)
{
    if (rival->peer)
        return LAB_ANSWER_OK;
    if (rival->lost != LAB_PEER_CRASHED || rival->starts >= STARTS_MAX)
        return LAB_ANSWER_LOST;
    return start(rival);
}

lab_answer lab_rival_prepare(lab_rival *rival, const heed_problem *problem,
                             const lab_rival_data *data, int64_t copies)
{
    const heed_problem *p = problem;
    size_t k_size = tensor_size(p, p->heads_kv, p->seq_k, p->dim_qk);
    size_t v_size = tensor_size(p, p->heads_kv, p->seq_k, p->dim_v);
    lab_answer answer = revive(rival);
    json_t *reply = NULL;

    if (answer != LAB_ANSWER_OK)
        return answer;
    const int fds[FILES] = {
        share("heed-q", data->q, tensor_size(p, p->heads_q, p->seq_q, p->dim_qk)),
        share("heed-k", data->k, k_size), share("heed-v", data->v, v_size), share("heed-o", NULL, 0)
    };
    rival->method[0] = '\0';
    if (fds[FILE_Q] >= 0 && fds[FILE_K] >= 0 && fds[FILE_V] >= 0 && fds[FILE_O] >= 0)
        answer = ask(rival, prepare_request(p, fds, copies), ANSWER_SECONDS, &reply);
    else
        answer = refuse(rival, LAB_ANSWER_ERROR, "no memory to share the tensors in");
    for (int i = 0; i < FILES; i++)
        if (fds[i] >= 0 && (i != FILE_O || answer != LAB_ANSWER_OK))
            close(fds[i]);
    if (answer == LAB_ANSWER_OK) {
        copy_member(rival->method, reply, "detail");
        rival->o_fd = fds[FILE_O];
        rival->o_size = tensor_size(p, p->heads_q, p->seq_q, p->dim_v);
    }
    json_decref(reply);
    return answer;
}

lab_answer lab_rival_run(lab_rival *rival, int64_t warmup, int64_t calls, double expected,
                         double *seconds)
{
    json_t *reply;
    double limit = PATIENCE * expected > ANSWER_SECONDS ? PATIENCE * expected : ANSWER_SECONDS;
    json_t *request = json_pack("{s:s, s:I, s:I}", "op", "run", "warmup", (json_int_t)warmup,
                                "calls", (json_int_t)calls);
    lab_answer answer = ask(rival, request, limit, &reply);

    if (answer != LAB_ANSWER_OK)
        return answer;
    json_int_t ns = json_integer_value(json_object_get(reply, "ns"));
    json_int_t done = json_integer_value(json_object_get(reply, "calls"));
    json_decref(reply);
    if (ns <= 0 || done != calls)
        return refuse(rival, LAB_ANSWER_ERROR,
                      "reported a time or a number of calls that cannot be");
    *seconds = (double)ns * 1e-9 / (double)calls;
    return LAB_ANSWER_OK;
}

static bool read_all(int fd, char *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, data + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

lab_answer lab_rival_check(lab_rival *rival, void *o, size_t size)
{
    lab_answer answer = tell(rival, json_pack("{s:s}", "op", "check"), ANSWER_SECONDS);
    struct stat status;

    if (answer != LAB_ANSWER_OK)
        return answer;
    if (size != rival->o_size || fstat(rival->o_fd, &status) != 0 ||
        (size_t)status.st_size != size || !read_all(rival->o_fd, o, size))
        return refuse(rival, LAB_ANSWER_ERROR, "wrote an O of another size");
    return LAB_ANSWER_OK;
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
    close_output(rival);
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
                      : refuse(rival, LAB_ANSWER_ERROR, "reported a rate that cannot be");
}
