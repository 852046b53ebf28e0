/*
 * test_run_append_refusals.c - new keys and rotary embeddings that `heed run` refuses
 */
#include "run_tests.h"

#include "append_scene.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, NULL };

/* A command, and a part of its error. */
typedef struct refusal {
    const char *line, *err;
} refusal;

/* All @lines must exit with 2 and print nothing to stdout. */
static void refuse(void **state, const refusal *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const run_heed_row row = { lines[i].line, 2, "", lines[i].err };
        run_heed_rows(state, &way, &row, 1);
    }
}

#define REFUSE(state, table) refuse(state, table, sizeof(table) / sizeof(table)[0])

#define RUN "heed run --q Q.npy --k K.npy --v V.npy "
#define APPENDED RUN NEW LENGTHS
#define K_NEW "--v-new V_new.npy " LENGTHS "--k-new "
#define COS "--rotary-sin sin.npy --rotary-cos "
#define SIN "--rotary-cos cos.npy --rotary-sin "
#define PAGED "heed run --q Q.npy --k K_pool.npy --v V_pool.npy " NEW LENGTHS "--table "

static void refuses_options_without_others(void **state)
{
    static const refusal lines[] = {
        { RUN "--v-new V_new.npy " LENGTHS, "--v-new needs --k-new" },
        { RUN "--k-new K_new.npy " LENGTHS,
          "--k-new needs --v-new, or --dim-v in the place of --v" },
        { RUN NEW, "--k-new needs --lengths, which count the new keys" },
        { RUN LENGTHS ROTATED, "--rotary-cos needs --k-new: Q is rotated beside new keys alone" },
        { APPENDED "--rotary-cos cos.npy", "--rotary-cos needs --rotary-sin" },
        { APPENDED "--rotary-sin sin.npy", "--rotary-sin needs --rotary-cos" },
        { RUN "--k-out K_out.npy", "--k-out needs --k-new: without new keys K stays as it is" },
        { RUN "--v-out V_out.npy", "--v-out needs --k-new: without new keys V stays as it is" },
        { "heed run --q Q.npy --k K.npy --dim-v 4 " NEW LENGTHS,
          "--v-new and --dim-v exclude each other: with --dim-v, V is a part of K" },
        { "heed run --q Q.npy --k K.npy --dim-v 4 --k-new K_new.npy " LENGTHS "--v-out V_out.npy",
          "--v-out and --dim-v exclude each other" },
        { APPENDED "--k-out K.txt", "--k-out: 'K.txt' must end in .npy or .safetensors" },
        { APPENDED "--v-out V", "--v-out: 'V' must end in" },
        { APPENDED "--out O.npy --k-out O.npy", "--out and --k-out name the same file, 'O.npy'" },
        { APPENDED "--k-out K_out.npy --v-out K_out.npy",
          "--k-out and --v-out name the same file" },
    };
    REFUSE(state, lines);
}

static void refuses_new_keys_that_do_not_fit(void **state)
{
    static const refusal lines[] = {
        { RUN K_NEW "lengths.npy",
          "--k-new: lengths.npy has elements of type i32; they must be of f32, f16, bf16" },
        { RUN K_NEW "K_new_f16.npy",
          "--k-new: K_new_f16.npy has elements of type f16, K those of type f32; choose one "
          "with --type" },
        { RUN LENGTHS "--k-new K_new.npy --v-new V_new_bf16.npy",
          "--v-new: V_new_bf16.npy has elements of type bf16, K those of type f32" },
        { RUN K_NEW "new_flat.npy",
          "--k-new: new_flat.npy has shape [2, 3, 16], 3 dimensions; it must have 4: [batch, "
          "append, heads, dim]" },
        { RUN K_NEW "new_batch.npy",
          "--k-new: new_batch.npy has shape [3, 3, 2, 16]: dimension 0 (batch) is 3; it must be "
          "2\n" },
        { RUN K_NEW "new_long.npy", "dimension 1 (append) is 22; it must be 1 to 21" },
        { RUN K_NEW "new_none.npy", "dimension 1 (append) is 0; it must be 1 to 21" },
        { RUN K_NEW "new_heads.npy", "dimension 2 (heads) is 3; it must be 2\n" },
        { RUN K_NEW "V_new.npy", "dimension 3 (dim) is 24; it must be 16\n" },
        { RUN LENGTHS "--k-new K_new.npy --v-new v_new_two.npy",
          "--v-new: v_new_two.npy has shape [2, 2, 2, 24]: dimension 1 (append) is 2; it must be "
          "3\n" },
        { "heed run --layout bhsd --q Q_t.npy --k K_t.npy --v V_t.npy " NEW LENGTHS,
          "--k-new: K_new.npy has shape [2, 3, 2, 16]: dimension 1 (heads) is 3; it must be 2\n" },
        { "heed run --layout bhsd --q Q_t.npy --k K_t.npy --v V_t.npy " K_NEW "new_flat.npy",
          "it must have 4: [batch, heads, append, dim]" },
        { "heed run --q Q.npy --k packed.npy --v packed.npy " NEW LENGTHS,
          "--k-new: K (packed.npy: [42, 2, 16]) has packed keys, to which none are appended" },
        { RUN "--lengths short.npy " NEW,
          "--lengths: short.npy: entry 1 is 2; it must be 3 to 21" },
        { APPENDED "--words prefix=7",
          "--lengths: lengths.npy: entry 1 is 8; it must be 10 to 21" },
        { APPENDED "--words append=3", "append must be given once" },
        { APPENDED "--words k_new=96:32:16", "the strides of k_new must be given once" },
        { RUN LENGTHS "--words append=3",
          "append needs its elements: give --k-new FILE, which implies the word" },
    };
    REFUSE(state, lines);
}

static void refuses_rotations_that_do_not_fit(void **state)
{
    static const refusal lines[] = {
        { APPENDED COS "lengths.npy",
          "--rotary-cos: lengths.npy has elements of type i32; they must be of f32, f16, bf16" },
        { APPENDED COS "cos_flat.npy",
          "--rotary-cos: cos_flat.npy has shape [21], 1 dimension; it must have 2: [positions, "
          "rotary / 2]" },
        { APPENDED COS "cos_few.npy",
          "--rotary-cos: cos_few.npy has shape [20, 6]: dimension 0 (positions) is 20; it must be "
          "21 or more" },
        { APPENDED COS "cos_wide.npy", "dimension 1 (rotary / 2) is 9; it must be 1 to 8\n" },
        { "heed run --q Q.npy --k K.npy --dim-v 8 --k-new K_new.npy " LENGTHS ROTATED,
          "dimension 1 (rotary / 2) is 6; it must be 1 to 4\n" },
        { APPENDED SIN "cos_flat.npy", "--rotary-sin: cos_flat.npy has shape [21]" },
        { APPENDED SIN "cos_few.npy", "--rotary-sin: cos_few.npy has shape [20, 6]" },
        { APPENDED SIN "sin_thin.npy",
          "--rotary-sin: sin_thin.npy has shape [21, 2]: dimension 1 (rotary / 2) is 2; it must "
          "be 6\n" },
        { APPENDED SIN "sin_f16.npy",
          "--rotary-sin: sin_f16.npy has elements of type f16; they must be of f32, as those of "
          "--rotary-cos" },
        { APPENDED ROTATED "--words rotary=8",
          "--words: rotary is 8; it must be 12, for 6 cosines of each position in cos.npy" },
        { APPENDED ROTATED "--words 'rotary=12 rotary=12'", "rotary must be given once" },
        { APPENDED ROTATED "--words cos=f32", "must be given once" },
        { APPENDED "--words rotary=12", "rotary needs its elements: give --rotary-cos FILE" },
        { RUN LENGTHS "--words rotary=12", "rotary is 12 and append is 0" },
    };
    REFUSE(state, lines);
}

/* A page that is written to must occur only once. */
static void refuses_pages_that_are_shared(void **state)
{
    static const refusal lines[] = {
        { PAGED "table_new.npy",
          "--table: table_new.npy: entries [0, 2] and [1, 1] are both 6; new keys go to the "
          "former, and such a page must have only one entry" },
        { PAGED "table_old.npy", "--table: table_old.npy: entries [1, 1] and [0, 1] are both 7" },
        { PAGED "table_own.npy", "--table: table_own.npy: entries [0, 2] and [0, 1] are both 6" },
    };
    REFUSE(state, lines);
}

/* Table entries in the range of a prefix do not count, and files that are missing are no misuse. */
static void knows_other_outcomes(void **state)
{
    static const run_heed_row lines[] = {
        { "heed run --q Q.npy --k K_pool.npy --v V_pool.npy " NEW
          "--lengths ten.npy --words prefix=7 --table table_ahead.npy",
          0, "prefix=7 append=3 lengths=b paged=7/8", NULL },
        { APPENDED "--k-out no/K.npy", 3, "", "no/K.npy: No such file" },
        { RUN K_NEW "no.npy", 3, "", "no.npy: No such file" },
    };
    run_heed_rows(state, &way, lines, sizeof lines / sizeof *lines);
}

RUN_TESTS_WITHIN(append_scene_open, scratch_close, refuses_options_without_others,
                 refuses_new_keys_that_do_not_fit, refuses_rotations_that_do_not_fit,
                 refuses_pages_that_are_shared, knows_other_outcomes)
