/*
 * test_run_append.c - `heed run` with appended keys and values and with rotary embeddings: results,
 * output files
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append_scene.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, NULL };

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

/* A run with new keys, and one whose caches already contain them and whose queries are rotated:
 * outputs and caches must have the same bits. */
static const struct {
    const char *all;             /* options of both, besides LENGTHS */
    const char *q, *k, *v, *new; /* files of the first, and its options */
    const char *q_rotated, *k_full, *v_full;
    const char *spec;
} runs[] = {
    { "", "Q", "K", "V", NEW, "Q", "K_full", "V_full", "f32 append=3 lengths=b" },
    { "--words causal=br", "Q", "K", "V", NEW, "Q", "K_full", "V_full", "f32 causal=br append=3" },
    { "--words 'window=4: align=br' --kernel fwd_any_scalar_row", "Q", "K", "V", NEW, "Q", "K_full",
      "V_full", "append=3" },
    { "--layout bhsd --words causal=br", "Q_t", "K_t", "V_t",
      "--k-new K_new_t.npy --v-new V_new_t.npy ", "Q_t", "K_full_t", "V_full_t",
      "append=3 lengths=b layout=bhsd" },
    { "--table table.npy", "Q", "K_pool", "V_pool", NEW, "Q", "K_pool_full", "V_pool_full",
      "append=3 lengths=b paged=7/8" },
    { "--cu-seqlens-q cu_q.npy --words causal=br", "Q_plain_packed", "K", "V", NEW,
      "Q_plain_packed", "K_full", "V_full", "varlen=6/0 append=3" },
    { "--cu-seqlens-q cu_q.npy --table table.npy", "Q_plain_packed", "K_pool", "V_pool", NEW,
      "Q_plain_packed", "K_pool_full", "V_pool_full", "varlen=6/0 append=3 lengths=b paged=7/8" },
    { "--type f16", "Q", "K", "V", NEW, "Q", "K_full_f16", "V_full_f16", "f16 append=3" },
    { "--type f32", "Q_f16", "K", "V", NEW, "Q_f16", "K_full", "V_full", "f32 append=3" },
    { "--type bf16 --cpu scalar --threads 1 --kernel fwd_any_scalar_row", "Q_bf16", "K_bf16",
      "V_bf16", "--k-new K_new_bf16.npy --v-new V_new_bf16.npy ", "Q_bf16", "K_full_bf16",
      "V_full_bf16", "bf16 append=3" },
    { "--words causal=br", "Q", "K", "V", NEW ROTATED, "Q_halves", "K_halves", "V_full",
      "causal=br append=3 rotary=12 lengths=b" },
    { "--layout bhsd --kernel fwd_any_scalar_row", "Q_t", "K_t", "V_t",
      "--k-new K_new_t.npy --v-new V_new_t.npy " ROTATED, "Q_halves_t", "K_halves_t", "V_full_t",
      "append=3 rotary=12" },
    { "", "Q", "K", "V", NEW ROTATED "--words rotary=12:interleaved ", "Q_pairs", "K_pairs",
      "V_full", "append=3 rotary=12:interleaved lengths=b" },
    { "--table table.npy", "Q", "K_pool", "V_pool", NEW ROTATED, "Q_halves", "K_pool_halves",
      "V_pool_full", "append=3 rotary=12 lengths=b paged=7/8" },
    { "--cu-seqlens-q cu_few.npy --words causal=br", "Q_plain_packed", "K", "V", NEW ROTATED,
      "Q_halves_packed", "K_halves", "V_full", "varlen=6/0 append=3 rotary=12" },
    { "--cu-seqlens-q cu_few.npy --words causal=br", "Q_plain_packed", "K_full", "V_full", PACKED,
      "Q_plain_packed", "K_plain_packed", "V_plain_packed", "varlen=6/0 append=4:packed" },
    { "--cu-seqlens-q cu_few.npy ", "Q_plain_packed", "K_full", "V_full",
      PACKED ROTATED "--words rotary=12:interleaved ", "Q_pairs_packed", "K_pairs_packed",
      "V_plain_packed", "varlen=6/0 append=4:packed rotary=12:interleaved" },
    { "--cu-seqlens-q cu_few.npy --dim-v 4", "Q_plain_packed", "K", NULL,
      "--k-new K_new.npy " ROTATED, "Q_behind_packed", "K_behind", NULL,
      "f32 shared varlen=6/0 append=3 rotary=12" },
    { "--dim-v 4", "Q", "K", NULL, "--k-new K_new.npy ", "Q", "K_full", NULL,
      "f32 shared append=3" },
    { "--dim-v 4", "Q", "K", NULL, "--k-new K_new.npy " ROTATED, "Q_behind", "K_behind", NULL,
      "f32 shared append=3 rotary=12" },
};

/* Runs a line whose report must contain @spec. */
static void run_line(void **state, const char *line, const char *spec, heed_said *said)
{
    run_heed(state, &way, line, said);
    if (said->code != 0 || !strstr(said->out, spec))
        fail_msg("%s\n gave %d: %s%s", line, said->code, said->out, said->err);
}

static void vectors_to(char *line, size_t size, const char *q, const char *k, const char *v)
{
    const size_t length = (size_t)snprintf(line, size, "heed run --q %s.npy --k %s.npy ", q, k);
    if (v)
        snprintf(line + length, size - length, "--v %s.npy ", v);
}

static void appends_as_if_keys_were_there(void **state)
{
    heed_said *said = malloc(sizeof *said);
    assert_non_null(said);
    for (size_t n = 0; n < sizeof runs / sizeof *runs; n++) {
        char line[1024], files[256];
        vectors_to(files, sizeof files, runs[n].q, runs[n].k, runs[n].v);
        snprintf(line, sizeof line, "%s%s" LENGTHS "%s -o O.npy --lse L.npy --k-out K_out.npy %s",
                 files, runs[n].new, runs[n].all, runs[n].v ? "--v-out V_out.npy" : "");
        run_line(state, line, runs[n].spec, said);
        vectors_to(files, sizeof files, runs[n].q_rotated, runs[n].k_full, runs[n].v_full);
        snprintf(line, sizeof line, "%s" LENGTHS "%s -o P.npy --lse M.npy", files, runs[n].all);
        run_line(state, line, "", said);
        snprintf(line, sizeof line,
                 "cmp O.npy P.npy && cmp L.npy M.npy && cmp K_out.npy %s.npy && cmp %s %s%s",
                 runs[n].k_full, runs[n].v ? "V_out.npy" : "O.npy",
                 runs[n].v ? runs[n].v_full : "P.npy", runs[n].v ? ".npy" : "");
        run_line(state, line, "", said);
    }
    free(said);
}

/* The report names the output files, and input files are unchanged. */
static void names_its_files(void **state)
{
    static const run_heed_row lines[] = {
        { "cp K.npy K_before.npy; cp V.npy V_before.npy", 0, "", "" },
        { "heed run --q Q.npy --k K.npy --v V.npy " NEW LENGTHS
          "--k-out K_out.npy --v-out V_out.safetensors",
          0,
          "K        K_out.npy: f32 [2, 21, 2, 16]\nV        V_out.safetensors: f32 [2, 21, 2, 24]",
          "" },
        { "cmp K.npy K_before.npy && cmp V.npy V_before.npy && cmp K_out.npy K_full.npy", 0, "",
          "" },
        { "heed run --json --q Q.npy --k K.npy --v V.npy " NEW LENGTHS "--k-out K_out.npy", 0,
          "\"out\": null,\n  \"lse\": null,\n  \"k_out\": \"K_out.npy\",\n  \"v_out\": null", "" },
        { "heed run --q Q.npy --k K_pool.npy --v V_pool.npy --table table.npy " NEW LENGTHS
          "--k-out K_out.npy",
          0, "K_out.npy: f32 [8, 7, 2, 16]", "" },
    };
    EXPECT(state, lines);
}

/* Arrays in the file of --tensors, by their full names. */
static void reads_named_arrays(void **state)
{
    static const run_heed_row lines[] = {
        { "heed run --tensors all.safetensors --prefix x. --k-new new_k --v-new new_v "
          "--rotary-cos turn.c --rotary-sin turn.s " LENGTHS "-o O.npy --k-out K_out.npy",
          0, "append=3 rotary=12", "" },
        { "heed run --q Q_halves.npy --k K_halves.npy --v V_full.npy " LENGTHS "-o P.npy", 0, NULL,
          "" },
        { "cmp O.npy P.npy && cmp K_out.npy K_halves.npy", 0, "", "" },
        { "heed run --tensors all.safetensors --prefix x. --k-new x.new_k --v-new new_v " LENGTHS,
          2, "", "all.safetensors: there is no array 'x.new_k'" },
        { "heed run --q Q.npy --k K.npy --v V.npy --k-new new_k --v-new V_new.npy " LENGTHS, 2, "",
          "--k-new: 'new_k' does not end in .npy, and there is no --tensors" },
    };
    EXPECT(state, lines);
}

/* Cosines and sines of a type other than that of Q and K. */
static void takes_tables_of_each_type(void **state)
{
    static const run_heed_row lines[] = {
        { "heed run --q Q.npy --k K.npy --v V.npy " NEW LENGTHS
          "--rotary-cos cos_f16.npy --rotary-sin sin_f16.npy",
          0, "append=3 rotary=12 lengths=b cos=f16 sin=f16", "" },
        { "heed run --type bf16 --cpu scalar --q Q.npy --k K.npy --v V.npy " NEW LENGTHS ROTATED
          "--k-out K_out.npy",
          0, "K_out.npy: bf16 [2, 21, 2, 16]", NULL },
    };
    EXPECT(state, lines);
}

RUN_TESTS_WITHIN(append_scene_open, scratch_close, appends_as_if_keys_were_there, names_its_files,
                 reads_named_arrays, takes_tables_of_each_type)
