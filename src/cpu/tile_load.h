/*
 * tile_load.h - loads of attn_tile_template.h: strips of queries, packed tiles of keys and values
 *
 * A part of attn_tile_template.h.
 */
#ifndef HEED_TILE_LOAD_H
#define HEED_TILE_LOAD_H

/* Transposes rows of the row buffer to the columns of a strip of @steps rows. */
static void rows_to_strip(float *strip, const float *rows, int64_t row, int64_t steps, float factor)
{
    for (int v = 0; v < MV; v++)
        for (int64_t c = 0; c < steps; c += LANES) {
            vf block[LANES];
            for (int i = 0; i < LANES; i++)
                block[i] = v_load(rows + (v * LANES + i) * row + c);
            v_transpose(block);
            for (int i = 0; i < LANES && c + i < steps; i++)
                v_store(strip + (c + i) * WIDTH + v * LANES, unit_scale(block[i], factor));
        }
}

/* Reads the rows of one strip of Q, scaled by the part of the logit factor that unit_scale() can
 * apply; rows past the end of the block are zero. */
static void load_queries(const tile_state *t, int64_t strip)
{
    const heed_problem *p = t->job->problem;
    float *rows = t->base + t->y.rows;
    heed_interval *seen = seen_of(t, strip);
    for (int64_t i = 0; i < WIDTH; i++) {
        int64_t row = t->task->row_begin + strip * WIDTH + i;
        float *to = rows + i * t->y.row;
        if (row < t->task->row_end)
            unit_load_row(to, heed_job_q(t->job, t->task, row), p->dim_qk, p->type);
        else
            memset(to, 0, (size_t)t->y.steps * sizeof *to);
        seen[i] = heed_job_keys(t->job, t->task, heed_min(row, t->task->row_end - 1));
    }
    float *q = t->base + t->y.q + strip * t->y.steps * WIDTH;
    rows_to_strip(q, rows, t->y.row, t->y.steps, t->job->factor);
    heed_job_begin_rows(t->job, t->task, t->task->row_begin + strip * WIDTH, WIDTH,
                        kept_of(t, strip));
}

/* load_keys() column by column, one vector of each row at a time. */
static void load_keys_strided(const tile_state *t, int64_t first, int64_t keys)
{
    const heed_problem *p = t->job->problem;
    for (int64_t c = 0; c < t->y.steps; c += LANES)
        for (int64_t j = 0; j < keys; j++) {
            const char *from = heed_job_k(t->job, t->task, first + j);
            float *to = t->base + t->y.k + (c / TILE_PANEL * t->y.keys + j) * TILE_PANEL;
            unit_load_row(to + c % TILE_PANEL, from + c * UNIT * t->job->element,
                          heed_min(p->dim_qk - c * UNIT, LANES * UNIT), p->type);
        }
}

/* Packs @keys keys from @first on; the micro-kernel computes in steps of NR keys, so the last step
 * is padded. */
static void load_keys(const tile_state *t, int64_t first, int64_t keys)
{
    const heed_problem *p = t->job->problem;
    float *k = t->base + t->y.k;
    int64_t j = 0;
    if (JOB_ABLATES(t->job, ABLATE_STRIDED)) {
        load_keys_strided(t, first, keys);
        j = keys;
    }
    if (keys_in_place(t, 0))
        return;
    for (; j < heed_round_up(keys, NR); j++) {
        const char *from = j < keys ? heed_job_k(t->job, t->task, first + j) : NULL;
        for (int64_t panel = 0; panel < t->y.panels; panel++) {
            float *to = k + (panel * t->y.keys + j) * TILE_PANEL;
            int64_t c = panel * TILE_PANEL * UNIT;
            int64_t count = heed_min(p->dim_qk - c, TILE_PANEL * UNIT);
            if (from)
                unit_load_row(to, from + c * t->job->element, count, p->type);
            else
                memset(to, 0, TILE_PANEL * sizeof *to);
        }
    }
}

/* Prefetches the share of strip @strip of @strips of the rows of K and V of the tile that begins at
 * @first: otherwise packing it would wait for memory, especially where the rows of a head are far
 * apart. */
static void prefetch_tile(const tile_state *t, int64_t first, int64_t strip, int64_t strips)
{
    int64_t keys = heed_min(t->y.keys, t->task->key_end - first);
    if (JOB_ABLATES(t->job, ABLATE_NO_OVERLAP))
        return;
    for (int64_t j = keys * strip / strips; j < keys * (strip + 1) / strips; j++)
        heed_job_prefetch(t->job, t->task, first + j);
}

/* True if all values of @keys packed keys are finite. The exponent of others is all ones. */
static bool all_finite(const tile_state *t, int64_t keys)
{
    const float *v = t->base + t->y.v;
    uint32_t other = 0;
    for (int64_t i = 0; i < value_units(t, keys); i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        other |= (bits & 0x7f800000) == 0x7f800000;
        other |= UNIT > 1 && (bits & 0x7f80) == 0x7f80;
    }
    return !other;
}

#endif /* HEED_TILE_LOAD_H */
