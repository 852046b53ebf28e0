/*
 * plan.c - `heed plan`: shows the kernel that heed would run, and why
 */
#include "base/plural.h"
#include "cli/base/cli.h"
#include "report/format.h"

static const char *const efforts[] = { "estimate", "measure", "patient", "wisdom", NULL };
static const heed_effort effort_values[] = { HEED_ESTIMATE, HEED_MEASURE, HEED_PATIENT,
                                             HEED_WISDOM_ONLY };

static heed_effort effort_of(const cli_args *args)
{
    return effort_values[cli_args_choice(args, "effort")];
}

/* The work in progress: the context and the results. */
typedef struct plan_job {
    const cli_args *args;
    heed_context *context;
    lab_listing rows; /* one for each plan */
    bool planned;     /* there is at least one */
    lab_progress progress;
} plan_job;

/* -------------------------------------------------------------------------- */
/* One plan as a row, with its candidates for --explain                       */
/* -------------------------------------------------------------------------- */

static lab_listing list_candidates(const heed_plan *plan, bool json)
{
    heed_candidate candidate;
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; heed_plan_candidate(plan, i, &candidate) == HEED_OK; i++) {
        lab_cell_left(&rows, "", "%s", candidate.chosen ? "->" : "");
        lab_cell_text(&rows, "kernel", "candidate", candidate.name);
        lab_cell_text(&rows, "rejected", NULL, candidate.rejected);
        lab_cell_seconds(&rows, "predicted_seconds", "predicted", candidate.predicted);
        lab_cell_seconds(&rows, "measured_seconds", "measured", candidate.measured);
        lab_cell_json(&rows, "chosen", json_boolean(candidate.chosen));
        lab_cell_left(&rows, "why not", "%s", candidate.rejected ? candidate.rejected : "");
        lab_row_end(&rows);
    }
    return rows;
}

static cli_exit explain(const heed_plan *plan, const char *spec)
{
    char text[LAB_FORMAT_SIZE];
    lab_listing candidates = list_candidates(plan, false);
    printf("%s%s%s\n", cli_style(stdout, LAB_BOLD), spec, cli_style(stdout, LAB_PLAIN));
    printf("%s, workspace %s, %s\n\n", heed_plan_name(plan),
           lab_format_bytes(heed_plan_workspace_size(plan), text),
           heed_plan_deterministic(plan) ? "equal bits in every run"
                                         : "last bits may differ between runs");
    cli_exit code = cli_table_print(candidates);
    putchar('\n');
    return code;
}

static void add_plan(lab_listing *rows, const heed_plan *plan, const char *spec, bool explained)
{
    const heed_candidate chosen = lab_plan_chosen(plan);
    const heed_problem *problem = heed_plan_problem(plan);
    lab_cell_text(rows, "problem", "problem", spec);
    lab_cell_text(rows, "kernel", "kernel", heed_plan_name(plan));
    lab_cell_seconds(rows, "predicted_seconds", "predicted", chosen.predicted);
    lab_cell_seconds(rows, "measured_seconds", "measured", chosen.measured);
    lab_cell_bytes(rows, "workspace_bytes", "workspace", heed_plan_workspace_size(plan));
    lab_cell_json(rows, "deterministic", json_boolean(heed_plan_deterministic(plan)));
    lab_cell_json(rows, "flops", cli_json_real(heed_problem_flops(problem)));
    lab_cell_json(rows, "bytes", cli_json_real(heed_problem_bytes(problem)));
    if (explained)
        lab_cell_json(rows, "candidates", lab_listing_take(list_candidates(plan, true)));
    lab_row_end(rows);
}

/* -------------------------------------------------------------------------- */
/* All problems                                                               */
/* -------------------------------------------------------------------------- */

static cli_exit no_plan(plan_job *job, heed_status status, const char *spec)
{
    if (cli_args_json(job->args)) {
        lab_cell_text(&job->rows, "problem", NULL, spec);
        lab_cell_text(&job->rows, "status", NULL, heed_status_name(status));
        lab_cell_text(&job->rows, "error", NULL, heed_message());
        lab_row_end(&job->rows);
    }
    return cli_fail(status, spec);
}

static cli_exit plan_one(plan_job *job, const heed_problem *problem)
{
    char spec[HEED_SPEC_SIZE];
    heed_plan *plan;
    const char *kernel = cli_args_text(job->args, "kernel");
    heed_effort effort = effort_of(job->args);
    bool explained = cli_args_flag(job->args, "explain");
    cli_exit code = CLI_OK;

    heed_problem_print(problem, spec, sizeof spec);
    heed_status status = kernel ? heed_plan_create_named(&plan, job->context, problem, kernel)
                                : heed_plan_create(&plan, job->context, problem, effort);
    lab_progress_end(&job->progress);
    if (status != HEED_OK && cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK)
        return no_plan(job, status, spec);
    job->planned = true;
    if (explained && !cli_args_json(job->args))
        code = explain(plan, spec);
    else
        add_plan(&job->rows, plan, spec, explained);
    heed_plan_destroy(plan);
    return code;
}

/* Plans all problems, also after one that cannot be planned; the first failure is the one returned.
 */
static cli_exit plan_all(plan_job *job, const lab_problems *problems)
{
    cli_exit code = CLI_OK;
    job->progress = lab_progress_start(&cli_sink, "plan", problems->count);
    for (size_t i = 0; i < problems->count; i++) {
        lab_progress_step(&job->progress, i, NULL);
        cli_exit result = cli_interrupted() ? CLI_INTERRUPTED : plan_one(job, &problems->items[i]);
        if (result == CLI_INTERRUPTED) {
            lab_progress_end(&job->progress);
            cli_message("stopped after %zu of %zu problem%s", i, problems->count,
                        lab_plural(problems->count));
            return result;
        }
        code = code == CLI_OK ? result : code;
    }
    return code;
}

static cli_exit print_plans(plan_job *job, cli_exit code)
{
    const heed_context *context = job->context;
    cli_exit printed;
    if (cli_args_json(job->args)) {
        printed = cli_json_print(
            json_pack("{s:s, s:s, s:s, s:i, s:s, s:o}", "device", heed_context_device(context),
                      "backend", heed_context_backend(context), "cpu", heed_context_cpu(context),
                      "threads", heed_context_threads(context), "effort",
                      efforts[cli_args_choice(job->args, "effort")], "plans",
                      lab_listing_rows(&job->rows)),
            "plan");
        return code == CLI_OK ? printed : code;
    }
    bool some = job->rows.some;
    printed = cli_rows_print(&job->rows, NULL, NULL);
    if (printed != CLI_OK)
        return printed;
    if (job->planned)
        printf("%son %s (%s)\n", some ? "\n" : "", heed_context_device(context),
               heed_context_backend(context));
    return code;
}

/* True if planning measures results worth keeping. */
static bool learns(const cli_args *args)
{
    heed_effort effort = effort_of(args);
    return !cli_args_text(args, "kernel") && (effort == HEED_MEASURE || effort == HEED_PATIENT);
}

static cli_exit plan_problems(const cli_args *args)
{
    plan_job job = { .args = args };
    lab_problems problems;
    cli_exit code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = effort_of(args) == HEED_WISDOM_ONLY ? cli_context_open_read(&job.context, args)
                                                   : cli_context_open(&job.context, args);
    if (code == CLI_OK) {
        job.rows = cli_rows_begin(cli_args_json(args));
        code = print_plans(&job, plan_all(&job, &problems));
        cli_exit saved = learns(args) ? cli_wisdom_save(job.context, args) : CLI_OK;
        code = code == CLI_OK ? saved : code;
        lab_listing_free(&job.rows);
        heed_context_destroy(job.context);
    }
    cli_problems_free(&problems);
    return code;
}

/* -------------------------------------------------------------------------- */
/* --list                                                                     */
/* -------------------------------------------------------------------------- */

static json_t *json_configs(size_t kernel)
{
    char name[HEED_NAME_SIZE];
    json_t *configs = json_array();
    for (size_t i = 0; heed_kernel_config(kernel, i, name, sizeof name) == HEED_OK; i++)
        configs = cli_json_append(configs, json_string(name));
    return configs;
}

static json_t *json_knobs(size_t kernel)
{
    char letter[2] = "";
    const char *name;
    json_t *knobs = json_array();
    for (size_t i = 0; (name = heed_kernel_knob(kernel, i, letter)); i++)
        knobs = cli_json_append(knobs, json_pack("{s:s, s:s}", "letter", letter, "name", name));
    return knobs;
}

/* The letters of a kernel's configs and their knobs: "m=BLOCK_ROWS s=SPLITS". */
static void list_knobs(size_t kernel, char *text, size_t size)
{
    char letter;
    const char *name;
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; (name = heed_kernel_knob(kernel, i, &letter)) && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%c=%s", i ? " " : "", letter,
                                   name);
}

static cli_exit list_kernels(const cli_args *args)
{
    const char *name;
    char knobs[200];
    lab_listing rows = cli_rows_begin(cli_args_json(args));
    for (size_t i = 0; (name = heed_kernel_name(i)); i++) {
        list_knobs(i, knobs, sizeof knobs);
        lab_cell_text(&rows, "name", "kernel", name);
        lab_cell_right(&rows, "configs", "%zu", cli_config_count(i));
        lab_cell_text(&rows, "summary", "description", heed_kernel_summary(i));
        lab_cell_json(&rows, "knobs", json_knobs(i));
        lab_cell_json(&rows, "configs", json_configs(i));
        lab_cell_left(&rows, "knobs, in the order of a config's name", "%s", knobs);
        lab_row_end(&rows);
    }
    return cli_rows_print(&rows, "kernels", "plan");
}

static cli_exit run(const cli_args *args)
{
    return cli_args_flag(args, "list") ? list_kernels(args) : plan_problems(args);
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_CHOICE("effort", 'e', "EFFORT", efforts, "estimate",
               "How to choose: by a cost model, by timing every kernel, by timing every config of "
               "every kernel, or only from "
               "wisdom"),
    CLI_OPTION_KERNEL,
    OPT_FLAG("explain", 'x', "Show every candidate, and why it was not chosen"),
    OPT_FLAG(
        "list", 'l',
        "List the kernels and their knobs (STAGES, SPLITS and so on) instead; --json also lists "
        "their configs"),
    { .table = cli_machine_options },
    CLI_OPTION_WISDOM,
    { .name = NULL },
};

const cli_verb cli_verb_plan = {
    .name = "plan",
    .summary = "show which kernel runs a problem, and why",
    .operands = { "SPEC...", 0, CLI_ANY },
    .description =
        "Plans every problem and prints the chosen kernel, the time that its cost model "
        "predicts, the measured time if there is one, and the workspace that it needs.\n"
        "\n"
        "A SPEC describes a problem in words: bN batch, hN or hN/M query heads and "
        "key/value heads, sN or sN/M queries and keys, dN or dN/M head dim of Q and K and "
        "of V, the element type f32, f16 or bf16, and optionally causal, causal=tl, "
        "causal=br, window=L:R, chunk=N, align=br, softcap=X, bias=T:DIMS, alibi, sinks, starts, "
        "shown=T:DIMS, array=NAME:T:SIZES, score=E, visible=E, lengths, scale=X, acc=f16, "
        "products=tf32, layout=bshd. docs/features.md has the meaning of words, and "
        "docs/file-formats.md all of them.",
    .examples = "  heed plan 'b1 h8 s512 d64 f32'\n"
                "  heed plan --explain --effort measure 'b4 h32/8 s1/4096 d128 bf16'\n"
                "  heed plan --effort patient --wisdom heed.wisdom --shapes shapes/seed.txt",
    .status = "The exit status is 4 if the kernel of --kernel does not support a problem, and 1 "
              "if --effort wisdom finds no wisdom for it.",
    .options = options,
    .run = run,
};
