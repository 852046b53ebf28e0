/*
 * test_board_forged.c - forged records: one that contradicts itself or the device is refused with
 * the field and its valid values, and never leads
 */
#include "run_tests.h"

#include <stdio.h>

#include "run_heed.h"
#include "scratch.h"

#define RECORD HEED_SOURCE_DIR "/tests/data/bench-record.json"

static const run_heed_way way = { HEED_PROGRAM,
                                  "HEED_DEVICE=cpu HEED_BOARD=board.db HEED_CACHE=\"$PWD/cache\"" };

/* The changes, in Python: j is the record, r its first row, c the first comparison of that row;
 * f(t) sets all times to t. */
typedef struct forgery {
    const char *change, *says;
} forgery;

static const forgery forgeries[] = {
    { "r['seconds']['p50'] = r['replay']['cold'] = 2e-6",
      "rows[0]: seconds is 2e-06; by its samples it is 5e-06" },
    { "r['seconds']['p90'] = 1e-6", "p90 is 1e-06" },
    { "r['seconds']['p50'] = float('nan')", "cannot be read as JSON" },
    { "r['seconds']['p50'] = -5e-6", "rows[0].seconds.p50 is -5e-6; it must be a number above 0" },
    { "r['seconds']['p50'] = 0", "seconds.p50 is 0; it must be a number above 0" },
    { "r['seconds']['p50'] = 1e999", "cannot be read as JSON" },
    { "r['samples'][1] = -4e-6", "rows[0].samples[1] is -4e-6; it must be a number above 0" },
    { "r['samples'][1] = 'fast'", "rows[0].samples[1] is \"fast\"; it must be a number above 0" },
    { "r['samples'] = r['rivals'] = []", "there are no such samples" },
    { "r['samples'] = [5e-6, 4e-6] * 40", "the second half repeats the first" },
    { "r['of_ceiling'] = 9", "of_roofline is 9; it must be from 0 to 1.25" },
    { "r['flops'] = 1e15", "flops is 1e+15; by the other fields it is 536870912" },
    { "r['flops_per_second'] = 1e15", "flops_per_second is 1e+15" },
    { "r['seconds']['min'] = 1e-9", "seconds.min is 1e-09; by the other fields it is 4e-06" },
    { "r['seconds']['mean'] = 1e-9", "seconds.mean is 1e-09" },
    { "r['replay']['cold'] = 9e-6", "replay.cold is 9e-06; by the other fields it is 5e-06" },
    { "j['cold'] = False", "replay.hot is 4e-06; by the other fields it is 5e-06" },
    { "r['error'] = 3", "outcome is ok, and error is 3; at most 1 is allowed" },
    { "c['ratio'] = 2.05", "interval against torch-flash is 2.05 [1.9, 2.1]; its 10 pairs" },
    { "c['low'] = c['high'] = c['ratio']", "interval against torch-flash is 2 [2, 2]" },
    { "c['low'] = 1.98; c['high'] = 2.02", "10 pairs of samples do not give that" },
    { "c['low'] = 1.98", "10 pairs of samples do not give that" },
    { "c['high'] = 2.02", "10 pairs of samples do not give that" },
    { "c['ratio'] = 2.01", "10 pairs of samples do not give that" },
    { "c['pairs'] = 2", "its 2 pairs of samples do not give that" },
    { "r['rivals'][0]['heed_blocks'] = r['rivals'][0]['rival_blocks'] = []",
      "[1.9, 2.1], and there are no samples of it" },
    { "c.update(low=0, high=None, ratio=5, verdict='AMBIGUOUS')",
      "ratio is 5; it must be from 1.92" },
    { "c['low'] = 0.5", "verdict against torch-flash is FASTER" },
    { "c['pairs'] = 90", "pairs is 90; it must be from 0 to 10" },
    { "r['rivals'][0]['heed_blocks'].append(5e-6)", "11 of one side and 10 of the other" },
    { "r['rivals'][0]['seconds'] = 9", "seconds of the other is 9" },
    { "j['environment']['time'] = '2999-01-01T00:00:00Z'", "which is in the future" },
    { "j['environment']['time'] = 'soon'", "environment.time is soon; it must be like" },
    { "j['environment']['time'] = '2026-13-45T00:00:00Z'", "environment.time is 2026-13-45" },
    { "j['environment']['time'] = 20261123", "environment.time is 20261123; it must be a text" },
    { "del j['environment']['time']", "environment.time is missing" },
    { "j['environment']['time'] = ' 2999-01-01T00:00:00Z'", "time is  2999-01-01T00:00:00Z; it" },
    { "j['environment']['time'] = '2026-1-2T3:4:5Z'", "it must be like" },
    { "j['environment']['heed'] = '9.9.9'",
      "environment.heed is 9.9.9; by the record's version it is 0.1.0" },
    { "j['version'] = j['environment']['heed'] = 'best'",
      "environment.heed is best; it must be a version like " },
    { "j['version'] = 3", "version is 3; it must be a text" },
    { "del j['threads']", "threads is missing; it must be a number from 1 to 1024" },
    { "j['threads'] = 2000", "threads is 2000; it must be a number from 1 to 1024" },
    { "j['threads'] = '8'", "threads is \"8\"; it must be a number from 0 on" },
    { "j['threads'] = 0.5", "threads is 0.5; it must be a whole number" },
    { "r['rivals'].append(r['rivals'][0])",
      "rows[0].rivals[2].name is \"torch-flash\"; it must be that of no rival before it" },
    { "j['device'] += chr(10) + '1 b1 h1 s1 d1 f16 mine'", "device has a control character" },
    { "j['device'] += chr(0x202e)", "device has a control character" },
    { "r['kernel'] = ''", "the name of the kernel is empty" },
    { "j['device'] = ''", "the name of the device is empty" },
    { "r['kernel'] = 'fwd' + chr(27) + '[2J'", "kernel has a control character" },
    { "r['kernel'] = 'fwd_x__' + chr(0x9b) + '2J'", "config has a control character" },
    { "j['environment']['commit'] = chr(13)", "commit has a control character" },
    { "j['device_facts'] = {'backend': 'cuda', 'features': chr(7)}", "features has a control" },
    { "r['rivals'][0]['name'] = 'torch' + chr(127)", "the name of a rival has a control" },
    { "f(1e-7)", "an unknown GPU needs" },
    { "f(1e-300)", "an unknown GPU needs" },
    { "r['samples'][1] = 1e-12", "the fastest sample, of 1e-12 s, is below 1/2 of the time" },
    { "c.update({n: c[n] * 1e7 for n in ('ratio', 'low', 'high')}); r['rivals'][0]['heed_blocks'] "
      "= "
      "[t / 1e7 for t in r['rivals'][0]['heed_blocks']]",
      "the fastest sample, of 5e-13 s" },
    { "f(5e-9); r['problem'] = 'b1 h1 s1 d1 f16'", "(launch)" },
    { "f(4e-7); j['device'] = 'NVIDIA H200'", "NVIDIA H200 needs" },
    { "f(1e-6); j['device_facts'] = {'backend': 'cpu', 'features': 'avx2'}", "a CPU needs" },
    { "f(1e-6); j['device_facts'] = {'backend': 'cpu', 'features': 'avx999'}", "a CPU needs" },
    { "f(1e-10); j['device_facts'] = {'backend': 'cpu'}; j['threads'] = 1024", "a CPU needs" },
};

static void forge(void **state, const char *record, const forgery *it)
{
    char line[2048];
    run_heed_row row = { line, 7, "", it->says };
    snprintf(line, sizeof line,
             "rm -f board.db*; python3 -c \"import json, sys\n"
             "j = json.load(open('%s')); r = j['rows'][0]\n"
             "c = (r['rivals'] or [{}])[0].get('comparison')\n"
             "def f(t):\n"
             "    r.update(seconds={'p50': t, 'p90': t}, samples=[t] * 3, rivals=[], replay={}, "
             "of_ceiling=None, flops_per_second=None)\n"
             "%s\njson.dump(j, open('forged.json', 'w'))\" && heed board add forged.json",
             record, it->change);
    run_heed_rows(state, &way, &row, 1);
    /* Nothing before the forged row was added. */
    const run_heed_row none = { "heed board --csv | grep -c .", 0, "1\n", NULL };
    run_heed_rows(state, &way, &none, 1);
}

static void forged_records_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++)
        forge(state, RECORD, &forgeries[i]);
}

/* A record of this machine, whose limits are measured. */
static void no_faster_than_this_machine(void **state)
{
    static const forgery here[] = {
        { "j['version'] = j['environment']['heed'] = '9.9.9'",
          "environment.heed is 9.9.9; the version of this build is" },
        { "r['kernel'] = 'mine'", "kernel is mine, which this build does not have" },
        { "r['kernel'] += 'x'", "which this build does not have" },
        { "f(r['flops'] / (1.6 * j['ceilings']['f32']))", "CPU" },
        { "f(r['seconds']['p50'] / 50)", " needs " },
        { "f(r['seconds']['p50'] / 50); j['threads'] = 1000", "this CPU with " },
        { "f(r['seconds']['p50'] / 5000); j['device_facts']['features'] = 'amx'", " needs " },
    };
    static const run_heed_row honest[] = {
        { "heed bench 'b1 h2 s256 d64 f32' --peers none --seconds 0.1 -t 1 --json >own.json", 0, "",
          NULL },
        { "rm -f board.db*; heed board add own.json", 0, "", "1 trial added" },
        { "heed board --csv | grep -c .", 0, "2\n", NULL },
    };
    run_heed_rows(state, &way, honest, sizeof honest / sizeof *honest);
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        forge(state, "own.json", &here[i]);
    static const run_heed_row twice[] = {
        { "sed 's/\"kernel\": \"fwd/\"kernel\": \"mine\", &/' own.json >twice.json; "
          "heed board add twice.json",
          7, "", "duplicate object key" },
    };
    run_heed_rows(state, &way, twice, 1);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, forged_records_are_refused,
                 no_faster_than_this_machine)
