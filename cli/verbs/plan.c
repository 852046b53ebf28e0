/*
 * plan.c - `heed plan`: which kernel heed would run, and why
 */
#include "cli/base/cli.h"
#include "report/format.h"
#include "report/table.h"

static const char *const efforts[] = { "estimate", "measure", "patient", "wisdom", NULL };
static const heed_effort effort_values[] = { HEED_ESTIMATE, HEED_MEASURE, HEED_PATIENT,
                                             HEED_WISDOM_ONLY };

/* The work in progress: the context, and where the results go. */
typedef struct plan_job {
    const cli_args *args;
    heed_context *context;
    lab_table *table; /* of the chosen kernels */
    bool rows;        /* does it have any? */
    bool planned;     /* is there any plan? */
    lab_progress progress;
    json_t *plans; /* of --json; NULL also when memory ran out */
} plan_job;

static bool next_candidate(const heed_plan *plan, size_t index, heed_candidate *candidate)
{
    return heed_plan_candidate(plan, index, candidate) == HEED_OK;
}

static json_t *json_seconds(double seconds)
{
    return seconds < 0 ? json_null() : cli_json_real(seconds);
}

/* -------------------------------------------------------------------------- */
/* One plan as a row, an explanation, or JSON                                 */
/* -------------------------------------------------------------------------- */

static void add_row(lab_table *table, const heed_plan *plan, const char *spec)
{
    char text[LAB_FORMAT_SIZE];
    heed_candidate chosen = lab_plan_chosen(plan);
    lab_table_cell(table, "%s", spec);
    lab_table_cell(table, "%s", heed_plan_name(plan));
    lab_table_cell(table, "%s", lab_format_seconds(chosen.predicted, text));
    lab_table_cell(table, "%s", lab_format_seconds(chosen.measured, text));
    lab_table_cell(table, "%s", lab_format_bytes(heed_plan_workspace_size(plan), text));
}

static void add_candidate(lab_table *table, const heed_candidate *candidate)
{
    char text[LAB_FORMAT_SIZE];
    lab_table_cell(table, "%s", candidate->chosen ? "->" : "");
    lab_table_cell(table, "%s", candidate->name);
    lab_table_cell(table, "%s", lab_format_seconds(candidate->predicted, text));
    lab_table_cell(table, "%s", lab_format_seconds(candidate->measured, text));
    lab_table_cell(table, "%s", candidate->rejected ? candidate->rejected : "");
}

static bool explain(const heed_plan *plan, const char *spec)
{
    char text[LAB_FORMAT_SIZE];
    heed_candidate candidate;
    lab_table *table = lab_table_create();

    printf("%s%s%s\n", cli_style(stdout, CLI_BOLD), spec, cli_style(stdout, CLI_PLAIN));
    printf("%s, workspace %s, %s\n\n", heed_plan_name(plan),
           lab_format_bytes(heed_plan_workspace_size(plan), text),
           heed_plan_deterministic(plan) ? "equal bits in every run"
                                         : "last bits may differ between runs");
    lab_table_columns(table, "|candidate|predicted>|measured>|why not");
    for (size_t i = 0; next_candidate(plan, i, &candidate); i++)
        add_candidate(table, &candidate);
    bool printed = lab_table_print(table, stdout, LAB_TEXT);
    lab_table_destroy(table);
    putchar('\n');
    return printed;
}

static json_t *json_candidates(const heed_plan *plan)
{
    heed_candidate candidate;
    json_t *candidates = json_array();
    for (size_t i = 0; next_candidate(plan, i, &candidate); i++)
        candidates = cli_json_append(
            candidates, json_pack("{s:s, s:s?, s:o, s:o, s:b}", "kernel", candidate.name,
                                  "rejected", candidate.rejected, "predicted_seconds",
                                  json_seconds(candidate.predicted), "measured_seconds",
                                  json_seconds(candidate.measured), "chosen", candidate.chosen));
    return candidates;
}

static json_t *json_plan(const heed_plan *plan, const char *spec, bool with_candidates)
{
    heed_candidate chosen = lab_plan_chosen(plan);
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:b, s:o, s:o}", "problem", spec, "kernel", heed_plan_name(plan),
        "predicted_seconds", json_seconds(chosen.predicted), "measured_seconds",
        json_seconds(chosen.measured), "workspace_bytes",
        (json_int_t)heed_plan_workspace_size(plan), "deterministic", heed_plan_deterministic(plan),
        "flops", cli_json_real(heed_problem_flops(heed_plan_problem(plan))), "bytes",
        cli_json_real(heed_problem_bytes(heed_plan_problem(plan))));
    if (!with_candidates || json_object_set_new(json, "candidates", json_candidates(plan)) == 0)
        return json;
    json_decref(json);
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* All problems                                                               */
/* -------------------------------------------------------------------------- */

static cli_exit no_plan(plan_job *job, heed_status status, const char *spec)
{
    if (cli_args_json(job->args))
        job->plans = cli_json_append(job->plans,
                                     json_pack("{s:s, s:s, s:s}", "problem", spec, "status",
                                               heed_status_name(status), "error", heed_message()));
    return cli_fail(status, spec);
}

static cli_exit plan_one(plan_job *job, const heed_problem *problem)
{
    char spec[HEED_SPEC_SIZE];
    heed_plan *plan;
    const char *kernel = cli_args_text(job->args, "kernel");
    heed_effort effort = effort_values[cli_args_choice(job->args, "effort")];
    bool explained = true;

    heed_problem_print(problem, spec, sizeof spec);
    heed_status status = kernel ? heed_plan_create_named(&plan, job->context, problem, kernel)
                                : heed_plan_create(&plan, job->context, problem, effort);
    lab_progress_end(&job->progress);
    if (status != HEED_OK && cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK)
        return no_plan(job, status, spec);
    job->planned = true;
    if (cli_args_json(job->args))
        job->plans = cli_json_append(job->plans,
                                     json_plan(plan, spec, cli_args_flag(job->args, "explain")));
    else if (cli_args_flag(job->args, "explain"))
        explained = explain(plan, spec);
    else {
        add_row(job->table, plan, spec);
        job->rows = true;
    }
    heed_plan_destroy(plan);
    if (explained)
        return CLI_OK;
    cli_error("%s: not enough memory for the table", spec);
    return CLI_ENVIRONMENT;
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
            cli_message("stopped after %zu of %zu problems", i, problems->count);
            return result;
        }
        code = code == CLI_OK ? result : code;
    }
    return code;
}

static cli_exit print_plans(plan_job *job, cli_exit code)
{
    if (cli_args_json(job->args)) {
        heed_context *context = job->context;
        json_t *json = json_pack(
            "{s:s, s:s, s:s, s:i, s:s, s:O}", "device", heed_context_device(context), "backend",
            heed_context_backend(context), "cpu", heed_context_cpu(context), "threads",
            heed_context_threads(context), "effort", efforts[cli_args_choice(job->args, "effort")],
            "plans", job->plans);
        cli_exit printed = cli_json_print(json, "plan");
        return code == CLI_OK ? printed : code;
    }
    if (job->rows && !lab_table_print(job->table, stdout, LAB_TEXT)) {
        cli_error("not enough memory for the table");
        return CLI_ENVIRONMENT;
    }
    if (job->planned)
        printf("%son %s (%s)\n", job->rows ? "\n" : "", heed_context_device(job->context),
               heed_context_backend(job->context));
    return code;
}

static lab_table *plan_table(void)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "problem|kernel|predicted>|measured>|workspace>");
    return table;
}

/* Does planning measure anything that is worth keeping? */
static bool learns(const cli_args *args)
{
    heed_effort effort = effort_values[cli_args_choice(args, "effort")];
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
        code = cli_context_open(&job.context, args);
    if (code == CLI_OK) {
        job.table = plan_table();
        job.plans = cli_args_json(args) ? json_array() : NULL;
        code = print_plans(&job, plan_all(&job, &problems));
        cli_exit saved = learns(args) ? cli_wisdom_save(job.context, args) : CLI_OK;
        code = code == CLI_OK ? saved : code;
        json_decref(job.plans);
        lab_table_destroy(job.table);
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

static cli_exit list_json(void)
{
    json_t *kernels = json_array();
    for (size_t i = 0; heed_kernel_name(i); i++)
        kernels = cli_json_append(kernels,
                                  json_pack("{s:s, s:s, s:o, s:o}", "name", heed_kernel_name(i),
                                            "summary", heed_kernel_summary(i), "knobs",
                                            json_knobs(i), "configs", json_configs(i)));
    return cli_json_print(json_pack("{s:o}", "kernels", kernels), "plan");
}

/* The letters of a kernel's configs and what they stand for: "m=BLOCK_ROWS s=SPLITS". */
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
    if (cli_args_json(args))
        return list_json();
    lab_table *table = lab_table_create();
    lab_table_columns(table, "kernel|configs>|what it is|knobs, in the order of a config's name");
    for (size_t i = 0; heed_kernel_name(i); i++) {
        char knobs[200];
        list_knobs(i, knobs, sizeof knobs);
        lab_table_cell(table, "%s", heed_kernel_name(i));
        lab_table_cell(table, "%zu", cli_config_count(i));
        lab_table_cell(table, "%s", heed_kernel_summary(i));
        lab_table_cell(table, "%s", knobs);
    }
    return cli_table_print(table);
}

static cli_exit run(const cli_args *args)
{
    return cli_args_flag(args, "list") ? list_kernels(args) : plan_problems(args);
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_CHOICE("effort", 'e', "EFFORT", efforts, "estimate",
               "How to choose: by a cost model, by timing every kernel, by timing every config of "
               "every kernel, or from "
               "wisdom alone"),
    CLI_OPTION_KERNEL,
    OPT_FLAG("explain", 'x', "Show every candidate, and why it was not chosen"),
    OPT_FLAG("list", 'l',
             "List the kernels and their knobs instead; --json also lists their configs"),
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
        "causal=br, scale=X, acc=f16, layout=bshd.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed plan 'b1 h8 s512 d64 f32'\n"
        "  heed plan --explain --effort measure 'b4 h32/8 s1/4096 d128 bf16'\n"
        "  heed plan --effort patient --wisdom heed.wisdom --shapes shapes/seed.txt\n"
        "\n"
        "The exit status is 4 if the kernel of --kernel does not support a problem, and 1 "
        "if --effort wisdom finds no wisdom for it.",
    .options = options,
    .run = run,
};
