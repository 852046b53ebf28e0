/*
 * run.c - `heed run`: attention of arrays in files
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/inputs.h"
#include "report/format.h"
#include "report/table.h"
#include "src/device.h"
#include "src/measure.h"
#include "tensor/convert.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"

/* The arguments of an execution: the tensors, by role, followed by these. */
enum {
    RUN_LSE = LAB_ROLES,
    RUN_WORKSPACE,
    RUN_PLACES
};

/* The arrays that a run can write: their options, names in a .safetensors file and in the report,
 * and arguments. */
static const struct {
    const char *option, *name, *head, *key;
    int place;
} outputs[] = {
    { "out", "o", "O", "out", LAB_O },
    { "lse", "lse", "LSE", "lse", RUN_LSE },
    { "k-out", "k", "K", "k_out", LAB_K },
    { "v-out", "v", "V", "v_out", LAB_V },
};
#define OUTPUTS (sizeof outputs / sizeof *outputs)

/* One run, from reading arrays to writing them. */
typedef struct run_job {
    const cli_args *args;
    cli_inputs inputs;
    heed_problem problem;
    heed_context *context;
    heed_plan *plan;
    lab_tensor o;
    lab_tensor lse;
    void *device[RUN_PLACES]; /* memory of the device; NULL: not needed */
    double seconds;
    int64_t not_finite; /* elements of O that are NaN or infinite */
} run_job;

static void run_free(run_job *job)
{
    for (int i = 0; i < RUN_PLACES; i++)
        if (job->device[i])
            heed_device_free(job->context, job->device[i]);
    lab_tensor_free(&job->o);
    lab_tensor_free(&job->lse);
    heed_plan_destroy(job->plan);
    heed_context_destroy(job->context);
    cli_inputs_free(&job->inputs);
}

/* Checks output names before any work, as a bad name would waste the result. */
static cli_exit check_outputs(const cli_args *args)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        const char *path = cli_args_text(args, outputs[i].option);
        if (path && cli_format_of(path) == CLI_FORMAT_UNKNOWN) {
            cli_error("--%s: '%s' must end in .npy or .safetensors", outputs[i].option, path);
            return CLI_USAGE;
        }
        for (size_t j = 0; path && j < i; j++) {
            const char *other = cli_args_text(args, outputs[j].option);
            if (other && strcmp(path, other) == 0) {
                cli_error("--%s and --%s name the same file, '%s'", outputs[j].option,
                          outputs[i].option, path);
                return CLI_USAGE;
            }
        }
    }
    return CLI_OK;
}

/* Checks that no output replaces a file that is read, except K and V by themselves with new
 * values. */
static cli_exit check_inputs(const run_job *job)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        const char *path = cli_args_text(job->args, outputs[i].option);
        if (path && cli_inputs_have(&job->inputs, path, outputs[i].place)) {
            cli_error("--%s: '%s' is a file that is read, and would be lost; name another one",
                      outputs[i].option, path);
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

static cli_exit make_plan(run_job *job)
{
    const char *kernel = cli_args_text(job->args, "kernel");
    if (job->problem.shared && !job->inputs.shared) {
        cli_error("--words: for shared, use --dim-v N instead of --v");
        return CLI_USAGE;
    }
    heed_status status = kernel ? heed_plan_create_named(&job->plan, job->context, &job->problem,
                                                         kernel)
                                : heed_plan_create(&job->plan, job->context, &job->problem,
                                                   HEED_ESTIMATE);
    return status == HEED_OK ? CLI_OK : cli_fail(status, kernel ? "--kernel" : NULL);
}

/* Outputs of packed queries have no batch dimension. */
static cli_exit make_outputs(run_job *job)
{
    const heed_problem *problem = &job->problem;
    const int packed = job->inputs.q.packed;
    const int64_t batch = packed ? 1 : problem->batch;
    const int64_t seq = packed ? problem->tokens_q : problem->seq_q;
    const int64_t lse[] = { batch, problem->heads_q, seq };
    int64_t o[4];
    lab_error error;

    cli_layout_shape(job->inputs.layout, batch, seq, problem->heads_q, problem->dim_v, o);
    heed_status status = lab_tensor_create(&job->o, problem->type, o + packed, 4 - packed, &error);
    if (status == HEED_OK && cli_args_text(job->args, "lse"))
        status = lab_tensor_create(&job->lse, HEED_F32, lse + packed, 3 - packed, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    return CLI_OK;
}

/* The array of @place; NULL if there is none. */
static lab_tensor *array_of(run_job *job, int place)
{
    lab_tensor *const vectors[] = { &job->inputs.q.tensor, &job->inputs.k.tensor,
                                    &job->inputs.v.tensor };
    if (place == RUN_WORKSPACE)
        return NULL;
    lab_tensor *array = place < LAB_VECTORS  ? vectors[place]
                        : place < LAB_INPUTS ? &job->inputs.operands.operand[place].tensor
                        : place == LAB_O     ? &job->o
                                             : &job->lse;
    return array->data ? array : NULL;
}

/* Checks that strides in --words stay within the arrays. */
static cli_exit check_extents(run_job *job)
{
    for (int role = 0; role < LAB_ROLES; role++) {
        const lab_view view = lab_view_of(&job->problem, (lab_role)role);
        const lab_tensor *array = array_of(job, role);
        if (array && lab_view_bytes(&view) > lab_tensor_bytes(array)) {
            cli_error("--words: the strides of %s span %zu byte%s; its array has %zu",
                      lab_role_name((lab_role)role), lab_view_bytes(&view),
                      lab_plural(lab_view_bytes(&view)), lab_tensor_bytes(array));
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

/* Allocates device memory for @place, with a copy of the array, or zeros for an output, which stay
 * where no sequence has a row. On the CPU arrays are used in place. */
static heed_status bring(run_job *job, int place)
{
    bool host = heed_device_is_host(job->context);
    lab_tensor *array = array_of(job, place);
    size_t size = array ? lab_tensor_bytes(array) : 0;
    if (place == RUN_WORKSPACE)
        size = heed_plan_workspace_size(job->plan);
    if (size == 0 || (array && host))
        return HEED_OK;
    heed_status status = heed_device_allocate(job->context, size, &job->device[place]);
    if (status == HEED_OK && array)
        status = heed_device_upload(job->context, job->device[place], array->data, size);
    return status;
}

static cli_exit make_room(run_job *job)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < RUN_PLACES && status == HEED_OK; i++)
        status = bring(job, i);
    return status == HEED_OK ? CLI_OK : cli_fail(status, NULL);
}

/* The kernel's pointer to @place. */
static void *place_of(run_job *job, int place)
{
    lab_tensor *array = array_of(job, place);
    return job->device[place] || !array ? job->device[place] : array->data;
}

/* Copies back the arrays that are written to files, and O, whose non-finite elements are
 * counted. */
static heed_status bring_back(run_job *job)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < OUTPUTS && status == HEED_OK; i++) {
        const int place = outputs[i].place;
        lab_tensor *array = array_of(job, place);
        if (job->device[place] && (place == LAB_O || cli_args_text(job->args, outputs[i].option)))
            status = heed_device_download(job->context, array->data, job->device[place],
                                          lab_tensor_bytes(array));
    }
    return status;
}

/* Executes the plan once, and copies the outputs back. */
static heed_status compute(run_job *job)
{
    heed_buffers buffers = {
        .size = sizeof buffers,
        .lse = place_of(job, RUN_LSE),
        .workspace = place_of(job, RUN_WORKSPACE),
        .workspace_size = heed_plan_workspace_size(job->plan),
    };
    for (int role = 0; role < LAB_ROLES; role++)
        lab_buffers_set(&buffers, (lab_role)role, place_of(job, role));
    int64_t start = heed_clock_ns();
    heed_status status = heed_execute(job->plan, &buffers);
    if (status == HEED_OK)
        status = heed_device_wait(job->context);
    job->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return status == HEED_OK ? bring_back(job) : status;
}

static cli_exit execute(run_job *job)
{
    heed_status status = compute(job);
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    int64_t count = lab_tensor_elements(&job->o);
    for (int64_t i = 0; i < count; i++)
        job->not_finite += !isfinite(lab_element_get(job->o.type, job->o.data, i));
    return CLI_OK;
}

static cli_exit write_array(const char *path, const char *name, const lab_tensor *tensor)
{
    lab_error error;
    if (!path)
        return CLI_OK;
    heed_status status = cli_format_of(path) == CLI_FORMAT_NPY
                             ? lab_npy_write(tensor, path, &error)
                             : lab_safetensors_write(path, &name, tensor, 1, &error);
    if (status == HEED_OK)
        return CLI_OK;
    return cli_fail_error(status, &error);
}

/* -------------------------------------------------------------------------- */
/* The report                                                                 */
/* -------------------------------------------------------------------------- */

static cli_exit print_json(const run_job *job, const char *spec)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:I}", "problem", spec, "kernel",
        heed_plan_name(job->plan), "device", heed_context_device(job->context), "backend",
        heed_context_backend(job->context), "cpu", heed_context_cpu(job->context), "threads",
        heed_context_threads(job->context), "seconds", cli_json_real(job->seconds), "flops",
        cli_json_real(heed_problem_flops(&job->problem)), "not_finite",
        (json_int_t)job->not_finite);
    for (size_t i = 0; i < OUTPUTS; i++) {
        const char *path = cli_args_text(job->args, outputs[i].option);
        if (json && json_object_set_new(json, outputs[i].key, cli_json_word(path)) != 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return cli_json_print(json, "run");
}

static void add_fact(lab_listing *rows, const char *name, const char *fact)
{
    lab_cell_text(rows, NULL, "", name);
    lab_cell_text(rows, NULL, "", fact);
    lab_row_end(rows);
}

static void add_file(lab_listing *rows, const char *name, const char *path,
                     const lab_tensor *tensor)
{
    char shape[LAB_SHAPE_SIZE];
    if (!path)
        return;
    lab_cell_text(rows, NULL, "", name);
    lab_cell_left(rows, "", "%s: %s %s", path, heed_type_name(tensor->type),
                  lab_shape_print(tensor->shape, tensor->rank, shape));
    lab_row_end(rows);
}

static cli_exit print_text(run_job *job, const char *spec)
{
    char time[LAB_FORMAT_SIZE], text[512];
    double rate = job->seconds > 0 ? heed_problem_flops(&job->problem) / job->seconds * 1e-9 : 0;
    lab_listing rows = cli_rows_begin(false);
    add_fact(&rows, "problem", spec);
    add_fact(&rows, "kernel", heed_plan_name(job->plan));
    snprintf(text, sizeof text, "%s (%s)", heed_context_device(job->context),
             heed_context_backend(job->context));
    add_fact(&rows, "device", text);
    snprintf(text, sizeof text, "%s for the first call, %.1f GFLOP/s",
             lab_format_seconds(job->seconds, time), rate);
    add_fact(&rows, "time", text);
    for (size_t i = 0; i < OUTPUTS; i++)
        add_file(&rows, outputs[i].head, cli_args_text(job->args, outputs[i].option),
                 array_of(job, outputs[i].place));
    return cli_table_print(rows);
}

static cli_exit report(run_job *job)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(&job->problem, spec, sizeof spec);
    if (job->not_finite)
        cli_warning("O has %lld element%s that are NaN or infinite", (long long)job->not_finite,
                    lab_plural(job->not_finite));
    return cli_args_json(job->args) ? print_json(job, spec) : print_text(job, spec);
}

static cli_exit run(const cli_args *args)
{
    run_job job = { .args = args };
    cli_exit code = check_outputs(args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = cli_inputs_read(&job.inputs, args);
    if (code == CLI_OK)
        code = check_inputs(&job);
    if (code == CLI_OK)
        code = cli_inputs_problem(&job.problem, &job.inputs, args);
    if (code == CLI_OK)
        code = cli_context_open_read(&job.context, args);
    if (code == CLI_OK)
        code = make_plan(&job);
    if (code == CLI_OK)
        code = make_outputs(&job);
    if (code == CLI_OK)
        code = check_extents(&job);
    if (code == CLI_OK)
        code = make_room(&job);
    if (code == CLI_OK)
        code = execute(&job);
    if (code == CLI_OK && cli_interrupted())
        code = CLI_INTERRUPTED;
    for (size_t i = 0; i < OUTPUTS && code == CLI_OK; i++)
        code = write_array(cli_args_text(args, outputs[i].option), outputs[i].name,
                           array_of(&job, outputs[i].place));
    if (code == CLI_OK)
        code = report(&job);
    run_free(&job);
    return code;
}

static const cli_option options[] = {
    OPT_PATH("q", 0, "FILE", "Q, an .npy file"),
    OPT_PATH("k", 0, "FILE", "K, an .npy file"),
    OPT_PATH("v", 0, "FILE", "V, an .npy file"),
    OPT_PATH("tensors", 0, "FILE",
             "A .safetensors file with arrays named q, k and v, instead of --q, --k and --v"),
    OPT_TEXT("prefix", 'p', "TEXT",
             "Prefix of the names q, k and v in that file, such as \"layer0.\""),
    CLI_OPTION_LAYOUT,
    OPT_TYPE("type", NULL,
             "Compute in this type; arrays of another type are rounded to it. With bf16, 16-bit "
             "integers in .npy files are read as bfloat16 [default: the type of the arrays]"),
    CLI_OPTION_WORDS(
        "Further words of the problem's spec, such as 'causal window=1024:' or 'softcap=50 "
        "score=s-0.1*abs(p-k)': causal needs as many queries as keys; causal=tl is aligned top "
        "left, causal=br bottom right; docs/features.md has them all"),
    CLI_OPTIONS_OPERANDS,
    OPT_INTEGER("dim-v", 0, "N", 1, HEED_DIM_MAX, NULL,
                "V is the first N elements of the vectors of K, as in MLA, instead of --v"),
    OPT_REAL("scale", 0, "X", -3e38, 3e38, NULL,
             "Factor of the logits [default, and 0: 1/sqrt(dim)]"),
    CLI_OPTION_KERNEL,
    OPT_PATH("out", 'o', "FILE",
             "Write O there, an .npy file or, as the array o, a .safetensors file"),
    OPT_PATH("lse", 0, "FILE",
             "Compute the LSE and write it there, [batch, heads, seq], in the same formats"),
    OPT_PATH("k-out", 0, "FILE",
             "Write K with the new keys there, in the same formats [default: in memory only]"),
    OPT_PATH("v-out", 0, "FILE", "Write V with the new values there, in the same formats"),
    { .table = cli_machine_options },
    CLI_OPTION_WISDOM_READ(
        "Choose the kernel from the wisdom in FILE, made by 'heed plan --effort measure'"),
    { .name = NULL },
};

const cli_verb cli_verb_run = {
    .name = "run",
    .summary = "compute attention of arrays in files",
    .description =
        "Reads Q, K and V, computes O = softmax(scale * Q K^T + mask) V, and writes O and, "
        "with --lse, the LSE. Arrays are [batch, seq, heads, dim] or, with --layout bhsd, "
        "PyTorch's [batch, heads, seq, dim]; the last dimension is contiguous. K and V may "
        "have fewer heads than Q, if their number divides that of Q, and V may have "
        "another head dim. Packed sequences, [tokens, heads, dim], come with "
        "--cu-seqlens-q and --cu-seqlens-k, keys in pages with --table, new keys with "
        "--k-new and --v-new.\n"
        "\n"
        "NumPy has no bfloat16: O of that type is written as 16-bit integers, the upper "
        "halves of float32. A file is written under another name and then renamed, so that "
        "no partial file appears.\n"
        "\n"
        "The printed time is that of the first and only call; 'heed bench' measures.",
    .examples = "  heed run --q Q.npy --k K.npy --v V.npy --words causal --out O.npy\n"
                "  heed run --layout bhsd --q Q.npy --k K.npy --v V.npy --out O.npy\n"
                "  heed run --q Q.npy --k K.npy --v V.npy --cu-seqlens-q cu.npy --cu-seqlens-k "
                "cu.npy\n"
                "  heed run --q Q.npy --k pool.npy --dim-v 512 --table t.npy --lengths n.npy\n"
                "  heed run --q Q.npy --k K.npy --v V.npy --k-new k.npy --v-new v.npy --lengths "
                "n.npy\n"
                "  heed run --tensors t.safetensors --words causal --bias rel --sinks sinks --out "
                "O.npy\n"
                "  heed run --tensors capture.safetensors --prefix layer0. --out O.npy --lse "
                "LSE.npy",
    .options = options,
    .run = run,
};
