/*
 * test_laboratory.c - sweep, evolve, tune, board and gate, one after the other, on any device
 *
 *     test_laboratory HEED
 *
 * HEED is the program; HEED_DEVICE must name the device. This repeats the laboratory's longer
 * tests, which run on a CPU, in short form on a GPU. The last line has the counts; the exit status
 * is 77 if there is nothing to test.
 *
 * The first `heed evolve` tries the gates, as users see it. If HEED_TEST_SELFTEST is set to a board
 * with a selftest, later ones rely on that.
 *
 * Each row below is a shell command, run in a shared directory, with its exit status and a check of
 * the JSON that it prints. No time is asserted, except the ratio of a naive kernel to a fast one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "lab/record/record.h"
#include "measure.h"
#include "tally.h"

#define EXIT_SKIPPED 77
#define NOTHING (-1) /* the exit status does not matter */
#define NO_POINT 1   /* of heed sweep: no point of the space ran */
#define NO_KERNEL 4  /* and: the kernel needs another device */

/* The test data for a kind of device: a space of configs, two problems, a naive kernel. */
typedef struct scene {
    const char *device, *space, *problem, *other, *naive;
} scene;

static const scene scenes[] = {
    { "cuda", "sweep90", "b1 h8 s512 d64 f16", "b2 h8 s512 d64 f16 causal", "fwd_any_sm80_naive" },
    { "cpu", "cpu_tile", "b1 h2 s256 d64 f32", "b1 h4 s128 d64 f32 causal", "fwd_any_scalar_row" },
};

/* A command, and the check of its output; the check gets the JSON, or NULL. */
typedef struct step {
    const char *name, *line;
    int code;
    bool (*check)(const json_t *said);
} step;

/* -------------------------------------------------------------------------- */
/* Expectations                                                               */
/* -------------------------------------------------------------------------- */

static json_int_t integer_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

static const json_t *first_of(const json_t *object, const char *name)
{
    return json_array_get(json_object_get(object, name), 0);
}

/* Points ran, and the best passed all gates. */
static bool swept(const json_t *said)
{
    const json_t *best = first_of(said, "trials");
    return integer_of(said, "launched") > 0 && integer_of(said, "launched") <= 4 &&
           is_true(said, "verified") && number_of(best, "mean_seconds") > 0 &&
           strcmp(text_of(best, "gates"), "all") == 0;
}

static bool known(const json_t *said)
{
    return integer_of(said, "evaluations") > 0 &&
           integer_of(said, "reused") == integer_of(said, "evaluations");
}

/* Trials that a killed run had added to the board, at least two, are not repeated. */
static bool went_on(const json_t *said)
{
    return integer_of(said, "reused") >= 2 && integer_of(said, "launched") > 0;
}

static bool halved(const json_t *said)
{
    return json_array_size(json_object_get(said, "shapes")) == 2 &&
           integer_of(said, "launched") > 0 &&
           number_of(first_of(said, "trials"), "mean_seconds") > 0;
}

static bool replayed(const json_t *said)
{
    return number_of(said, "best_seconds") > 0 &&
           json_array_size(json_object_get(said, "strategies")) >= 4;
}

static bool proposed(const json_t *said)
{
    return integer_of(said, "tried") == 2 && integer_of(said, "right") >= 1 &&
           number_of(json_object_get(said, "champion"), "mean_seconds") > 0;
}

/* A user's kernel is not named like heed's own kernels. */
static bool is_source(const json_t *row)
{
    return strncmp(text_of(row, "kernel"), "fwd", 3) != 0;
}

/* The plain source is slower than heed's own plan, which was timed against it and leads. */
static bool plan_leads(const json_t *said)
{
    return !is_source(first_of(said, "rows"));
}

/* A promoted source leads, however slow it is. Promotes the first in the ranking; later commands
 * need its name. */
static bool promote_source(const json_t *said)
{
    lab_record *record;
    lab_error error;
    const json_t *rows = json_object_get(said, "rows");
    size_t index = 0;
    while (index < json_array_size(rows) && !is_source(json_array_get(rows, index)))
        index++;
    const json_t *row = json_array_get(rows, index);
    setenv("source", text_of(row, "kernel"), 1);
    if (!row || lab_record_open(&record, "source.db", LAB_RECORD_WRITE, &error) != HEED_OK)
        return false;
    heed_status status = lab_record_promote(record, integer_of(row, "trial"), 0, "by the test",
                                            &error);
    lab_record_close(record);
    return status == HEED_OK;
}

static bool source_leads(const json_t *said)
{
    return strcmp(text_of(first_of(said, "rows"), "kernel"), getenv("source")) == 0;
}

/* The champion took the lead from the naive kernel. */
static bool evolved(const json_t *said)
{
    return integer_of(said, "launched") > 0 && is_true(said, "verified") &&
           integer_of(said, "titles") == 1 &&
           strcmp(text_of(first_of(said, "best"), "gates"), "all") == 0;
}

/* heed's plan is not slower than the source that leads. The comparison ends as soon as that is
 * shown, perhaps with a low bound below 1; the source takes 8 to 30 times as long. */
static bool passes(const json_t *said)
{
    const json_t *shape = first_of(said, "shapes");
    return strcmp(text_of(shape, "champion"), getenv("source")) == 0 &&
           strcmp(text_of(shape, "verdict"), "PASS") == 0 && number_of(shape, "ratio") > 1.03;
}

/* The source was timed against it twice, and lost. */
static bool source_lost(const json_t *said)
{
    const json_t *leader = json_object_get(first_of(said, "shapes"), "leader");
    return strcmp(text_of(leader, "name"), getenv("source")) == 0 && is_true(leader, "beaten") &&
           number_of(json_object_get(leader, "first"), "low") > 1.03 &&
           number_of(json_object_get(leader, "again"), "low") > 1.03;
}

static bool source_is_gone(const json_t *said)
{
    const json_t *row = first_of(said, "rows");
    return strcmp(text_of(row, "kernel"), getenv("source")) != 0 && is_true(row, "promoted");
}

/* The naive kernel led, and lost the lead to another, whose name later commands need. */
static bool tuned(const json_t *said)
{
    const json_t *shape = first_of(said, "shapes"), *again = json_object_get(shape, "again");
    setenv("best", text_of(shape, "best"), 1);
    return strncmp(text_of(shape, "champion"), getenv("naive"), strlen(getenv("naive"))) == 0 &&
           is_true(shape, "improved") && strcmp(text_of(shape, "gates"), "all") == 0 &&
           strcmp(text_of(again, "verdict"), "FASTER") == 0 && number_of(again, "low") > 1.03 &&
           number_of(shape, "best_seconds") < number_of(shape, "champion_seconds");
}

/* Three trials were on the board: that of the leading plan, which is measured again, and two of the
 * search. */
static bool resumed(const json_t *said)
{
    return is_true(said, "resumed") && integer_of(first_of(said, "shapes"), "reused") >= 2;
}

static bool plans_best(const json_t *said)
{
    return strcmp(text_of(first_of(said, "plans"), "kernel"), getenv("best")) == 0;
}

static bool leads(const json_t *said)
{
    const json_t *row = first_of(said, "rows");
    const char *kernel = text_of(row, "kernel"), *best = getenv("best");
    size_t length = strlen(kernel); /* best: "KERNEL__CONFIG" */
    return length > 0 && strncmp(best, kernel, length) == 0 && strlen(best) > length + 2 &&
           strcmp(best + length + 2, text_of(row, "config")) == 0 && is_true(row, "promoted") &&
           number_of(row, "seconds") > 0;
}

static bool same(const json_t *said)
{
    return strcmp(text_of(first_of(said, "shapes"), "verdict"), "SAME") == 0;
}

static bool slower(const json_t *said)
{
    const json_t *shape = first_of(said, "shapes");
    return strcmp(text_of(shape, "verdict"), "SLOWER") == 0 && number_of(shape, "high") < 0.98;
}

/* Every criterion has a verdict, and a figure or the reason why not. */
static bool judged(const json_t *said)
{
    const json_t *criteria = json_object_get(said, "criteria"), *one;
    size_t i;
    json_array_foreach(criteria, i,
                       one) if (!*text_of(one, "verdict") || !*text_of(one, "figure")) return false;
    return json_array_size(criteria) == 5;
}

/* Of 50 kernels that were compared with themselves at 99 % confidence each, more than 4 are called
 * FASTER or SLOWER by chance alone once in 7000 runs, however busy the machine is. */
static bool honest(const json_t *said)
{
    const json_t *rows = json_object_get(said, "rows"), *row;
    size_t i, told = 0;
    json_array_foreach(rows, i, row)
    {
        const json_t *figures = json_object_get(row, "figures");
        const char *verdict = text_of(figures, "verdict");
        if (strcmp(text_of(row, "outcome"), "ok") != 0)
            return false;
        told += strcmp(verdict, "FASTER") == 0 || strcmp(verdict, "SLOWER") == 0;
    }
    return json_array_size(rows) == 50 && told <= 4;
}

/* -------------------------------------------------------------------------- */
/* The steps                                                                  */
/* -------------------------------------------------------------------------- */

/* Starts "$heed" with the arguments of a line, in a new process group, and sends it $signal when
 * there are $trials trials on $board. */
#define UNTIL_TRIALS                                                                             \
    " & for i in $(seq 3000); do n=$(\"$heed\" board check --board $board 2>/dev/null | "        \
    "head -1 | cut -d' ' -f1); [ \"${n:-0}\" -ge $trials ] && break; kill -0 $! 2>/dev/null || " \
    "break; sleep 0.02; done; kill -$signal $!; wait $!"

#define SWEEP_KILLED                                                                             \
    "\"$heed\" sweep $space \"$problem\" --board killed.db --trials 5 --strategy random --json " \
    "--no-verify --no-compare"
#define TUNE_STOPPED                                                                         \
    "\"$heed\" tune \"$problem\" --board stopped.db --space $space --seconds 40 --trials 5 " \
    "--peers none --rivals 0.05 --duel 0.3 --insights none --json"

/* A gate on a board, with more seconds if the machine was too busy to decide. */
#define GATE(what)                                                                         \
    "for s in 2 8 30; do \"$heed\" gate " what " --seconds $s --json >one.json; code=$?; " \
    "[ $code -eq 8 ] || break; done; cat one.json; (exit $code)"

static const step steps[] = {
    { "sweep", "\"$heed\" sweep $space \"$problem\" --trials 4 --record trials.txt --json", 0,
      swept },
    { "the same again, from its record",
      "\"$heed\" sweep $space \"$problem\" --trials 4 --record trials.txt --no-verify --no-compare "
      "--board other.db --json",
      0, known },
    { "sweep, killed", "set -m; board=killed.db signal=KILL trials=2; " SWEEP_KILLED UNTIL_TRIALS,
      137, NULL },
    { "its board is whole", "\"$heed\" board check --board killed.db", 0, NULL },
    { "sweep, gone on with", SWEEP_KILLED, 0, went_on },
    { "sweep over two problems by halves",
      "\"$heed\" sweep $space \"$problem\" \"$other\" --strategy halving --trials 4 --no-verify "
      "--no-compare --json",
      0, halved },
    { "replay", "\"$heed\" sweep $space --replay trials.txt --runs 5 --json", 0, replayed },
    { "evolve sources",
      "\"$heed\" evolve \"$problem\" --proposer regions --trials 2 --board source.db --json", 0,
      proposed },
    { "heed's plan leads", "\"$heed\" board --board source.db --json", 0, plan_leads },
    { "a source is promoted", "\"$heed\" board --ranking --board source.db --json", 0,
      promote_source },
    { "it leads", "\"$heed\" board --board source.db --json", 0, source_leads },
    { "gate: the plan beside it", GATE("--board source.db"), 0, passes },
    { "tune, which meets it",
      "\"$heed\" tune \"$problem\" --board source.db --seconds 60 --trials 2 --peers none --rivals "
      "0.1 --duel 2 --insights none --json",
      0, source_lost },
    { "it leads no more", "\"$heed\" board --board source.db --json", 0, source_is_gone },
    { "a naive kernel leads",
      "[ -z \"$HEED_TEST_SELFTEST\" ] || cp \"$HEED_TEST_SELFTEST\" tuned.db; "
      "\"$heed\" bench \"$problem\" --kernel $naive --peers none --seconds 0.05 --json >naive.json "
      "&& \"$heed\" board add naive.json --board tuned.db && cp tuned.db evolved.db",
      0, NULL },
    { "evolve, which meets it",
      "\"$heed\" evolve \"$problem\" --trials 3 --seconds 300 --board evolved.db --json", 0,
      evolved },
    { "tune",
      "\"$heed\" tune \"$problem\" --board tuned.db --seconds 60 --trials 4 --peers none --rivals "
      "0.1 --duel 2 --wisdom wisdom.txt --json",
      0, tuned },
    { "plan by its wisdom", "\"$heed\" plan --wisdom wisdom.txt \"$problem\" --json", 0,
      plans_best },
    { "board", "\"$heed\" board --board tuned.db --json", 0, leads },
    { "wisdom from the board",
      "\"$heed\" wisdom export --board tuned.db >exported.txt && \"$heed\" plan --wisdom "
      "exported.txt \"$problem\" --json",
      0, plans_best },
    { "tune, interrupted",
      "set -m; board=stopped.db signal=INT trials=3; " TUNE_STOPPED UNTIL_TRIALS, 130, NULL },
    { "tune, gone on with", TUNE_STOPPED, 0, resumed },
    { "gate: the champion passes", GATE("--board tuned.db --kernel \"$best\""), 0, same },
    { "gate: the naive kernel does not", GATE("--board tuned.db --kernel $naive"), 1, slower },
    { "criteria", "\"$heed\" gate --criteria \"$problem\" \"$other\" --seconds 0.2 --json", NOTHING,
      judged },
    { "kernels beside themselves",
      "for b in $(seq 50); do echo \"b$b h1 s64 d64 ${problem##* }\"; done >fifty.txt; \"$heed\" "
      "bench --calibrate --seconds 0.05 --shapes fifty.txt --json",
      0, honest },
};
#define STEPS (sizeof steps / sizeof steps[0])

static void print_errors(void)
{
    char line[300];
    FILE *file = fopen("errors.txt", "r");
    while (file && fgets(line, sizeof line, file))
        printf("        %s", line);
    if (file)
        fclose(file);
}

/* Prints the scalar members of an unexpected output and of its first shape; its lists are too
 * long. */
static void print_members(const json_t *said)
{
    const json_t *shape = first_of(said, "shapes");
    const char *name;
    json_t *value;
    bool any = false;
    json_object_foreach((json_t *)said, name, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(4));
        if (text && !json_is_array(value) && !json_is_object(value)) {
            printf("%s%s %s", any ? ", " : "        ", name, text);
            any = true;
        }
        free(text);
    }
    printf("%s", any ? "\n" : "");
    if (shape)
        print_members(shape);
}

static void take(tally *counts, const step *it)
{
    char line[2000];
    int64_t start = heed_clock_ns();
    snprintf(line, sizeof line, "{ %s\n} >said.json 2>errors.txt", it->line);
    int ending = system(line); /* NOLINT(cert-env33-c): lines of this file */
    int code = WIFEXITED(ending) ? WEXITSTATUS(ending) : -1;
    json_t *said = it->check ? json_load_file("said.json", 0, NULL) : NULL;
    bool right = (it->code == NOTHING ? code >= 0 : code == it->code) &&
                 (!it->check || (said && it->check(said)));
    tally_judge(counts, right, "%s: %.1f s, exit status %d", it->name,
                (double)(heed_clock_ns() - start) * 1e-9, code);
    if (!right) {
        print_members(said);
        print_errors();
    }
    json_decref(said);
}

/* -------------------------------------------------------------------------- */
/* Where it happens                                                           */
/* -------------------------------------------------------------------------- */

static const scene *find_scene(void)
{
    const char *device = getenv("HEED_DEVICE");
    for (size_t i = 0; device && i < sizeof scenes / sizeof scenes[0]; i++)
        if (strncmp(device, scenes[i].device, strlen(scenes[i].device)) == 0)
            return &scenes[i];
    return NULL;
}

static bool prepare(const scene *where, const char *heed, char *folder)
{
    char path[4096];
    return realpath(heed, path) && mkdtemp(folder) && chdir(folder) == 0 &&
           setenv("heed", path, 1) == 0 && setenv("HEED_BOARD", "board.db", 1) == 0 &&
           setenv("space", where->space, 1) == 0 && setenv("problem", where->problem, 1) == 0 &&
           setenv("other", where->other, 1) == 0 && setenv("naive", where->naive, 1) == 0 &&
           setenv("best", "", 1) == 0 && setenv("source", "", 1) == 0;
}

/* Runs one point; returns the exit status of heed sweep. */
static int try_space(void)
{
    /* NOLINTNEXTLINE(cert-env33-c) */
    int ending = system("\"$heed\" sweep $space \"$problem\" --trials 1 --no-verify --no-compare "
                        "--no-board >said.json 2>errors.txt");
    return WIFEXITED(ending) ? WEXITSTATUS(ending) : -1;
}

/* The step named @name; STEPS if there is none. */
static size_t find_step(const char *name)
{
    size_t i = 0;
    while (i < STEPS && strcmp(steps[i].name, name) != 0)
        i++;
    return i;
}

/* Steps may need what earlier ones left; "a naive kernel leads" and those after it need none of the
 * steps before it. */
int main(int count, char **arguments)
{
    const scene *where = find_scene();
    char folder[] = "/tmp/heed-laboratory-XXXXXX", line[100];
    tally counts = { 0 };
    size_t first = count == 3 ? find_step(arguments[2]) : 0;
    if (count < 2 || count > 3 || !where || first == STEPS) {
        fprintf(stderr, "usage: HEED_DEVICE=cpu|cuda[:N] %s HEED [FIRST STEP]\n", arguments[0]);
        return 2;
    }
    if (!prepare(where, arguments[1], folder)) {
        perror(arguments[1]);
        return 2;
    }
    int code = try_space();
    bool absent = code == NO_POINT || code == NO_KERNEL;
    if (absent)
        printf("skipped: nothing of %s runs here\n", where->space);
    else if (code != 0)
        tally_judge(&counts, false, "%s cannot be tried: exit status %d", where->space, code);
    if (code != 0)
        print_errors();
    for (size_t i = first; i < STEPS && code == 0; i++)
        take(&counts, &steps[i]);
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(line) != 0) /* NOLINT(cert-env33-c) */
        perror(folder);
    return absent ? EXIT_SKIPPED : tally_end(&counts);
}
