/*
 * sweep_board.c - trials of `heed sweep` on the board
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"
#include "wisdom_line.h"

/* ---- A run ---- */

/* All that decides what a run does, but how long it may take. */
static void make_key(const sweep_run *run, char key[LAB_RECORD_HASH_SIZE + 8])
{
    char hash[LAB_RECORD_HASH_SIZE], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    snprintf(key, LAB_RECORD_HASH_SIZE + 8, "sweep");
    if (!stream)
        return;
    fprintf(stream, "%s %s %s\n%s\n%s %d\n%s\n%lld %d\n", run->space.name, run->kernel,
            cli_args_text(run->args, "strategy"), run->device, run->board->place.features,
            run->board->place.environment.threads, heed_wisdom_build(),
            (long long)cli_args_integer(run->args, "seed"), run->cold);
    for (size_t i = 0; i < run->problems.count; i++)
        fprintf(stream, "%s\n", run->shapes[i].spec);
    if (fclose(stream) == 0) {
        lab_record_hash(text, size, hash);
        snprintf(key, LAB_RECORD_HASH_SIZE + 8, "sweep %s", hash);
    }
    free(text);
}

static heed_status begin(sweep_run *run, lab_error *error)
{
    char key[LAB_RECORD_HASH_SIZE + 8], command[512];
    sweep_board *board = run->board;
    make_key(run, key);
    snprintf(command, sizeof command, "heed sweep %s '%.200s'%s", run->space.name,
             run->shapes[0].spec, run->problems.count > 1 ? " ..." : "");
    const lab_record_work work = { .key = key,
                                   .verb = "sweep",
                                   .command = command,
                                   .seed = (uint64_t)cli_args_integer(run->args, "seed") };
    heed_status status = lab_record_begin(board->record, &work, &board->run, &board->resumed,
                                          error);
    if (status == HEED_OK)
        status = cli_board_selftest_find(board->record, board->place.device.backend,
                                         &board->selftest, error);
    return status;
}

cli_exit sweep_board_open(sweep_run *run)
{
    lab_error error;
    if (cli_args_flag(run->args, "no-board"))
        return CLI_OK;
    sweep_board *board = calloc(1, sizeof *board);
    if (!board) {
        cli_error("not enough memory for the board");
        return CLI_ENVIRONMENT;
    }
    run->board = board;
    cli_exit code = cli_board_open(&board->record, LAB_RECORD_WRITE, run->args);
    if (code != CLI_OK)
        return code;
    cli_board_place_read(&board->place, run->context);
    heed_status status = begin(run, &error);
    if (status == HEED_OK && board->resumed)
        cli_message("run %lld, which was not finished, goes on", (long long)board->run);
    return status == HEED_OK ? CLI_OK : cli_board_fail(status, &error);
}

cli_exit sweep_board_close(sweep_run *run, cli_exit code)
{
    lab_error error;
    sweep_board *board = run->board;
    heed_status status = HEED_OK;
    lab_record_state state = code == CLI_OK || code == CLI_VERIFY_FAILED ? LAB_RECORD_FINISHED
                             : code == CLI_INTERRUPTED                   ? LAB_RECORD_INTERRUPTED
                                                                         : LAB_RECORD_BROKEN;
    if (!board)
        return code;
    if (board->run > 0)
        status = lab_record_end(board->record, board->run, state, NULL, &error);
    lab_record_close(board->record);
    cli_board_place_free(&board->place);
    free(board);
    run->board = NULL;
    return status == HEED_OK || code != CLI_OK ? code : cli_board_fail(status, &error);
}

/* ---- Trials ---- */

/* The texts that a trial points to. */
typedef struct trial_words {
    char kernel[HEED_NAME_SIZE], thought[LAB_POINT_TEXT];
} trial_words;

/* That of the kernel, with its config, that is the first of @words. */
static lab_record_trial trial_named(const sweep_run *run, size_t shape, int attempt,
                                    trial_words *words)
{
    const sweep_board *board = run->board;
    uint64_t seed = (uint64_t)cli_args_integer(run->args, "seed");
    char *config = strstr(words->kernel, "__");
    if (config)
        *config = '\0';
    return (lab_record_trial){ .run = board->run,
                               .candidate = { .kernel = words->kernel,
                                              .config = config ? config + 2 : "",
                                              .proposer = "sweep",
                                              .seed = seed,
                                              .thought = words->thought },
                               .problem = &run->problems.items[shape],
                               .attempt = attempt,
                               .device = board->place.device,
                               .environment = board->place.environment,
                               .selftest = board->selftest,
                               .seed = seed };
}

static lab_record_trial trial_of(const sweep_run *run, const lab_point *point, size_t shape,
                                 int attempt, trial_words *words)
{
    lab_space_name(&run->space, point, run->kernel, words->kernel, NULL);
    lab_point_print(&run->space, point, words->thought);
    return trial_named(run, shape, attempt, words);
}

heed_status sweep_board_find(sweep_run *run, const lab_point *point, int shape, int effort,
                             lab_evaluation *result, bool *found)
{
    trial_words words;
    lab_record_found known = { .trial = 0 };
    lab_error error;
    *found = false;
    if (!run->board)
        return HEED_OK;
    const lab_record_trial trial = trial_of(run, point, (size_t)shape, effort, &words);
    heed_status status = lab_record_find(run->board->record, &trial, &known, &error);
    if (status != HEED_OK)
        snprintf(run->trouble, sizeof run->trouble, "%s", error.text);
    *found = status == HEED_OK && known.trial > 0;
    if (*found)
        *result = lab_entry_evaluation(&known);
    return status;
}

static heed_status append(sweep_run *run, lab_record_trial *trial)
{
    lab_error error;
    cli_board_roof(&run->board->place, trial);
    heed_status status = lab_record_append(run->board->record, trial, NULL, &error);
    if (status != HEED_OK)
        snprintf(run->trouble, sizeof run->trouble, "%s", error.text);
    return status;
}

heed_status sweep_board_add(sweep_run *run, const lab_point *point, int shape, int effort,
                            const lab_evaluation *result)
{
    trial_words words;
    lab_entry_parts parts;
    if (!run->board || result->fate == LAB_FATE_PRUNED) /* which is soon found out anew */
        return HEED_OK;
    lab_record_trial trial = trial_of(run, point, (size_t)shape, effort, &words);
    trial.started = run->started;
    lab_entry_take(&trial, &parts, result, run->cold);
    return append(run, &trial);
}

heed_status sweep_board_add_refused(sweep_run *run, const lab_point *point)
{
    static const char why[] = "it does not pass 'heed verify --once' on the problems of the sweep";
    heed_status status = HEED_OK;
    for (size_t i = 0; run->board && i < run->problems.count && status == HEED_OK; i++) {
        trial_words words;
        const lab_record_gate gate = { .name = "verify", .passed = false };
        lab_record_trial trial = trial_of(run, point, i, SWEEP_REFUSED, &words);
        trial.verdict = LAB_RECORD_WRONG;
        trial.reason = why;
        trial.gates = &gate;
        trial.gate_count = 1;
        status = append(run, &trial);
    }
    return status;
}

heed_status sweep_board_add_alone(sweep_run *run, const lab_point *point, size_t number,
                                  const lab_evaluation *result)
{
    trial_words words;
    lab_entry_parts parts;
    lab_record_trial trial = trial_of(run, point, number, SWEEP_COMPARED, &words);
    trial.started = run->started;
    lab_entry_take_confirmed(&trial, &parts, result, run->cold);
    return append(run, &trial);
}

heed_status sweep_board_add_plan(sweep_run *run, size_t number, const lab_duel *duel)
{
    const lab_evaluation result = { .samples = duel->b, .sample_count = duel->pairs };
    trial_words words = { .thought = "what heed plans" };
    lab_entry_parts parts;
    snprintf(words.kernel, sizeof words.kernel, "%s", run->shapes[number].usual);
    lab_record_trial trial = trial_named(run, number, SWEEP_COMPARED, &words);
    lab_entry_take_confirmed(&trial, &parts, &result, run->cold);
    return append(run, &trial);
}

heed_status sweep_board_add_duel(sweep_run *run, const lab_point *point, size_t number,
                                 const lab_duel *duel)
{
    trial_words words;
    lab_entry_parts parts;
    if (!run->board)
        return HEED_OK;
    lab_record_trial trial = trial_of(run, point, number, SWEEP_COMPARED, &words);
    const lab_record_gate gate = { .name = "verify", .passed = true };
    trial.verdict = LAB_RECORD_OK;
    trial.confirmed = run->verified; /* nobody chose it by these samples */
    trial.gates = &gate;
    trial.gate_count = run->verified;
    heed_status status = lab_entry_take_turns(&trial, &parts, duel, &duel->comparison,
                                              run->shapes[number].usual, run->cold);
    return status == HEED_OK ? append(run, &trial) : status;
}
