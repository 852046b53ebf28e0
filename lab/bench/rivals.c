/*
 * rivals.c - finds the selected rivals, and starts the peers that they need
 */
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/base/suggest.h"
#include "lab/bench/bench.h"

/* The order of the matrices for the sgemm rate. */
#define SGEMM_SIZE 2048

const char *lab_bench_outcome_name(lab_bench_outcome outcome)
{
    static const char *const names[] = {
        [LAB_BENCH_OK] = "ok",           [LAB_BENCH_REFUSED] = "refused",
        [LAB_BENCH_SKIPPED] = "skipped", [LAB_BENCH_FAILED] = "failed",
        [LAB_BENCH_WRONG] = "wrong",     [LAB_BENCH_IMPOSSIBLE] = "impossible",
    };
    return names[outcome];
}

lab_bench_outcome lab_bench_outcome_of(heed_status status, char reason[LAB_PEER_REASON_SIZE])
{
    snprintf(reason, LAB_PEER_REASON_SIZE, "%s",
             status == HEED_ERR_NO_MEMORY ? "not enough memory" : heed_message());
    return status == HEED_ERR_UNSUPPORTED ? LAB_BENCH_REFUSED : LAB_BENCH_FAILED;
}

static lab_bench_rival *add_rival(lab_bench *bench)
{
    if (!lab_grow(&bench->rivals, bench->rival_count, sizeof *bench->rivals))
        return NULL;
    lab_bench_rival *added = &bench->rivals[bench->rival_count++];
    memset(added, 0, sizeof *added);
    return added;
}

static lab_rival *add_peer(lab_bench *bench)
{
    lab_rival *peer = calloc(1, sizeof *peer);
    if (!peer || !lab_grow(&bench->peers, bench->peer_count, sizeof *bench->peers)) {
        free(peer);
        return NULL;
    }
    peer->o_fd = -1;
    bench->peers[bench->peer_count++] = peer;
    return peer;
}

/* Backends that are not part of their peer's library have separate names. They are timed only if
 * named, not with their peer. */
static const struct {
    const char *name, *peer;
} own_names[] = {
    { "fa3", "torch" }, { "fa2", "torch" }, { "flex", "torch" }, { "flashinfer", "torch" }
};
#define OWN_NAMES (sizeof own_names / sizeof *own_names)

/* Returns the peer of the backend @name, or NULL if that has no separate name. */
static const char *peer_of(const char *name)
{
    for (size_t i = 0; i < OWN_NAMES; i++)
        if (strcmp(own_names[i].name, name) == 0)
            return own_names[i].peer;
    return NULL;
}

static bool has_own_name(const char *peer, const char *backend)
{
    const char *owner = peer_of(backend);
    return owner && strcmp(owner, peer) == 0;
}

static const lab_found *find_named(const lab_found *found, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].name, name) == 0)
            return &found[i];
    return NULL;
}

/* The peer and backend that a rival's name selects. */
typedef struct meaning {
    char peer[LAB_PEER_NAME_SIZE];
    const char *backend; /* NULL: none was named */
} meaning;

static meaning read_name(const lab_found *found, size_t count, const char *name)
{
    const char *dash = strchr(name, '-');
    const char *owner = find_named(found, count, name) ? NULL : peer_of(name);
    meaning it = { .backend = owner ? name : dash ? dash + 1 : NULL };
    if (owner)
        snprintf(it.peer, sizeof it.peer, "%s", owner);
    else
        snprintf(it.peer, sizeof it.peer, "%.*s", (int)strcspn(name, "-"), name);
    return it;
}

/* Adds a rival that is not available, and the reason. */
static heed_status add_absent(lab_bench *bench, const char *name, lab_bench_outcome outcome,
                              const char *reason)
{
    lab_bench_rival *added = add_rival(bench);
    if (!added)
        return HEED_ERR_NO_MEMORY;
    snprintf(added->name, sizeof added->name, "%s", name);
    added->outcome = outcome;
    snprintf(added->reason, sizeof added->reason, "%s", reason);
    return HEED_OK;
}

/* Adds a rival of an open peer. */
static heed_status add_present(lab_bench *bench, lab_rival *peer, const char *backend)
{
    lab_bench_rival *added = add_rival(bench);
    if (!added)
        return HEED_ERR_NO_MEMORY;
    if (backend && has_own_name(peer->found.name, backend))
        snprintf(added->name, sizeof added->name, "%s", backend);
    else
        snprintf(added->name, sizeof added->name, "%s%s%s", peer->found.name, backend ? "-" : "",
                 backend ? backend : "");
    added->peer = peer;
    added->backend = backend;
    added->open = true;
    return HEED_OK;
}

/* Starts @found unless it is running. *@answer: the result of its hello. */
static lab_rival *open_peer(lab_bench *bench, const lab_found *found, lab_answer *answer)
{
    for (size_t i = 0; i < bench->peer_count; i++)
        if (strcmp(bench->peers[i]->found.name, found->name) == 0) {
            *answer = bench->peers[i]->peer ? LAB_ANSWER_OK : LAB_ANSWER_LOST;
            return bench->peers[i];
        }
    lab_rival *peer = add_peer(bench);
    if (!peer)
        return NULL;
    *answer = lab_rival_open(peer, found, heed_context_threads(bench->context), bench->device,
                             bench->sink ? bench->sink->interrupted : NULL);
    lab_rival_pause(peer);
    return peer;
}

/* @name, or its part before the first dash, must be a peer that was found: a typo must not silently
 * drop a rival. */
static heed_status refuse_peer(const lab_bench *bench, const lab_found *found, size_t count,
                               const char *first, lab_error *error)
{
    char advice[LAB_ADVICE_SIZE];
    lab_suggestion suggestion = lab_suggest(first);
    if (peer_of(first) && find_named(found, count, peer_of(first)))
        return lab_fail(error, HEED_ERR_INVALID, "%s is a backend itself, and has none", first);
    for (size_t i = 0; i < count; i++)
        lab_suggest_consider(&suggestion, found[i].name);
    for (size_t i = 0; i < OWN_NAMES; i++)
        if (find_named(found, count, own_names[i].peer))
            lab_suggest_consider(&suggestion, own_names[i].name);
    if (suggestion.best)
        return lab_fail(error, HEED_ERR_INVALID, "there is no rival '%s' here; did you mean '%s'?",
                        first, suggestion.best);
    return lab_fail(error, HEED_ERR_INVALID,
                    "there is no rival '%s' here (HEED_PEERS says where else to look%s)", first,
                    lab_advise(bench->sink, LAB_ADVICE_RIVALS, advice));
}

/* The same for a backend, which must be in the peer's list for this device. */
static heed_status refuse_backend(const lab_rival *peer, const char *backend, lab_error *error)
{
    char list[256] = "";
    lab_suggestion suggestion = lab_suggest(backend);
    for (size_t i = 0, length = 0; i < peer->backend_count && length < sizeof list; i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                   peer->backends[i]);
        lab_suggest_consider(&suggestion, peer->backends[i]);
    }
    if (suggestion.best)
        return lab_fail(error, HEED_ERR_INVALID,
                        "%s has no backend '%s' here; did you mean '%s-%s'?", peer->found.name,
                        backend, peer->found.name, suggestion.best);
    return lab_fail(error, HEED_ERR_INVALID, "%s has no backend '%s' here%s%s", peer->found.name,
                    backend, *list ? "; it has " : "", list);
}

/* Adds the backend @backend of @peer; NULL: all except those with separate names. */
static heed_status add_backends(lab_bench *bench, lab_rival *peer, const char *backend)
{
    for (size_t i = 0; i < peer->backend_count; i++) {
        const char *known = peer->backends[i];
        if (backend ? strcmp(known, backend) != 0 : has_own_name(peer->found.name, known))
            continue;
        if (add_present(bench, peer, known) != HEED_OK)
            return HEED_ERR_NO_MEMORY;
    }
    return HEED_OK;
}

/* Adds the rival @name: the backend that it names, or else all backends. */
static heed_status open_rival(lab_bench *bench, const lab_found *found, size_t count,
                              const char *name, lab_error *error)
{
    lab_answer answer;
    const meaning it = read_name(found, count, name);
    const lab_found *file = find_named(found, count, it.peer);
    if (!file)
        return refuse_peer(bench, found, count, it.peer, error);
    if (lab_bench_late(bench))
        return add_absent(bench, name, LAB_BENCH_SKIPPED, "no time was left to start it");
    lab_rival *peer = open_peer(bench, file, &answer);
    if (!peer)
        return HEED_ERR_NO_MEMORY;
    if (lab_interrupted(bench->sink))
        return HEED_ERR_SYSTEM;
    if (answer != LAB_ANSWER_OK)
        return add_absent(bench, name,
                          answer == LAB_ANSWER_UNSUPPORTED ? LAB_BENCH_REFUSED : LAB_BENCH_FAILED,
                          peer->reason);
    size_t before = bench->rival_count;
    heed_status status = add_backends(bench, peer, it.backend);
    if (status != HEED_OK || bench->rival_count > before)
        return status;
    if (!it.backend)
        return add_present(bench, peer, NULL);
    if (has_own_name(it.peer, it.backend))
        return add_absent(bench, it.backend, LAB_BENCH_REFUSED, "computes on CUDA devices alone");
    return refuse_backend(peer, it.backend, error);
}

static heed_status open_all(lab_bench *bench, const lab_found *found, size_t count,
                            lab_error *error)
{
    lab_progress progress = lab_progress_start(bench->sink, "starting rivals", count);
    heed_status status = HEED_OK;
    for (size_t i = 0; status == HEED_OK && i < count; i++) {
        lab_progress_step(&progress, i, found[i].name);
        status = open_rival(bench, found, count, found[i].name, error);
    }
    lab_progress_end(&progress);
    return status;
}

/* Checks that the files for a name exist: for all names before the first is started. */
static heed_status check_rival(lab_bench *bench, const lab_found *found, size_t count,
                               const char *name, lab_error *error)
{
    const meaning it = read_name(found, count, name);
    return find_named(found, count, it.peer) ? HEED_OK
                                             : refuse_peer(bench, found, count, it.peer, error);
}

typedef heed_status rival_fn(lab_bench *bench, const lab_found *found, size_t count,
                             const char *name, lab_error *error);

/* Calls @each for the comma-separated names in @list. */
static heed_status for_listed(lab_bench *bench, const lab_found *found, size_t count,
                              const char *list, rival_fn *each, lab_error *error)
{
    char name[sizeof bench->rivals->name];
    heed_status status = HEED_OK;
    while (status == HEED_OK && *list) {
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof name)
            return lab_fail(
                error, HEED_ERR_INVALID,
                "'%.*s' is not a name; names have 1 to %zu letters and are separated by commas",
                (int)length, list, sizeof name - 1);
        memcpy(name, list, length);
        name[length] = '\0';
        status = each(bench, found, count, name, error);
        list += length + (list[length] == ',');
    }
    return status;
}

static heed_status open_listed(lab_bench *bench, const lab_found *found, size_t count,
                               lab_error *error)
{
    heed_status status = for_listed(bench, found, count, bench->rival_names, check_rival, error);
    if (status != HEED_OK)
        return status;
    return for_listed(bench, found, count, bench->rival_names, open_rival, error);
}

/* Gets the matrix product rate from the first peer that reports it. */
static void ask_sgemm(lab_bench *bench)
{
    for (size_t i = 0; i < bench->peer_count && bench->sgemm == 0; i++) {
        lab_rival *peer = bench->peers[i];
        if (!peer->peer || !peer->ceiling || lab_bench_late(bench))
            continue;
        if (lab_rival_sgemm(peer, SGEMM_SIZE, &bench->sgemm) == LAB_ANSWER_OK)
            bench->sgemm_from = peer->found.name;
        else
            bench->sgemm = 0;
        lab_rival_pause(peer);
    }
}

heed_status lab_bench_rivals_check(lab_bench *bench, lab_error *error)
{
    lab_found *found;
    size_t count;
    if (!bench->rival_names || strcmp(bench->rival_names, "none") == 0)
        return HEED_OK;
    if (lab_peers_find(&found, &count) != HEED_OK)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory to look for rivals");
    heed_status status = for_listed(bench, found, count, bench->rival_names, check_rival, error);
    free(found);
    return status;
}

heed_status lab_bench_rivals_open(lab_bench *bench, lab_error *error)
{
    lab_found *found;
    size_t count;
    if (bench->rival_names ? strcmp(bench->rival_names, "none") == 0 : bench->own != NULL)
        return HEED_OK; /* a caller with a separate kernel checks that one */
    if (lab_peers_find(&found, &count) != HEED_OK)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory to look for rivals");
    heed_status status = bench->rival_names ? open_listed(bench, found, count, error)
                                            : open_all(bench, found, count, error);
    free(found);
    if (status == HEED_OK)
        ask_sgemm(bench);
    if (status == HEED_ERR_NO_MEMORY)
        lab_fail(error, status, "not enough memory for the rivals");
    return status;
}

void lab_bench_rivals_close(lab_bench *bench)
{
    for (size_t i = 0; i < bench->peer_count; i++) {
        lab_rival_close(bench->peers[i]);
        free(bench->peers[i]);
    }
    free(bench->peers);
    free(bench->rivals);
    bench->peers = NULL;
    bench->rivals = NULL;
    bench->peer_count = bench->rival_count = 0;
}
