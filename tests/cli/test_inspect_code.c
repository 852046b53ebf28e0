/*
 * test_inspect_code.c - `heed inspect` with disassemblers that work, that fail, and without one
 *
 * Tests that need NVRTC and a real disassembler are skipped if these are missing.
 */
#include "run_tests.h"

#include <stdarg.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/disassembler.h"
#include "inspect_cases.h"
#include "run_heed.h"
#include "scratch.h"

#define DATA HEED_SOURCE_DIR "/tests/data/inspect/"
#define CUBIN HEED_SOURCE_DIR "/tests/fuzz/corpus/cubin/sm80_old"

static const run_heed_way way = { HEED_BUILD_DIR "/cli/heed", "HEED_CACHE=/dev/null" };
static heed_said result;

/* Runs a shell command in the scratch directory. */
static void run(void **state, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void run(void **state, const char *format, ...)
{
    char line[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    run_heed(state, &way, line, &result);
}

static void assert_said(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" does not say \"%s\"", text, words);
}

/* -------------------------------------------------------------------------- */
/* Disassemblers that are scripts                                             */
/* -------------------------------------------------------------------------- */

/* The kernel "attend" of the cubin has 128 bytes of code. */
#define HEAD "#!/bin/sh\necho called $1 >>calls\ncat <<'E'\n.text.attend:\n"
#define BODY                                                              \
    "/*0000*/ S2R R0, SR_CTAID.X ;\n.L:\n/*0010*/ LDL R1, [R2] ;\n"       \
    "/*0020*/ HMMA.16816.F32 R4, R4, R8, R4 ;\n/*0030*/ BAR.SYNC 0x0 ;\n" \
    "/*0040*/ LDS R1, [R2] ;\n/*0050*/ @P0 BRA `(.L) ;\n/*0060*/ EXIT ;\n"
#define LAST "/*0070*/ NOP ;\n"

static void write_script(void **state, const char *text)
{
    scratch_script_write(state, "tool", text);
    run(state, "cp " CUBIN " k.cubin; rm -f calls");
}

#define INSPECT "HEED_NVDISASM=$PWD/tool heed inspect "

static void test_counts_are_printed(void **state)
{
    write_script(state, HEAD BODY LAST "E\n");
    run(state, INSPECT "k.cubin | tr -s ' '");
    assert_said(result.out, "k.cubin attend sm_80 all 8 1 1 0 0 1 1 0 0\n");
    assert_said(result.out, "k.cubin attend sm_80 all 0 0 0 0\n"); /* the line continues */
    assert_said(result.out, "k.cubin attend sm_80 main loop 5 1 1 0 0 1 1 0 0\n");
    assert_said(result.out, "k.cubin attend sm_80 main loop 0 0 0 0\n");
    assert_said(result.out, "k.cubin attend sm_80 fault local-memory-in-loop 1 loads and stores");
    assert_said(result.out, "-> index arrays by constants only");
    assert_string_equal(result.err, "");
    run(state, INSPECT "k.cubin >/dev/null");
    assert_int_equal(result.code, 1);
    run(state, INSPECT "--loops k.cubin | tr -s ' '");
    assert_said(result.out, "k.cubin attend sm_80 0x10 0x50 main 5 1 1 0 0 1 1 0\n");
    assert_said(result.out, "k.cubin attend sm_80 0x10 0x50 0 0 0 0 0\n");
    run(state, "cat calls; rm -f /tmp/none; ls");
    assert_said(result.out, "called -c");
    assert_null(strstr(result.out, "heed-inspect"));
}

static void test_counts_are_in_json(void **state)
{
    write_script(state, HEAD BODY LAST "E\n");
    run(state, INSPECT "--json k.cubin");
    assert_int_equal(result.code, 1);
    json_t *all = json_loads(result.out, 0, NULL), *code, *finding;
    assert_non_null(all);
    json_t *kernel = json_array_get(json_object_get(all, "kernels"), 0);
    const char *name, *severity, *tool;
    int total, tensor, mains, loops;
    code = json_object_get(kernel, "instructions");
    assert_int_equal(
        json_unpack(all, "{s:s, s:n}", "disassembler", &tool, "instructions_unknown_because"), 0);
    assert_int_equal(json_unpack(code, "{s:{s:i}, s:{s:i}, s:i, s:[{s:i}]}", "all", "total", &total,
                                 "main_loops", "tensor_warp", &tensor, "main_loop_count", &mains,
                                 "loops", "first", &loops),
                     0);
    assert_int_equal(total, 8);
    assert_int_equal(tensor, 1);
    assert_int_equal(mains, 1);
    assert_int_equal(loops, 16);
    finding = json_array_get(json_object_get(kernel, "findings"), 0);
    assert_int_equal(json_unpack(finding, "{s:s, s:s}", "name", &name, "severity", &severity), 0);
    assert_string_equal(name, "local-memory-in-loop");
    assert_string_equal(severity, "fault");
    json_decref(all);
}

/* Expects that the instructions are unknown for reason @why, and that no finding follows from
 * them. */
static void assert_unknown(void **state, const char *script, const char *why)
{
    write_script(state, script);
    run(state, INSPECT "k.cubin | tr -s ' '");
    assert_said(result.out, "k.cubin attend sm_80 unknown");
    assert_null(strstr(result.out, "local-memory"));
    assert_said(result.err,
                "warning: some instructions, and facts that depend on them, are unknown");
    assert_said(result.err, why);
    run(state, INSPECT "--json k.cubin");
    assert_int_equal(result.code, 0);
    assert_said(result.out, "\"instructions\": null");
    assert_said(result.out, "\"instructions_unknown_because\": \"");
}

static void test_tools_that_do_not_work(void **state)
{
    assert_unknown(state, "#!/bin/sh\necho first >&2; echo it is broken >&2; exit 3\n",
                   "failed with exit status 3: it is broken");
    assert_unknown(state, "#!/bin/sh\nkill -9 $$\n", "ended by signal 9");
    assert_unknown(state, "#!/bin/sh\necho nothing\n", "attend: the disassembly does not have it");
    assert_unknown(state, HEAD BODY "E\n", "shows 7 of 8 instructions of attend");
    assert_unknown(state, "#!/no/such/interpreter\n", "cannot be started");
    assert_unknown(state, HEAD "/*0010*/ NOP ;\n/*0000*/ NOP ;\nE\n", "out of order");
}

static void test_without_a_tool(void **state)
{
    run(state, "cp " CUBIN " k.cubin; HEED_NVDISASM=/none heed inspect k.cubin");
    assert_said(result.err, "HEED_NVDISASM=/none is not a program");
    assert_said(result.out, "unknown");
    run(state, "HEED_NVDISASM=/none heed inspect --no-code k.cubin");
    assert_string_equal(result.err, "");
    assert_null(strstr(result.out, "unknown"));
}

/* Facts that need no disassembler give findings without one; and severities determine the exit
 * status. */
static void test_severities_decide(void **state)
{
    run(state, "cp " CUBIN " k.cubin; heed inspect --no-code --smem 83000 k.cubin");
    assert_int_equal(result.code, 0);
    assert_said(result.out, "smem-over-48k");
    run(state, "heed inspect --no-code --strict --smem 83000 k.cubin");
    assert_int_equal(result.code, 1);
    run(state, "heed inspect --no-code --strict --opts-in --smem 83000 k.cubin");
    assert_int_equal(result.code, 0);
    run(state, "heed inspect --no-code --grid 7 k.cubin");
    assert_said(result.out, "7 blocks for 108 multiprocessors");
    run(state, "heed inspect --no-code --opts-in --smem 170000 k.cubin");
    assert_int_equal(result.code, 1);
    run(state, "heed inspect --device cpu 'b1 h1 s64 d64 f16'");
    assert_int_equal(result.code, 4);
    assert_said(result.err, "--device cpu: only kernels of GPUs");
    run(state, "heed inspect --device cuda --arch sm_90 'b1 h1 s64 d64 f16'");
    assert_int_equal(result.code, 2);
}

/* -------------------------------------------------------------------------- */
/* The real tools                                                             */
/* -------------------------------------------------------------------------- */

/* Returns whether NVRTC and a disassembler are installed. */
static bool has_tools(void **state)
{
    lab_disassembler tool;
    lab_error error = { "" };
    if (lab_disassembler_find(&tool, &error) != HEED_OK) {
        print_message("skipped: %s\n", error.text);
        return false;
    }
    run(state, "heed inspect -a sm_80 " DATA "narrow.cu");
    if (strstr(result.err, "NVRTC, CUDA"))
        print_message("skipped: %s", result.err);
    return !strstr(result.err, "NVRTC, CUDA");
}

static void check_case(void **state, const inspect_case *it)
{
    char grid[32] = "";
    if (it->grid)
        snprintf(grid, sizeof grid, "--grid %d", it->grid);
    run(state, "heed inspect --json -a sm_%d -t %d --smem %d %s %s %s %s " DATA "%s.cu", it->arch,
        it->threads, it->smem, grid, it->opts_in ? "--opts-in" : "", it->macro ? "-D" : "",
        it->macro ? it->macro : "", it->file);
    if (result.code != (it->finding && it->severity == LAB_SEVERITY_FAULT))
        fail_msg("%s on sm_%d: exit status %d: %s", it->file, it->arch, result.code, result.err);
    json_t *all = json_loads(result.out, 0, NULL);
    assert_non_null(all);
    json_t *kernel = json_array_get(json_object_get(all, "kernels"), 0);
    json_t *findings = json_object_get(kernel, "findings");
    assert_true(json_is_object(json_object_get(kernel, "instructions")));
    if (json_array_size(findings) != (it->finding ? 1 : 0))
        fail_msg("%s on sm_%d: %zu findings: %s", it->file, it->arch, json_array_size(findings),
                 result.out);
    if (it->finding)
        assert_string_equal(json_string_value(json_object_get(json_array_get(findings, 0), "name")),
                            it->finding);
    json_decref(all);
}

static void test_each_is_found_when_compiled(void **state)
{
    if (!has_tools(state))
        skip();
    for (const inspect_case *it = inspect_cases; it->file; it++)
        check_case(state, it);
}

/* With several kernels in a source it is unknown which one declares which array; but if none of
 * them has any shared memory left, it was optimized away. */
static void test_kernels_are_judged_together(void **state)
{
    if (!has_tools(state))
        skip();
    run(state,
        "printf '%%s\\n' 'template <int N> __global__ void lost(const float4 *x, float4 *y)' "
        "'{ __shared__ float4 t[N]; int i = blockIdx.x * N + threadIdx.x;' "
        "'t[threadIdx.x] = x[i]; __syncthreads(); y[i] = x[i]; }' "
        "'template __global__ void lost<64>(const float4 *, float4 *);' "
        "'template __global__ void lost<32>(const float4 *, float4 *);' >two.cu; "
        "heed inspect -a sm_90 two.cu | grep -c shared-memory-unused");
    assert_string_equal(result.out, "2\n");
    /* names of a thousand characters are complete in JSON, and shortened in tables */
    run(state,
        "{ echo 'template <int...> struct S {}; template <class T> __global__ void'; "
        "echo 'wordy(float4 *y) { y[blockIdx.x] = make_float4(0, 0, 0, 0); } template __global__ "
        "void wordy<S<';"
        "seq -s, 300; echo '> >(float4 *);'; } >wordy.cu; heed inspect -a sm_90 wordy.cu | "
        "grep -m1 -c '^wordy.cu .*\\.\\.\\..* all '; heed inspect -a sm_90 --json wordy.cu | wc "
        "-L");
    assert_true(strncmp(result.out, "1\n", 2) == 0 && atoi(result.out + 2) > 1000);
    run(state, "cat two.cu " DATA "honest.cu >three.cu; heed inspect -a sm_90 three.cu");
    assert_int_equal(result.code, 0);
    assert_said(result.out, "No findings.");
}

/* A tile that is read by columns has 32-way conflicts in blocks of 32 by 8, 8-way conflicts in
 * blocks of 8 by 32, and unknown ones without a block shape; but a kernel may declare its shape. */
static void test_how_threads_lie_is_said(void **state)
{
    if (!has_tools(state))
        skip();
    run(state,
        "printf '%%s\n' 'extern \"C\" __global__ void SHAPE tile(const float *x, float *y) {' "
        "'__shared__ float t[32 * 33]; int i = threadIdx.x, j = threadIdx.y;' "
        "'t[i * 32 + j] = x[blockIdx.x * 256 + threadIdx.y * blockDim.x + threadIdx.x];' "
        "'__syncthreads(); y[blockIdx.x * 256 + i] = t[j * 32 + i]; }' >tile.cu; "
        "for t in 256 32x8 8x32; do heed inspect -a sm_90 -D SHAPE= -t $t tile.cu | "
        "grep -e conflicts; done; true");
    assert_said(result.out, "tile.cu tile sm_90: bank conflicts of 2 accesses depend on how the "
                            "block's threads are laid out; give it with --threads XxY.\n");
    assert_said(result.out, "32-way conflicts of shared memory");
    assert_said(result.out, "8-way conflicts of shared memory");
    run(state, "heed inspect -a sm_90 -D 'SHAPE=__block_size__((32, 8, 1))' tile.cu");
    if (result.code == 3) { /* an older compiler */
        assert_said(result.err, "__block_size__");
        return;
    }
    assert_int_equal(result.code, 0); /* not in a loop: a warning */
    assert_said(result.out, "  256  ");
    assert_said(result.out, "32-way");
    assert_null(strstr(result.out, "depend"));
}

/* Shipped kernels have no fault, with and without the architecture's newest matrix instructions. */
static void test_shipped_kernels_have_no_fault(void **state)
{
    if (!has_tools(state))
        skip();
    run(state, "heed inspect --json -a sm_89 -a sm_90 'b2 h8 s512 d64 f16 causal'");
    if (result.code != 0)
        fail_msg("exit status %d: %s%s", result.code, result.out, result.err);
    json_t *all = json_loads(result.out, 0, NULL), *kernel;
    size_t i;
    assert_non_null(all);
    assert_true(json_array_size(json_object_get(all, "kernels")) >= 7);
    json_array_foreach(json_object_get(all, "kernels"), i, kernel)
    {
        json_t *code = json_object_get(kernel, "instructions");
        assert_true(json_is_object(code));
        bool own = strstr(json_string_value(json_object_get(kernel, "kernel")), "wgmma") != NULL;
        json_int_t group = json_integer_value(
            json_object_get(json_object_get(code, "main_loops"), "tensor_warpgroup"));
        assert_int_equal(own, group > 0);
    }
    json_decref(all);
    /* the loops of a long problem are those of the softmax, with and without a mask */
    run(state,
        "heed inspect --json -a sm_90 -k fwd_16bit_sm90_wgmma 'b4 h16 s4096 d128 f16 causal'");
    all = json_loads(result.out, 0, NULL);
    kernel = json_object_get(json_array_get(json_object_get(all, "kernels"), 0), "instructions");
    assert_int_equal(json_integer_value(json_object_get(kernel, "main_loop_count")), 2);
    kernel = json_object_get(kernel, "main_loops");
    assert_true(json_integer_value(json_object_get(kernel, "exponentials")) > 100);
    json_decref(all);
}

/* Problems that are not supported do not keep the others from being inspected. */
static void test_unsupported_problems_are_left_out(void **state)
{
    static const char line[] = "printf 'b1 h1 s64 d64 f%s\\n' 32 16 32 >three.txt; "
                               "heed inspect --no-code -a sm_90 --shapes three.txt -k";
    run(state, "%s fwd_any_scalar_row", line);
    assert_int_equal(result.code, 4);
    assert_said(result.err, "none of the problems is supported; the last: fwd_any_scalar_row is");
    run(state, "%s fwd_16bit_sm90_wgmma", line);
    if (strstr(result.err, "NVRTC, CUDA")) {
        print_message("skipped: %s", result.err);
        skip();
    }
    assert_int_equal(result.code, 0);
    assert_said(result.out, "b1 h1 s64 d64 f16");
    assert_said(result.err, "warning: b1 h1 s64 d64 f32: left out on sm_90: fwd_16bit_sm90_wgmma");
    assert_null(strstr(result.err, "error"));
    run(state, "heed inspect --no-code -a sm_80 -a sm_90 -k fwd_16bit_sm90_wgmma "
               "b1 h1 s64 d64 f16");
    assert_int_equal(result.code, 0);
    assert_said(result.err, "left out on sm_80");
}

/* The kernel of the plan, for the architecture of the device. */
static void test_a_device_has_its_plan(void **state)
{
    static const char driver[] = "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA
                                 " FAKE_CUDA_ARCH=90 ";
    run(state, "%s heed inspect --no-code --json --device cuda 'b2 h8 s512 d64 f16'", driver);
    if (strstr(result.err, "NVRTC, CUDA")) {
        print_message("skipped: %s", result.err);
        skip();
    }
    assert_int_equal(result.code, 0);
    assert_said(result.out, "\"kernel\": \"fwd_16bit_sm90_wgmma__");
    assert_said(result.out, "\"arch\": 90");
    assert_null(strstr(result.out, "naive"));
    run(state, "%s heed inspect --no-code --device cuda -k fwd_any_sm80_naive b1 h1 s64 d64 f16",
        driver);
    assert_said(result.out, "fwd_any_sm80_naive");
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_counts_are_printed, test_counts_are_in_json,
               test_tools_that_do_not_work, test_without_a_tool, test_severities_decide,
               test_unsupported_problems_are_left_out, test_a_device_has_its_plan,
               test_each_is_found_when_compiled, test_how_threads_lie_is_said,
               test_kernels_are_judged_together, test_shipped_kernels_have_no_fault)
