/*
 * findings.c - rules that turn the facts of compiled code into findings
 */
#include "inspect/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

#define KIB 1024

enum {
    WARP = 32,
    THREADS_MAX = 1024, /* of a block, on every architecture */
    WAYS_BAD = 8,       /* so many that conflicts dominate the code around them */
    ASYNC_ARCH = 90,    /* first architecture with asynchronous products */
    WIDENINGS_MANY = 2, /* in a loop of multiply-adds: its operands are of 16 bits */
    FMA_MANY = 4
};

#define FEW_WARPS 0.25    /* of the maximum per multiprocessor */
#define NARROW_SHARE 0.75 /* of the loads: with more, narrow ones are the rule */

const char *lab_severity_name(lab_severity severity)
{
    static const char *const names[] = { [LAB_SEVERITY_NOTE] = "note",
                                         [LAB_SEVERITY_WARNING] = "warning",
                                         [LAB_SEVERITY_FAULT] = "fault" };
    return (size_t)severity < sizeof names / sizeof *names ? names[severity] : "unknown";
}

/* Writes figure and fact, and returns true. */
static bool say(lab_code_finding *finding, double figure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool say(lab_code_finding *finding, double figure, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(finding->fact, sizeof finding->fact, format, list);
    va_end(list);
    finding->figure = figure;
    return true;
}

/* -------------------------------------------------------------------------- */
/* The launch                                                                 */
/* -------------------------------------------------------------------------- */

static bool is_limited_by(const lab_code_facts *facts, const char *what)
{
    return facts->limit && strcmp(facts->limit, what) == 0;
}

static bool block_too_big(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (facts->threads > THREADS_MAX)
        return say(finding, facts->threads, "%d threads a block; at most %d can be launched",
                   facts->threads, THREADS_MAX);
    if (facts->threads_max > 0 && facts->threads > facts->threads_max)
        return say(finding, facts->threads,
                   "%d threads a block; it was compiled for %d at most, and cannot be launched",
                   facts->threads, facts->threads_max);
    if (facts->resident != 0 || is_limited_by(facts, "shared memory"))
        return false;
    return say(finding, facts->threads,
               "no multiprocessor holds a block of %d threads with %d registers each",
               facts->threads, facts->registers);
}

/* True if it exceeds the architecture's maximum per block, which becomes the finding's limit. */
static bool smem_over(const lab_code_facts *facts, lab_code_finding *finding)
{
    if ((double)facts->smem_limit != finding->limit || facts->smem <= facts->smem_limit)
        return false;
    return say(finding, (double)facts->smem,
               "%lld bytes of shared memory a block; sm_%d has %lld at most",
               (long long)facts->smem, facts->arch, (long long)facts->smem_limit);
}

static bool smem_over_plain(const lab_code_facts *facts, lab_code_finding *finding)
{
    bool fits = facts->smem_limit == 0 || facts->smem <= facts->smem_limit;
    if ((double)facts->smem <= finding->limit || !fits || facts->opts_in)
        return false;
    return say(finding, (double)facts->smem,
               "%lld bytes of shared memory a block; a launch gets %lld unless it asks for more",
               (long long)facts->smem, (long long)finding->limit);
}

static bool are_few(const lab_code_facts *facts)
{
    return facts->resident > 0 && facts->warps_max > 0 &&
           facts->warps < FEW_WARPS * facts->warps_max;
}

/* Asynchronous products need no other warps to hide their latency: one warpgroup can keep the
 * tensor cores busy. If the code is unknown, assume them from sm_90 on. */
static bool may_be_async(const lab_code_facts *facts)
{
    return facts->sass ? lab_sass_sum(&facts->sass->all, LAB_SASS_GROUP_TENSOR_ASYNC) > 0
                       : facts->arch >= ASYNC_ARCH;
}

static bool low_occupancy(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!are_few(facts) || may_be_async(facts) || is_limited_by(facts, "shared memory"))
        return false;
    return say(finding, facts->warps, "%d of %d warps a multiprocessor, limited by %s",
               facts->warps, facts->warps_max, facts->limit ? facts->limit : "something");
}

static bool smem_limits(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!are_few(facts) || may_be_async(facts) || !is_limited_by(facts, "shared memory"))
        return false;
    return say(finding, facts->warps,
               "%d of %d warps a multiprocessor, limited by %lld bytes of shared memory a block",
               facts->warps, facts->warps_max, (long long)facts->smem);
}

static bool grid_too_small(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (facts->blocks <= 0 || facts->blocks >= facts->multiprocessors)
        return false;
    return say(finding, (double)facts->blocks,
               "%lld block%s for %d multiprocessors: the others have nothing to do",
               (long long)facts->blocks, lab_plural(facts->blocks), facts->multiprocessors);
}

static bool grid_unused(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass || facts->sass->reads_block || facts->blocks == 1)
        return false;
    return say(finding, 0, "it never reads its block index: all blocks would do the same work");
}

/* -------------------------------------------------------------------------- */
/* Memory                                                                     */
/* -------------------------------------------------------------------------- */

static bool spills(const lab_code_facts *facts, lab_code_finding *finding)
{
    if ((facts->spill_stores <= 0 && facts->spill_loads <= 0))
        return false;
    return say(finding, (double)(facts->spill_stores + facts->spill_loads),
               "%lld byte%s a thread spilled to memory for lack of registers, %lld loaded",
               (long long)facts->spill_stores, lab_plural(facts->spill_stores),
               (long long)facts->spill_loads);
}

/* Accesses to local memory in main loops and producers. */
static int64_t local_in_loops(const lab_code_facts *facts)
{
    if (!facts->sass)
        return 0;
    return lab_sass_sum(&facts->sass->main, LAB_SASS_GROUP_LOCAL) +
           lab_sass_sum(&facts->sass->producer, LAB_SASS_GROUP_LOCAL);
}

static bool local_memory_in_loop(const lab_code_facts *facts, lab_code_finding *finding)
{
    int64_t count = local_in_loops(facts);
    if (count == 0)
        return false;
    return say(finding, (double)count,
               "%lld loads and stores of local memory in the main loop; %lld byte%s a thread",
               (long long)count, (long long)facts->stack, lab_plural(facts->stack));
}

static bool local_memory(const lab_code_facts *facts, lab_code_finding *finding)
{
    bool spilled = facts->spill_stores > 0 || facts->spill_loads > 0;
    if (facts->stack == 0 || spilled || local_in_loops(facts) > 0)
        return false;
    return say(finding, (double)facts->stack, "%lld byte%s a thread in local memory: %s",
               (long long)facts->stack, lab_plural(facts->stack),
               facts->spill_stores < 0 ? "arrays, or registers that did not fit"
                                       : "arrays that registers could not hold");
}

static bool shared_memory_unused(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass || (facts->smem == 0 && !facts->declares_shared))
        return false;
    if (lab_sass_sum(&facts->sass->all, LAB_SASS_GROUP_SHARED) > 0 ||
        facts->sass->all.of[LAB_SASS_GENERIC] > 0)
        return false;
    return facts->smem > 0
               ? say(finding, (double)facts->smem,
                     "%lld bytes of shared memory a block, and no access to them",
                     (long long)facts->smem)
               : say(finding, 0, "the source declares shared memory; the code has none left");
}

/* Counts readers of shared memory other than loads into registers: products and the copy engine. */
static bool shared_memory_unread(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass)
        return false;
    const lab_sass_counts *all = &facts->sass->all;
    int64_t stores = lab_sass_sum(all, LAB_SASS_GROUP_SHARED_STORE) + all->of[LAB_SASS_ASYNC_COPY];
    int64_t reads = lab_sass_sum(all, LAB_SASS_GROUP_SHARED_LOAD) +
                    all->of[LAB_SASS_SHARED_ATOMIC] + all->of[LAB_SASS_TENSOR_GROUP] +
                    all->of[LAB_SASS_TENSOR_BLOCK] + all->of[LAB_SASS_TENSOR_MEMORY] +
                    all->of[LAB_SASS_BULK_COPY] + all->of[LAB_SASS_BULK_STORE] +
                    all->of[LAB_SASS_GENERIC];
    if (stores == 0 || reads > 0)
        return false;
    return say(finding, (double)stores, "%lld store%s to shared memory, which nothing reads",
               (long long)stores, lab_plural(stores));
}

static bool bank_conflicts(const lab_code_facts *facts, lab_code_finding *finding)
{
    const lab_sass_banks *banks = facts->sass ? &facts->sass->banks : NULL;
    if (!banks || banks->ways < 2)
        return false;
    if (banks->ways < WAYS_BAD || !banks->in_loop)
        finding->severity = LAB_SEVERITY_WARNING;
    return say(finding, banks->ways,
               "%d-way conflicts of shared memory%s at 0x%llx: %s (%d of %d accesses that can be "
               "judged conflict)",
               banks->ways, banks->in_loop ? " in a loop" : "", (unsigned long long)banks->address,
               banks->instruction, banks->conflicting, banks->known);
}

/* The counts for main loops and producers, or for the whole of a kernel without loops. */
static lab_sass_counts where_work_is(const lab_sass *sass)
{
    lab_sass_counts sum = sass->main_count > 0 ? sass->main : sass->all;
    for (int i = 0; i < LAB_SASS_CLASSES && sass->main_count > 0; i++)
        sum.of[i] += sass->producer.of[i];
    return sum;
}

static const char *in_main_loop(const lab_sass *sass)
{
    return sass->main_count > 0 ? " in the main loop" : "";
}

static bool narrow_global_loads(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass)
        return false;
    const lab_sass_counts work = where_work_is(facts->sass);
    int64_t narrow = work.of[LAB_SASS_GLOBAL_LOAD_8] + work.of[LAB_SASS_GLOBAL_LOAD_16] +
                     work.of[LAB_SASS_GLOBAL_LOAD_32];
    int64_t all = lab_sass_sum(&work, LAB_SASS_GROUP_GLOBAL_LOAD) +
                  lab_sass_sum(&work, LAB_SASS_GROUP_ASYNC);
    if (narrow == 0 || (double)narrow < NARROW_SHARE * (double)all)
        return false;
    return say(finding, (double)narrow,
               "%lld of %lld global loads%s are of 32 bits a thread or fewer", (long long)narrow,
               (long long)all, in_main_loop(facts->sass));
}

static bool lanes_rows_apart(const lab_code_facts *facts, lab_code_finding *finding)
{
    const lab_sass_rows *rows = facts->sass ? &facts->sass->rows : NULL;
    if (!rows || rows->apart == 0)
        return false;
    return say(
        finding, rows->lines,
        "lanes read %d lines of 128 bytes%s at 0x%llx where %d would do: %s (%d of %d load%s "
        "that can be judged)",
        rows->lines, rows->in_loop ? " in a loop" : "", (unsigned long long)rows->address,
        rows->least, rows->instruction, rows->apart, rows->known, lab_plural(rows->known));
}

static bool one_thread_loop(const lab_code_facts *facts, lab_code_finding *finding)
{
    const lab_sass_single *single = facts->sass ? &facts->sass->single : NULL;
    if (!single || single->loops == 0)
        return false;
    return say(finding, (double)single->amount,
               "at most one thread of a warp enters the loop at 0x%llx: %lld instruction%s of "
               "arithmetic and loads there",
               (unsigned long long)single->first, (long long)single->amount,
               lab_plural(single->amount));
}

/* -------------------------------------------------------------------------- */
/* Tensor cores                                                               */
/* -------------------------------------------------------------------------- */

static bool tensor_cores_unused(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass || lab_sass_sum(&facts->sass->all, LAB_SASS_GROUP_TENSOR) > 0)
        return false;
    const lab_sass_counts work = where_work_is(facts->sass);
    int64_t products = work.of[LAB_SASS_FMA] + work.of[LAB_SASS_HALF];
    bool halves = work.of[LAB_SASS_WIDEN] >= WIDENINGS_MANY || work.of[LAB_SASS_HALF] >= FMA_MANY;
    if (products < FMA_MANY || !(facts->wants_tensor || halves))
        return false;
    return say(finding, (double)products,
               "%lld multiply-adds%s on 16-bit values, and no tensor instruction",
               (long long)products, in_main_loop(facts->sass));
}

/* The native tensor instruction of an architecture; others run at half its rate or less. */
static const struct {
    int first, last;
    lab_sass_class own;
    const char *name;
} instructions[] = {
    { 90, 90, LAB_SASS_TENSOR_GROUP, "HGMMA (wgmma)" },
    { 100, 103, LAB_SASS_TENSOR_BLOCK, "UTCHMMA (tcgen05.mma)" },
};

static bool wrong_tensor_instruction(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass)
        return false;
    int64_t all = lab_sass_sum(&facts->sass->all, LAB_SASS_GROUP_TENSOR);
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
        if (facts->arch >= instructions[i].first && facts->arch <= instructions[i].last &&
            all > 0 && facts->sass->all.of[instructions[i].own] == 0)
            return say(finding, (double)all,
                       "%lld tensor instruction%s, none of them sm_%d's own: %s", (long long)all,
                       lab_plural(all), facts->arch, instructions[i].name);
    return false;
}

static bool no_async_copies(const lab_code_facts *facts, lab_code_finding *finding)
{
    if (!facts->sass || facts->arch < 80)
        return false;
    const lab_sass *sass = facts->sass;
    int64_t loads = lab_sass_sum(&sass->main, LAB_SASS_GROUP_GLOBAL_LOAD);
    int64_t stores = lab_sass_sum(&sass->main, LAB_SASS_GROUP_SHARED_STORE);
    if (lab_sass_sum(&sass->all, LAB_SASS_GROUP_TENSOR) == 0 || loads == 0 || stores == 0 ||
        lab_sass_sum(&sass->all, LAB_SASS_GROUP_ASYNC) > 0)
        return false;
    return say(finding, (double)loads,
               "%lld global load%s in the main loop go through registers into shared memory",
               (long long)loads, lab_plural(loads));
}

/* -------------------------------------------------------------------------- */
/* The rules                                                                  */
/* -------------------------------------------------------------------------- */

#define ASK_FOR_MORE                                      \
    "raise it for the function: cuFuncSetAttribute(..., " \
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes), or the launch fails"
#define LESS_SMEM "fewer stages, or shorter tiles"

static const struct {
    const char *name;
    lab_severity severity; /* a rule may lower it */
    bool (*judge)(const lab_code_facts *facts, lab_code_finding *finding);
    double limit;
    const char *unit;
    const char *advice;
} rules[] = {
    { "block-too-big", LAB_SEVERITY_FAULT, block_too_big, 0, "threads",
      "fewer threads, or fewer registers: __launch_bounds__(threads), or the compiler's limit" },
    { "smem-over-227k", LAB_SEVERITY_FAULT, smem_over, 227 * KIB, "bytes", LESS_SMEM },
    { "smem-over-163k", LAB_SEVERITY_FAULT, smem_over, 163 * KIB, "bytes", LESS_SMEM },
    { "smem-over-99k", LAB_SEVERITY_FAULT, smem_over, 99 * KIB, "bytes", LESS_SMEM },
    { "spills", LAB_SEVERITY_FAULT, spills, 0, "bytes",
      "smaller tiles, or a larger cap: fewer threads a block, __launch_bounds__" },
    { "local-memory-in-loop", LAB_SEVERITY_FAULT, local_memory_in_loop, 0, "instructions",
      "index arrays by constants only: unroll the loops that do; or see spills" },
    { "shared-memory-unused", LAB_SEVERITY_FAULT, shared_memory_unused, 0, "bytes",
      "nothing is staged: check whether the stored data is ever used; if it need not be, take "
      "it away" },
    { "shared-memory-unread", LAB_SEVERITY_FAULT, shared_memory_unread, 0, "stores",
      "read what was staged from shared memory, and not once more from global memory" },
    { "bank-conflicts", LAB_SEVERITY_FAULT, bank_conflicts, 0, "ways",
      "pad rows by 16 bytes, or swizzle: exclusive-or the column with the row" },
    { "tensor-cores-unused", LAB_SEVERITY_WARNING, tensor_cores_unused, 0, "multiply-adds",
      "mma.sync (sm_80 and later), wgmma (sm_90a), tcgen05.mma (sm_100a)" },
    { "wrong-tensor-instruction", LAB_SEVERITY_WARNING, wrong_tensor_instruction, 0, "instructions",
      "compile for the architecture with its suffix (sm_90a) and use its instruction; with few "
      "rows "
      "of queries the older one can be right" },
    { "smem-over-48k", LAB_SEVERITY_WARNING, smem_over_plain, 48 * KIB, "bytes", ASK_FOR_MORE },
    { "narrow-global-loads", LAB_SEVERITY_WARNING, narrow_global_loads, 0, "loads",
      "16 bytes a thread: float4, uint4, cp.async of 16 bytes, or the copy engine" },
    { "lanes-rows-apart", LAB_SEVERITY_WARNING, lanes_rows_apart, 0, "lines",
      "let neighbouring threads read neighbouring addresses: lanes along the head dim, not along "
      "the "
      "rows; or stage tiles in shared memory" },
    { "one-thread-loop", LAB_SEVERITY_WARNING, one_thread_loop, 0, "instructions",
      "share the work among the threads of the block, and combine by shuffles or shared memory" },
    { "local-memory", LAB_SEVERITY_WARNING, local_memory, 0, "bytes",
      "index arrays by constants only: unroll the loops that do" },
    { "grid-unused", LAB_SEVERITY_WARNING, grid_unused, 0, "",
      "spread batch, heads and rows over "
      "the grid: blockIdx" },
    { "grid-too-small", LAB_SEVERITY_WARNING, grid_too_small, 0, "blocks",
      "spread batch and heads over the grid, cut rows into smaller tiles, or split the keys" },
    { "smem-limits-occupancy", LAB_SEVERITY_NOTE, smem_limits, 0, "warps", LESS_SMEM },
    { "low-occupancy", LAB_SEVERITY_NOTE, low_occupancy, 0, "warps",
      "fewer registers or smaller tiles, unless what a warp does by itself hides its waits" },
    { "no-async-copies", LAB_SEVERITY_NOTE, no_async_copies, 0, "loads",
      "cp.async, or on sm_90 the copy engine, takes them past the registers" },
};

const char *lab_code_rule(size_t index, lab_severity *severity, const char **advice)
{
    if (index >= sizeof rules / sizeof *rules)
        return NULL;
    *severity = rules[index].severity;
    *advice = rules[index].advice;
    return rules[index].name;
}

size_t lab_code_judge(const lab_code_facts *facts, lab_code_finding findings[LAB_CODE_FINDINGS_MAX])
{
    _Static_assert(sizeof rules / sizeof *rules <= LAB_CODE_FINDINGS_MAX, "room for all");
    size_t count = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        lab_code_finding finding = { .name = rules[i].name,
                                     .severity = rules[i].severity,
                                     .limit = rules[i].limit,
                                     .unit = rules[i].unit,
                                     .advice = rules[i].advice };
        if (!rules[i].judge(facts, &finding))
            continue;
        size_t at = count++;
        for (; at > 0 && findings[at - 1].severity < finding.severity; at--)
            findings[at] = findings[at - 1];
        findings[at] = finding;
    }
    return count;
}
