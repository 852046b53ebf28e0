/*
 * bench_rivals.c - finds the rivals that were asked for, and starts them
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* The order of the matrices of whose product the rate is asked. */
#define SGEMM_SIZE 2048

const char *bench_outcome_name(bench_outcome outcome)
{
    static const char *const names[] = {
        [BENCH_OK] = "ok",         [BENCH_REFUSED] = "refused", [BENCH_SKIPPED] = "skipped",
        [BENCH_FAILED] = "failed", [BENCH_WRONG] = "wrong",     [BENCH_IMPOSSIBLE] = "impossible",
    };
    return names[outcome];
}

static bench_rival *add_rival(bench_run *bench)
{
    bench_rival *rivals = realloc(bench->rivals, (bench->rival_count + 1) * sizeof *rivals);
    if (!rivals) {
        cli_error("not enough memory for the rivals");
        return NULL;
    }
    bench->rivals = rivals;
    bench_rival *added = &rivals[bench->rival_count++];
    memset(added, 0, sizeof *added);
    added->rival.o_fd = -1;
    return added;
}

static const lab_found *find_named(const lab_found *found, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].name, name) == 0)
            return &found[i];
    return NULL;
}

/* Starts one rival. @name is in @found, or there is no such peer. */
static cli_exit open_rival(bench_run *bench, const lab_found *found, size_t count, const char *name)
{
    const lab_found *peer = find_named(found, count, name);
    bench_rival *added = add_rival(bench);
    if (!added)
        return CLI_ENVIRONMENT;
    if (!peer) {
        snprintf(added->rival.found.name, sizeof added->rival.found.name, "%s", name);
        added->outcome = BENCH_FAILED;
        snprintf(added->reason, sizeof added->reason,
                 "there is no such peer (HEED_PEERS says where to look)");
        return CLI_OK;
    }
    int threads = heed_context_threads(bench->context);
    lab_answer answer = lab_rival_open(&added->rival, peer, threads, cli_interrupted);
    added->open = answer == LAB_ANSWER_OK;
    added->outcome = answer == LAB_ANSWER_UNSUPPORTED ? BENCH_REFUSED : BENCH_FAILED;
    snprintf(added->reason, sizeof added->reason, "%s", added->rival.reason);
    lab_rival_pause(&added->rival);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static cli_exit open_all(bench_run *bench, const lab_found *found, size_t count)
{
    cli_progress progress = cli_progress_start("starting rivals", count);
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < count; i++) {
        cli_progress_step(&progress, i, found[i].name);
        code = open_rival(bench, found, count, found[i].name);
    }
    cli_progress_end(&progress);
    return code;
}

/* Starts those of @list, names separated by commas. */
static cli_exit open_listed(bench_run *bench, const lab_found *found, size_t count,
                            const char *list)
{
    char name[LAB_PEER_NAME_SIZE];
    cli_exit code = CLI_OK;
    while (code == CLI_OK && *list) {
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof name) {
            cli_error("--peers: '%.*s' is no name; names have 1 to %zu letters and are separated "
                      "by commas",
                      (int)length, list, sizeof name - 1);
            return CLI_USAGE;
        }
        memcpy(name, list, length);
        name[length] = '\0';
        code = open_rival(bench, found, count, name);
        list += length + (list[length] == ',');
    }
    return code;
}

/* The first rival that can tells how fast its matrix product is. */
static void ask_sgemm(bench_run *bench)
{
    for (size_t i = 0; i < bench->rival_count && bench->sgemm == 0; i++) {
        bench_rival *rival = &bench->rivals[i];
        if (!rival->open || !rival->rival.ceiling)
            continue;
        if (lab_rival_sgemm(&rival->rival, SGEMM_SIZE, &bench->sgemm) == LAB_ANSWER_OK)
            bench->sgemm_from = rival->rival.found.name;
        else
            bench->sgemm = 0;
        lab_rival_pause(&rival->rival);
    }
}

cli_exit bench_rivals_open(bench_run *bench)
{
    const char *list = cli_args_text(bench->args, "peers");
    lab_found *found;
    size_t count;
    if (list && strcmp(list, "none") == 0)
        return CLI_OK;
    if (lab_peers_find(&found, &count) != HEED_OK) {
        cli_error("not enough memory to look for rivals");
        return CLI_ENVIRONMENT;
    }
    cli_exit code = list ? open_listed(bench, found, count, list) : open_all(bench, found, count);
    free(found);
    if (code == CLI_OK)
        ask_sgemm(bench);
    return code;
}

void bench_rivals_close(bench_run *bench)
{
    for (size_t i = 0; i < bench->rival_count; i++)
        lab_rival_close(&bench->rivals[i].rival);
    free(bench->rivals);
    bench->rivals = NULL;
    bench->rival_count = 0;
}
