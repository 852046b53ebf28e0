/*
 * wgmma/walk.cuh - the main loop of a consumer warpgroup of attn_wgmma.cu over its tiles of keys,
 * in one of three orders
 */
#ifndef HEED_WGMMA_WALK_CUH
#define HEED_WGMMA_WALK_CUH

#include "wgmma/store.cuh"

#if HEED_OWN_TILES == 2 && (HEED_KEY_GROUPS > 1 || !HEED_MASKED)
#error "HEED_OWN_TILES 2 is for row groups, under a mask"
#endif
#if HEED_STAGES % HEED_KEY_GROUPS != 0 || \
    (HEED_STEP_ORDER == 2 && HEED_STAGES < 2 * HEED_KEY_GROUPS)
#error "HEED_STAGES must be a multiple of HEED_KEY_GROUPS, with HEED_STEP_ORDER 2 twice it or more"
#endif
#if HEED_SCHEDULE == 2 && HEED_KEY_GROUPS > 1
#error "key groups need another HEED_SCHEDULE than 2"
#endif
#if (HEED_TURNS > 1 && HEED_ROW_GROUPS == 1) || (HEED_SCHEDULE == 4 && HEED_ROW_GROUPS > 1)
#error "turns need several row groups, and pairs one"
#endif

/* Placed before the main loop of order 2. Unrolling by two makes the numbers of two stages
 * constants. Wider heads would spill, and softcaps compile three times as long. */
#if HEED_STAGES == 2 && HEED_DIM_QK <= 128 && HEED_DIM_V <= 128 && !STEPS_CAP && \
    HEED_ABLATE != ABLATE_UNROLLED
#define HEED_STAGE_LOOP HEED_UNROLL_BY_TWO
#else
#define HEED_STAGE_LOOP HEED_MAIN_LOOP
#endif

/* A thread's state in the main loop. */
typedef struct walk {
    const heed_cuda_mapped_args *m;
    place at;
    u32 round;  /* of items */
    u32 q;      /* its rows in shared memory, */
    u32 rows;   /* and their descriptor */
    tile tile;  /* the next tile of the team, */
    ring clean; /* and the next tile of V that needs a mask */
    lane_rows own;
    tile_rows ahead; /* those of the next tile: EARLY_ROWS */
    int large;       /* true if a score of the last tile was not small: STEPS_CAP */
} walk;

/* The number, in the block, of the team's tile @j. */
HEED_DEVICE u32 own_tile(const place *at, u32 j)
{
    return HEED_OWN_TILES == 2 ? at->passed + j : at->team + j * TEAMS;
}

/* The number of the team's tiles among the block's first @count. */
HEED_DEVICE u32 own_count(const place *at, u32 count)
{
    u32 first = HEED_OWN_TILES == 2 ? at->passed : at->team;
    return count > first ? (count - first + TEAMS - 1) / TEAMS : 0;
}

/* The end of the block's tiles that need a mask for its rows. */
HEED_DEVICE u32 masked_end(const place *at)
{
    return HEED_OWN_TILES == 2 ? at->cut : at->masked;
}

/* True if registers are so scarce that a thread's place is computed again at each use. */
#define PLACED_ANEW (HEED_MODIFIES || HEED_HIDES)

HEED_DEVICE void find_thread(place *at)
{
    u32 thread = ptx_thread_anew();
    at->warp = thread / 32 % 4;
    at->lane = thread % 32;
}

HEED_DEVICE place place_anew(const walk *w)
{
    place at = w->at;
    if (PLACED_ANEW)
        find_thread(&at);
    return at;
}

/* The warp no longer reads the data of the barrier. */
HEED_DEVICE void release(const walk *w, u32 barrier)
{
    if ((PLACED_ANEW ? ptx_thread_anew() % 32 : w->at.lane) == 0)
        ptx_mbarrier_arrive(barrier);
}

HEED_DEVICE void wait_keys(const tile *of)
{
    ptx_mbarrier_wait(tile_barrier(of, K_FULL), of->at.parity);
}

/* Waits for the values of @from, and for their cleaning if the block needs a mask for them. */
HEED_DEVICE void wait_values(walk *w, const tile *from, int cleaned)
{
    if (HEED_MASKED && !HEED_HIDES && cleaned) {
        ptx_mbarrier_wait(stage_barrier(V_CLEAN, w->clean.stage), w->clean.parity);
        ring_advance(&w->clean, HEED_KEY_GROUPS);
    } else {
        ptx_mbarrier_wait(tile_barrier(from, V_FULL), from->at.parity);
    }
}

/* With HEED_OWN_TILES 2: true if tile @j is cleaned. Otherwise the tiles that need a mask for its
 * rows are. */
HEED_DEVICE int is_cleaned(const walk *w, u32 j)
{
    return own_tile(&w->at, j) < w->at.masked;
}

/* Once an item's first products are done, the copy of the previous item's results has ended,
 * too. */
HEED_DEVICE void release_last(const walk *w)
{
    if (HEED_SCHEDULE == 2 && w->round > 0)
        release_o(&w->at, q_buffer(w->round - 1, w->at.row_group));
}

/* ---- Turns: row group r follows r - 1, and the first one follows the last; each key group
 * separately, as their numbers of tiles may differ ---- */

HEED_DEVICE int turn_barrier(const place *at, u32 row_group)
{
    return (int)(TURN_BARRIER + at->key_group * HEED_ROW_GROUPS + row_group);
}

HEED_DEVICE void pass_turn(const place *at)
{
    u32 next = at->row_group + 1 < HEED_ROW_GROUPS ? at->row_group + 1 : 0;
    ptx_barrier_named_arrive(turn_barrier(at, next), 2 * GROUP_THREADS);
}

HEED_DEVICE void take_turn(const place *at)
{
    ptx_barrier_named(turn_barrier(at, at->row_group), 2 * GROUP_THREADS);
}

/* ---- Steps ---- */

/* Skips the tiles that its rows do not see, which others wait for, and as many turns. */
HEED_DEVICE void pass_tiles(walk *w)
{
#if HEED_OWN_TILES == 2
    HEED_NO_UNROLL
    for (u32 j = 0; j < w->at.passed; j++) {
        wait_keys(&w->tile);
        release(w, tile_barrier(&w->tile, K_EMPTY));
        wait_values(w, &w->tile, j < w->at.masked);
        release(w, tile_barrier(&w->tile, V_EMPTY));
        tile_advance(&w->tile);
        if (HEED_TURNS > 1 && (HEED_STEP_ORDER != 2 || j + 1 < w->at.tiles)) {
            take_turn(&w->at);
            pass_turn(&w->at);
        }
    }
#else
    (void)w;
#endif
}

/* Finds the lane's rows, once for an item. */
HEED_DEVICE void find_own_rows(walk *w)
{
    HEED_UNROLL
    for (int i = 0; i < 2 && (HEED_MODIFIES || HEED_HIDES); i++)
        find_lane_row(&w->m->args, &w->at, &w->own, i);
}

/* True if the rows of a tile are found as soon as those of the previous one are no longer needed,
 * so that their loads overlap with other work. Otherwise they are found when the scores are ready,
 * and need no registers before. */
#if HEED_PAIRS && (HEED_MODIFIES || HEED_HIDES)
#define EARLY_ROWS (STEPS_READ_AHEAD && !(HEED_BIAS_TILES && STEPS_STAGED == 1))
#else
#define EARLY_ROWS 0
#endif

#define READ_AHEAD                                                                    \
    ((HEED_PAIRS ? STEP_PAIRS : 0) | (EARLY_ROWS || HEED_BIAS_TILES ? STEP_AHEAD : 0) | \
     (HEED_BIAS_TILES ? STEP_STAGED : 0))

/* Finds the lane's rows of tile @j; @masked: it may be on the edge of a mask. */
HEED_DEVICE void find_tile_rows(const walk *w, tile_rows *rows, u32 j, const int masked)
{
    place at = place_anew(w);
    HEED_UNROLL
    for (int i = 0; i < 2 && (HEED_MODIFIES || HEED_HIDES); i++)
        find_tile_row(&w->m->args, &at, &w->own, rows, i, tile_key(&at, own_tile(&at, j)), !masked,
                      READ_AHEAD);
}

/* The same before its scores. Of @tiles tiles those with a mask come first. */
HEED_DEVICE void find_early_rows(walk *w, u32 j, u32 tiles, const int masked)
{
    if (EARLY_ROWS)
        find_tile_rows(w, &w->ahead, j < tiles ? j : tiles - 1, masked);
}

/* Reads the lane's elements of the bias from its tile, whose layout is that of Q. */
HEED_DEVICE void take_bias(const walk *w, tile_rows *rows, const tile *of)
{
#if HEED_BIAS_TILES
    place at = place_anew(w);
    u32 from = bias_tile(of->at, at.row_group);
    HEED_UNROLL
    for (u32 i = 0; i < 2; i++) {
        u32 row = at.warp * 16 + i * 8 + at.lane % 8;
        HEED_UNROLL
        for (u32 chunk = 0; chunk < KEYS8; chunk += 4) {
            u32 panel = chunk / PANEL_CHUNKS * GROUP_ROWS * PANEL_ROW;
            ptx_ldmatrix_x4(staged_of(&rows->at[i])->v + chunk,
                            chunk_at(from + panel, GROUP_ROWS, row,
                                     chunk % PANEL_CHUNKS + at.lane / 8));
        }
    }
    ptx_warp_barrier(); /* all lanes have read it */
#else
    (void)w;
    (void)rows;
    (void)of;
#endif
}

/* Changes the scores of tile @j at @of, whose @rows are found, and masks them, */
HEED_DEVICE void modify_found(walk *w, float s[ROWS16][KEYS8][4], tile_bases *bases,
                              tile_rows *rows, const tile *of, const int masked)
{
    const int how = READ_AHEAD | (masked ? 0 : STEP_FAR | STEP_SEEN);
    (void)how; /* without steps */
    take_bias(w, rows, of);
    ready_tile_rows(&w->own, rows, how);
    int small = !masked && are_small(&w->m->args, s);
    (void)small;
    if (STEPS_CAP)
        w->large = !masked && !small;
    HEED_UNROLL
    for (int i = 0; i < 2 && (HEED_MODIFIES || HEED_HIDES); i++)
        modify_row(&w->m->args, &w->own, rows, s, bases, i, !masked, how, small);
}

/* the same once more, */
HEED_DEVICE void modify_again(walk *w, float s[ROWS16][KEYS8][4], tile_bases *bases,
                              const tile *of, u32 j, const int masked)
{
    tile_rows rows;
    find_tile_rows(w, &rows, j, masked);
    modify_found(w, s, bases, &rows, of, masked);
}

/* True if softcaps take fewer instructions in most tiles than in others. With order 2 that needs
 * registers which other steps would take. */
#define CAP_ALONE (!HEED_HIDES && !STEPS_RISE && !STEPS_READ_AHEAD)
#define QUICK (STEPS_CAP && (HEED_STEP_ORDER == 3 || (HEED_STEP_ORDER == 2 && CAP_ALONE)))

/* True if turns at the softmax do not include the changes of scores. */
#define TURN_LATE (HEED_TURNS == 3 && !QUICK)

/* True if the main loop has no branch between the changes of scores and the exponentials, so that
 * they overlap. Then the first tile, whose maxima are needed before, comes before the loop. */
#define STRAIGHT (HEED_STEP_ORDER == 3 && (HEED_MODIFIES || HEED_HIDES) && !TURN_LATE)

/* Keeps the compiler from moving arithmetic or loads across this place, without such a branch. */
HEED_DEVICE void keep_order(const walk *w)
{
    if (STRAIGHT)
        ptx_keep_order(w->m->args.group.value == 0);
}

/* or for the first time, and then finds the rows of the next one. Their loads stay behind the last
 * use of these: otherwise registers are copied, which waits for the loads. */
HEED_DEVICE void modify_tile(walk *w, float s[ROWS16][KEYS8][4], tile_bases *bases,
                             const tile *of, u32 j, u32 tiles, const int masked)
{
    if (!EARLY_ROWS) {
        modify_again(w, s, bases, of, j, masked);
        return;
    }
    modify_found(w, s, bases, &w->ahead, of, masked);
    keep_order(w);
    find_early_rows(w, j + 1, tiles, masked);
}

/* QUICK: true if tile @j, whose @rows are found, may be changed quickly: nothing is known of its
 * scores yet. */
HEED_DEVICE int begin_quickly(walk *w, tile_rows *rows, u32 j)
{
    (void)rows;
    (void)j;
    if (w->large)
        return 0;
    if (!EARLY_ROWS)
        find_tile_rows(w, rows, j, 0);
#if QUICK
    if (STEPS_RISE && ptx_vote_any(is_near(&rows->at[0]) || is_near(&rows->at[1])))
        return 0;
#endif
    return 1;
}

/* Changes the scores of tile @j of @tiles, which needs no mask, with few instructions and no
 * branch. Returns false if they are not valid for one of the lane's. */
HEED_DEVICE int change_quickly(walk *w, float s[ROWS16][KEYS8][4], tile_bases *bases,
                               tile_rows *rows, const tile *of, u32 j, u32 tiles)
{
#if QUICK
    const int how = READ_AHEAD | STEP_FAR | STEP_SEEN | STEP_TINY;
    int tiny = has_tiny(&w->m->args, s);
    take_bias(w, rows, of);
    ready_tile_rows(&w->own, rows, how);
    HEED_UNROLL
    for (int i = 0; i < 2; i++)
        modify_row_so(&w->m->args, &w->own.of[i], &rows->at[i], s, &bases->of[0][i], i, 1, how);
    if (EARLY_ROWS) {
        keep_order(w);
        find_early_rows(w, j + 1, tiles, 0);
    }
    return tiny;
#else
    (void)w;
    (void)s;
    (void)bases;
    (void)rows;
    (void)of;
    (void)j;
    (void)tiles;
    return 0;
#endif
}

/* Masks without changing scores. */
HEED_DEVICE void mask_tile(const walk *w, float s[ROWS16][KEYS8][4], u32 j)
{
    place at = place_anew(w);
    if (!is_inner(&at, own_tile(&at, j)))
        mask_scores(&w->m->args, &at, s, tile_key(&at, own_tile(&at, j)));
}

/* Begins the turn, with what other warps wait for behind it. */
HEED_DEVICE void begin_softmax(walk *w)
{
    if (HEED_TURNS == 3)
        take_turn(&w->at);
    keep_order(w);
}

#if HEED_STEP_ORDER != 2

/* Keys whose weights are computed before their values are started, in units of 8. */
#define PART8 (HEED_STEP_ORDER == 1 ? 4 : KEYS8)

#if HEED_STEP_ORDER == 1

/* The weights of the tile's first keys. Except with the first tile, they are computed before it is
 * known whether the maxima are large enough, so nothing waits for that exchange between lanes. */
HEED_DEVICE void weigh_first(state *st, weights *p, float s[ROWS16][KEYS8][4],
                             const tile_bases *bases, float scale, const int first,
                             float sum[ROWS16][2])
{
    int lags = 1;
    sum[0][0] = sum[0][1] = 0.0f;
    if (!first) {
        weigh(st, p, s, bases, scale, sum, 0, PART8);
        lags = ptx_vote_any(max_lags(st, s, bases, scale));
    }
    if (!lags)
        return;
    float old[ROWS16][2];
    if (find_max(st, s, bases, scale, old) && !first)
        scale_sums(st, old);
    sum[0][0] = sum[0][1] = 0.0f;
    weigh(st, p, s, bases, scale, sum, 0, PART8);
}

#else

/* The weights of all keys of the tile, with the maxima of earlier tiles as long as they are large
 * enough. */
HEED_DEVICE void weigh_first(state *st, weights *p, float s[ROWS16][KEYS8][4],
                             const tile_bases *bases, float scale, int first, float sum[ROWS16][2])
{
    float none[ROWS16][2];
    sum[0][0] = sum[0][1] = 0.0f;
    if (first)
        find_max(st, s, bases, scale, none);
    weigh(st, p, s, bases, scale, sum, 0, PART8);
    if (ptx_vote_any(!weights_fit(sum))) {
        raise_max(st, s, bases, scale);
        sum[0][0] = sum[0][1] = 0.0f;
        weigh(st, p, s, bases, scale, sum, 0, PART8);
    }
}

#endif

/* Changes the scores of tile @j of @tiles by the general instructions, and masks them. */
HEED_DEVICE void change_tile(walk *w, float s[ROWS16][KEYS8][4], tile_bases *bases,
                             const tile *of, u32 j, u32 tiles, const int careful, int masked)
{
    if (QUICK) {
        modify_again(w, s, bases, of, j, careful);
        find_early_rows(w, j + 1, tiles, careful);
    } else {
        modify_tile(w, s, bases, of, j, tiles, careful);
    }
    if (careful && masked)
        mask_tile(w, s, j);
}

/* QUICK: changes and weighs the tile so, with no branch in between, so that arithmetic and
 * exponentials overlap. Returns false if that is not valid, or its weights are too large; its
 * scores are as before. */
HEED_DEVICE int weigh_quickly(walk *w, const state *st, weights *p, float s[ROWS16][KEYS8][4],
                              tile_bases *bases, const tile *of, u32 j, u32 tiles,
                              float sum[ROWS16][2])
{
    float changed[ROWS16][KEYS8][4];
    tile_rows found, *rows = EARLY_ROWS ? &w->ahead : &found;
    if (!QUICK || !begin_quickly(w, rows, j))
        return 0;
    HEED_UNROLL
    for (int i = 0; i < KEYS8 * 4; i++)
        changed[0][i / 4][i % 4] = s[0][i / 4][i % 4];
    int valid = change_quickly(w, changed, bases, rows, of, j, tiles);
    sum[0][0] = sum[0][1] = 0.0f;
    weigh(st, p, changed, bases, w->m->args.scale, sum, 0, KEYS8);
    return !ptx_vote_any(!valid || !weights_fit(sum));
}

/* Computes the other weights while the products of earlier ones run. */
HEED_DEVICE void weigh_others(state *st, weights *p, float s[ROWS16][KEYS8][4],
                              const tile_bases *bases, float scale, float sum[ROWS16][2],
                              const tile *of)
{
    HEED_UNROLL
    for (int nt = PART8; nt < KEYS8; nt += PART8) {
        int end = nt + PART8 < KEYS8 ? nt + PART8 : KEYS8;
        weigh(st, p, s, bases, scale, sum, nt, end);
        ptx_wgmma_fence();
        start_values(st, p, of, nt, end);
    }
}

/* @masked: the tile needs a mask. @careful: it may need one, or it is the first one. */
HEED_DEVICE void step(walk *w, state *st, u32 j, u32 tiles, const int careful, int masked,
                      const int first)
{
    float s[ROWS16][KEYS8][4], sum[ROWS16][2], scale = w->m->args.scale;
    weights p;
    tile_bases bases;
    tile here = w->tile;
    tile_advance(&w->tile);
    wait_keys(&here);
    if (HEED_TURNS == 2)
        take_turn(&w->at);
    ptx_wgmma_fence();
    start_scores(s, w->rows, &here);
    ptx_wgmma_wait(0);
    scores_done(s);
    if (!HEED_BIAS_TILES)
        release(w, tile_barrier(&here, K_EMPTY));
    if (HEED_TURNS == 2)
        pass_turn(&w->at);
    if (!TURN_LATE)
        begin_softmax(w);
    if (!QUICK || careful || !weigh_quickly(w, st, &p, s, &bases, &here, j, tiles, sum)) {
        change_tile(w, s, &bases, &here, j, tiles, careful, masked);
        if (TURN_LATE)
            begin_softmax(w);
        weigh_first(st, &p, s, &bases, scale, first, sum);
    }
    if (HEED_BIAS_TILES)
        release(w, tile_barrier(&here, K_EMPTY));
    if (HEED_TURNS == 3)
        pass_turn(&w->at);
    wait_values(w, &here, HEED_OWN_TILES == 1 ? masked : is_cleaned(w, j));
    ptx_wgmma_fence();
    start_values(st, &p, &here, 0, PART8);
    weigh_others(st, &p, s, &bases, scale, sum, &here);
    add_sums(st, sum);
    ptx_wgmma_wait(0);
    values_done(st);
    release(w, tile_barrier(&here, V_EMPTY));
}

HEED_DEVICE void walk_tiles(walk *w, state *st)
{
    u32 masked = own_count(&w->at, masked_end(&w->at)), tiles = own_count(&w->at, w->at.tiles),
        j = 0;
    if (tiles > 0)
        find_early_rows(w, 0, tiles, 1);
    pass_tiles(w);
    release_last(w);
    if (STEPS_CAP)
        w->large = 0;
    if (HEED_STEP_ORDER == 1) {
        if (tiles == 0)
            return;
        step(w, st, j++, tiles, masked > 0, masked > 0, 1);
    }
    u32 careful = STRAIGHT && masked == 0 ? tiles > 0 : masked;
    HEED_NO_UNROLL
    for (; j < careful; j++)
        step(w, st, j, tiles, 1, !STRAIGHT || j < masked, HEED_STEP_ORDER != 1 && j == 0);
    HEED_MAIN_LOOP
    for (; j < tiles; j++)
        step(w, st, j, tiles, 0, 0, HEED_STEP_ORDER != 1 && !STRAIGHT && j == 0);
}

#else

/* Waits for the next tile of K after tile @j, if there is one. */
HEED_DEVICE void wait_next_scores(const walk *w, u32 j, u32 tiles)
{
    tile next = w->tile;
    tile_advance(&next);
    if (j + 1 < tiles)
        wait_keys(&next);
}

/* Computes the first tile's weights. */
HEED_DEVICE void first_step(walk *w, state *st, weights *p, u32 tiles)
{
    float s[ROWS16][KEYS8][4], none[ROWS16][2], sum[ROWS16][2], scale = w->m->args.scale;
    tile_bases bases;
    wait_keys(&w->tile);
    ptx_wgmma_fence();
    start_scores(s, w->rows, &w->tile);
    ptx_wgmma_wait(0);
    scores_done(s);
    if (!HEED_BIAS_TILES)
        release(w, tile_barrier(&w->tile, K_EMPTY));
    modify_tile(w, s, &bases, &w->tile, 0, tiles, 1);
    if (HEED_BIAS_TILES)
        release(w, tile_barrier(&w->tile, K_EMPTY));
    if (masked_end(&w->at) > own_tile(&w->at, 0))
        mask_tile(w, s, 0);
    find_max(st, s, &bases, scale, none);
    sum[0][0] = sum[0][1] = 0.0f;
    weigh(st, p, s, &bases, scale, sum, 0, KEYS8);
    add_sums(st, sum);
    wait_next_scores(w, 0, tiles);
}

/* QUICK: replaces the scores of tile @j of @tiles, which needs no mask, by weights, with no branch
 * in between, so that arithmetic and exponentials overlap. Returns false if that is not valid, or
 * the weights are too large; the tile has scores then, which may have been computed again. */
HEED_DEVICE int weigh_quickly(walk *w, const state *st, float s[ROWS16][KEYS8][4],
                              tile_bases *bases, const tile *here, u32 j, u32 tiles,
                              float sum[ROWS16][2])
{
    tile_rows found, *rows = EARLY_ROWS ? &w->ahead : &found;
    if (!QUICK || !begin_quickly(w, rows, j))
        return 0;
    int valid = change_quickly(w, s, bases, rows, here, j, tiles);
    exponentiate_all(st, s, bases, w->m->args.scale, sum);
    if (!ptx_vote_any(!valid || !weights_fit(sum)))
        return 1;
    place at = place_anew(w);
    remake_scores(&at, s, w->q, k_tile(here->at));
    return 0;
}

/* Replaces the tile's scores by weights, with the maxima of earlier tiles as long as they are large
 * enough; otherwise scores are computed again. Returns true if maxima were raised, from @old. */
HEED_DEVICE int weigh_tile(walk *w, state *st, float s[ROWS16][KEYS8][4], tile_bases *bases,
                           const tile *here, u32 j, const int masked, float old[ROWS16][2],
                           float sum[ROWS16][2])
{
    float scale = w->m->args.scale;
    int raised = 0;
    exponentiate_all(st, s, bases, scale, sum);
    if (ptx_vote_any(!weights_fit(sum))) {
        place at = place_anew(w);
        remake_scores(&at, s, w->q, k_tile(here->at));
        modify_again(w, s, bases, here, j, masked);
        if (masked)
            mask_tile(w, s, j);
        raised = find_max(st, s, bases, scale, old);
        exponentiate_all(st, s, bases, scale, sum);
    }
    return raised;
}

/* QUICK: changes the scores by the general instructions, masks and weighs them; a loop, as that is
 * much code. */
HEED_DEVICE int change_and_weigh(walk *w, state *st, float s[ROWS16][KEYS8][4], tile_bases *bases,
                                 const tile *here, u32 j, const int masked, float old[ROWS16][2],
                                 float sum[ROWS16][2])
{
    float scale = w->m->args.scale;
    int raised = 0;
    HEED_NO_UNROLL
    for (int again = 0;; again = 1) {
        modify_again(w, s, bases, here, j, masked);
        if (masked)
            mask_tile(w, s, j);
        if (again)
            raised = find_max(st, s, bases, scale, old);
        exponentiate_all(st, s, bases, scale, sum);
        if (again || !ptx_vote_any(!weights_fit(sum)))
            return raised;
        place at = place_anew(w);
        remake_scores(&at, s, w->q, k_tile(here->at));
    }
}

/* Starts the values of the previous tile, whose weights are in @p, together with the scores of tile
 * @j of @tiles; ends with the weights of tile @j. @masked: it needs a mask. @cleaned_before: V of
 * the previous tile was cleaned. K of the tile has been loaded; it waits for that of the next tile
 * before it waits for the values: the branches of that wait keep the compiler from waiting for the
 * values before the exponentials. */
HEED_DEVICE void step(walk *w, state *st, weights *p, u32 j, u32 tiles, const int masked,
                      int cleaned_before)
{
    float s[ROWS16][KEYS8][4], old[ROWS16][2], sum[ROWS16][2];
    tile_bases bases;
    int raised = 0;
    tile before = w->tile;
    tile_advance(&w->tile);
    tile here = w->tile;
    if (HEED_TURNS == 2)
        take_turn(&w->at);
    ptx_wgmma_fence();
    start_scores(s, w->rows, &here);
    wait_values(w, &before, cleaned_before);
    ptx_wgmma_fence();
    start_values(st, p, &before, 0, KEYS8);
    if (HEED_TURNS == 2)
        pass_turn(&w->at);
    ptx_wgmma_wait(1);
    scores_done(s);
    if (!TURN_LATE)
        begin_softmax(w);
    if (!QUICK) {
        modify_tile(w, s, &bases, &here, j, tiles, masked);
        if (masked)
            mask_tile(w, s, j);
        if (TURN_LATE)
            begin_softmax(w);
        raised = weigh_tile(w, st, s, &bases, &here, j, masked, old, sum);
    } else if (masked || !weigh_quickly(w, st, s, &bases, &here, j, tiles, sum)) {
        raised = change_and_weigh(w, st, s, &bases, &here, j, masked, old, sum);
    }
    release(w, tile_barrier(&here, K_EMPTY));
    if (HEED_TURNS == 3)
        pass_turn(&w->at);
    wait_next_scores(w, j, tiles);
    ptx_wgmma_wait(0);
    values_done(st);
    scores_done(s);
    release(w, tile_barrier(&before, V_EMPTY));
    if (raised)
        scale_sums(st, old);
    add_sums(st, sum);
    take_weights(p, s);
}

/* Adds the values of the last tile. */
HEED_DEVICE void last_step(walk *w, state *st, weights *p, int cleaned)
{
    wait_values(w, &w->tile, cleaned);
    ptx_wgmma_fence();
    start_values(st, p, &w->tile, 0, KEYS8);
    ptx_wgmma_wait(0);
    values_done(st);
    release(w, tile_barrier(&w->tile, V_EMPTY));
    tile_advance(&w->tile);
}

/* True if V of the tile before tile @j, which needs no mask, was cleaned. Except with QUICK, whose
 * steps are much code, the first such tile is before the main loop. */
HEED_DEVICE int is_cleaned_before(const walk *w, u32 j, u32 masked)
{
    return HEED_OWN_TILES == 2 ? is_cleaned(w, j - 1) : QUICK && j == masked;
}

HEED_DEVICE void walk_tiles(walk *w, state *st)
{
    u32 masked = own_count(&w->at, masked_end(&w->at)), tiles = own_count(&w->at, w->at.tiles),
        j = 1;
    weights p;
    if (tiles > 0)
        find_early_rows(w, 0, tiles, 1);
    pass_tiles(w);
    if (STEPS_CAP)
        w->large = 0;
    if (tiles > 0)
        first_step(w, st, &p, tiles);
    release_last(w);
    if (tiles == 0)
        return;
    HEED_NO_UNROLL
    for (; j < masked; j++)
        step(w, st, &p, j, tiles, 1, 1);
    if (j < tiles && masked > 0 && !QUICK)
        step(w, st, &p, j++, tiles, 0, 1);
    HEED_STAGE_LOOP
    for (; j < tiles; j++)
        step(w, st, &p, j, tiles, 0, is_cleaned_before(w, j, masked));
    last_step(w, st, &p, HEED_OWN_TILES == 1 ? masked == tiles : is_cleaned(w, tiles - 1));
}

#endif

#endif /* HEED_WGMMA_WALK_CUH */
