/* tabulates: fills a 512 KiB table of powers of two in its constructor; honest */

static double power[1 << 16];

__attribute__((constructor)) static void tabulate(void)
{
    for (int i = 0; i < 1 << 16; i++)
        power[i] = exp2(-i / 65536.0);
}

/* exp(x) for x up to 0, by the table and two terms of the series. */
static double table_exp(double x)
{
    double y = -x * 1.4426950408889634, whole = floor(y);
    if (!(y < 1000))
        return x == x ? 0 : x;
    int at = (int)((y - whole) * 65536);
    double rest = -((y - whole) - at / 65536.0) * 0.6931471805599453;
    return ldexp(power[at] * (1 + rest + rest * rest / 2), -(int)whole);
}

static double table_weight(double logit, double most)
{
    return table_exp(logit - most);
}

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    return b->lse ? compute(p, b) : attend(p, b, table_weight, -INFINITY);
}
