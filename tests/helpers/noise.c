/*
 * noise.c - reads recordings, and joins pieces of them
 */
#include "noise.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lab/measure/duel.h"
#include "lab/tensor/random.h"

/* Number of blocks per piece. */
enum {
    PIECE = 32
};

const char *const noise_names[NOISE_COUNT] = {
    "cpu-short", "cpu-short-threads", "cpu-half",     "cpu-long-threads", "cpu-tiny",
    "gpu",       "gpu-same-cold",     "gpu-same-hot", "cpu-disturbed"
};

void noise_read(noise *recording, size_t index)
{
    char path[256], line[256];
    snprintf(path, sizeof path, "%s/tests/data/noise-%s.txt", HEED_SOURCE_DIR, noise_names[index]);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot read %s", path);
    memset(recording, 0, sizeof *recording);
    while (fgets(line, sizeof line, file)) {
        double *at = &recording->seconds[recording->blocks];
        if (line[0] == '#')
            continue;
        assert_true(recording->blocks + 4 <=
                    sizeof recording->seconds / sizeof recording->seconds[0]);
        assert_int_equal(sscanf(line, "%lf %lf %lf %lf", at, at + 1, at + 2, at + 3), 4);
        recording->blocks += 4;
    }
    fclose(file);
    assert_true(recording->blocks > PIECE);
}

void noise_draw(const noise *recording, uint64_t seed, size_t pairs, double factor, double *a,
                double *b)
{
    int64_t starts = (int64_t)(recording->blocks - PIECE) / 4 + 1;
    size_t start = 0;
    for (size_t block = 0; block < 2 * pairs; block++) {
        if (block % PIECE == 0)
            start = 4 * (size_t)lab_random_below(seed, block / PIECE, starts);
        double seconds = recording->seconds[start + block % PIECE];
        if (lab_interleave_second(lab_random_stream(seed, 9), block))
            b[block / 2] = seconds * factor;
        else
            a[block / 2] = seconds;
    }
}
