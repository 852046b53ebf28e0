/*
 * match.h - declarations shared by the files that make a row of a run
 */
#ifndef LAB_BENCH_MATCH_H
#define LAB_BENCH_MATCH_H

#include "lab/bench/bench.h"
#include "lab/bench/engine.h"

/* lab_bench_sample_replays() samples heed alone, by hot and cold replays and single calls, and
 * leaves @engine ready for matches. */
heed_status lab_bench_sample_replays(lab_bench *bench, lab_bench_row *row, lab_bench_engine *engine,
                                     const lab_expect *expect);

/* lab_bench_device_floor() returns the least seconds that a call of the problem can take on the
 * device, by its data sheet; 0: not known. */
double lab_bench_device_floor(const lab_bench *bench, const lab_bench_row *row);

/* lab_bench_alone_ns() returns the time for which heed alone is timed. */
int64_t lab_bench_alone_ns(const lab_bench *bench);

/* lab_bench_meet_rival() and lab_bench_meet_kernel() play a match on the problem and tensors of
 * @heed, whose call takes @heed_seconds. A failure of the opponent is an outcome of @match;
 * HEED_ERR_NO_MEMORY, and HEED_ERR_SYSTEM once stopped, are the only failures. */
heed_status lab_bench_meet_rival(lab_bench *bench, lab_bench_match *match, lab_bench_rival *entry,
                                 lab_bench_engine *heed, double heed_seconds,
                                 const lab_expect *expect);
heed_status lab_bench_meet_kernel(lab_bench *bench, lab_bench_match *match, lab_bench_engine *heed,
                                  double heed_seconds, const lab_expect *expect);

/* lab_bench_meet_own() does so with bench->own, once it has passed the gates. */
heed_status lab_bench_meet_own(const lab_bench *bench, lab_bench_match *match,
                               lab_bench_engine *heed, double heed_seconds);

/* lab_bench_match_interleave() interleaves blocks of heed and of @other, with @round seconds a
 * pair, and judges. */
heed_status lab_bench_match_interleave(const lab_bench *bench, lab_bench_match *match,
                                       lab_bench_engine *heed, const lab_side *other, double round);

#endif /* LAB_BENCH_MATCH_H */
