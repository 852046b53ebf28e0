/*
 * test_cli.c - the heed program: exit statuses, streams, JSON
 */
#include "run_tests.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arrays.h"
#include "heed.h"
#include "run_heed.h"
#include "scratch.h"

#define CAPTURE HEED_SOURCE_DIR "/tests/data/minilm.safetensors"

static const run_heed_way way = { HEED_PROGRAM, NULL };

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

/* -------------------------------------------------------------------------- */
/* The frame                                                                  */
/* -------------------------------------------------------------------------- */

static void has_a_front_door(void **state)
{
    static const run_heed_row lines[] = {
        { "heed", 2, "", "Usage: heed VERB" },
        { "heed --help", 0, "Usage: heed VERB", "" },
        { "heed -h", 0, "Usage: heed VERB", "" },
        { "heed help plan", 0, "Usage: heed plan", "" },
        { "heed help no", 2, "", "'no' is not a verb" },
        { "heed --version", 0, "heed " HEED_VERSION_STRING "\n", "" },
        { "heed pln", 2, "", "did you mean 'plan'?" },
        { "heed xyzzy", 2, "", "'heed --help' lists them" },
        { "heed --json", 2, "\"verb\": null", "options come after the verb" },
        { "heed generate man | head -1", 0, ".Dd ", "" },
        { "heed generate cobol", 2, "", "'cobol' is not one of" },
        { "heed generate man --verb no", 2, "", "--verb: 'no' is not a verb" },
        { "heed --help | grep generate", 1, "", "" },
    };
    EXPECT(state, lines);
}

static void notices_lost_output(void **state)
{
    static const run_heed_row lines[] = {
        { "heed --version >&-", 3, "", "standard output: Bad file descriptor" },
        { "heed plan --list --json >&-", 3, "", "standard output" },
        { "[ ! -e /dev/full ] || heed plan --list >/dev/full; [ $? = 3 ]", 0, "", "No space left" },
        { "{ sleep 0.2; heed plan --list; echo $? >&2; } 2>code.txt | true; cat code.txt", 0, "3\n",
          "" },
        { "[ \"$(cat code.txt)\" = 3 ]", 0, "", "" },
        { "heed plan --list <&- | head -1", 0, "kernel", "" },
        { "heed plan nonsense 2>&-", 2, "", "" },
        /* If stdout is closed, no file may take its descriptor. */
        { "heed run --q Q.npy --k K.npy --v V.npy -o closed.npy >&-", 3, "", "standard output" },
        { "head -c 6 closed.npy | tail -c 5; [ $(wc -c <closed.npy) = 7808 ]", 0, "NUMPY", "" },
    };
    EXPECT(state, lines);
}

/* With --json a failure is also printed as JSON; exit status and stderr are unchanged. */
static void errors_are_json_where_it_was_asked_for(void **state)
{
    static const run_heed_row lines[] = {
        { "heed plan nonsense --json", 2, "\"schema\": \"heed.error/1\"", "heed: error: " },
        { "heed plan --json --effort fast x", 2, "\"kind\": \"usage\"", "--effort: 'fast'" },
        { "heed run --json --q none.npy --k K.npy --v V.npy", 3, "none.npy: No such file",
          "none.npy" },
        { "heed plam --json", 2, "\"verb\": \"plam\"", "did you mean 'plan'?" },
        { "heed --json bnch", 2, "\"verb\": null", "options come after the verb" },
        { "heed bench --json --tensors Q.npy", 7, "\"exit\": 7", "Q.npy" },
        { "timeout --foreground --preserve-status -k 60 -s INT 1 '" HEED_PROGRAM
          "' tune --seconds 100 --peers none --device cpu --json 'b1 h8 s4096 d64 f32'",
          130, "\"kind\": \"interrupted\"", "interrupted: " },
        /* An output with a failure is one document, not two. */
        { "heed plan --json -e wisdom 'b1 h1 s8 d8 f32' | grep -c schema", 0, "1\n", "no wisdom" },
        { "heed gate --json --board none.db", 3, "no board yet", "no board yet" },
        { "heed board --json --board /", 3, "\"schema\": \"heed.error/1\"",
          "cannot open: a folder" },
        { "echo junk >junk.db; heed board --json --board junk.db", 7, "\"kind\": \"corrupt\"",
          "junk.db" },
        { "heed plan nonsense --js", 2, "\"kind\": \"usage\"", "heed: error: " },
        { "heed plan --json=1", 2, "\"kind\": \"usage\"", "--json: takes no argument" },
        { "heed plan nonsense -- --json", 2, "", "heed: error: " },
    };
    EXPECT(state, lines);
}

static void slips_are_told(void **state)
{
    static const run_heed_row lines[] = {
        { "heed plan --shapes sed", 3, "", "sed: No such file or directory; did you mean 'seed'?" },
        { "heed plan --shapes nosuch", 3, "",
          "nosuch: No such file or directory; with heed come edge, f32, far, features, grid, " },
        /* help and error contain the complete list */
        { "(cd '" HEED_SOURCE_DIR "/shapes'; LC_ALL=C ls | sed 's/[.]txt//' | paste -s -d , | "
          "sed 's/,/, /g') >lists.txt; heed plan --help | tr -s ' \\n' ' ' | "
          "sed 's/.*per line; //; s/ come with heed.*/\\n/; s/ and /, /' | diff lists.txt - && "
          "heed plan --shapes nosuch 2>&1 | sed 's/.*heed come //' | diff lists.txt -",
          0, "", "" },
        { "heed sweep '' 'b1 h1 s8 d8 f32'", 3, "",
          "heed: error: : No such file or directory; with heed come cpu_few" },
        { "heed sweep nosuch 'b1 h1 s8 d8 f32'", 3, "",
          "; with heed come cpu_few, cpu_tile, mma, sweep90, wgmma" },
        { "heed sweep cpu_fwe 'b1 h1 s8 d8 f32'", 3, "", "did you mean 'cpu_few'?" },
        { "heed sweep cpu_few -k fwd_any_avx2_fwe 'b1 h1 s8 d8 f32'", 2, "",
          "did you mean 'fwd_any_avx2_few'?" },
        { "heed tune --space wgmm 'b1 h1 s8 d8 f32'", 3, "", "did you mean 'wgmma'?" },
        { "heed bench --against fwd_any_scalar_rwo 'b1 h1 s8 d8 f32'", 2, "",
          "--against: there is no kernel 'fwd_any_scalar_rwo'; did you mean" },
        { "heed bench --against fwd_any_scalar_row__s10 'b1 h1 s8 d8 f32'", 2, "",
          "--against: fwd_any_scalar_row has no config 's10'; did you mean "
          "'fwd_any_scalar_row__s1'?" },
        { "heed plan -k fwd_any_avx2_tile__m64n12s1 'b1 h1 s8 d8 f32'", 2, "",
          "did you mean 'fwd_any_avx2_tile__m64n128s1'?" },
        { "heed verify -k fwd_any_avx2_tile__nonsense 'b1 h1 s8 d8 f32'", 2, "",
          "'heed plan --list --json' lists them" },
        { "heed board lisst", 2, "", "did you mean 'list'?" },
        { "heed wisdom exprt", 2, "", "did you mean 'export'?" },
        { "heed plan --device cdua 'b1 h1 s8 d8 f32'", 2, "",
          "device is \"cdua\"; it must be cpu, cuda, cuda:N or auto" },
        { "echo b1 h1 s8 d8 f32 | heed plan --shapes -", 0, "b1 h1 s8 d8 f32", "" },
        { "heed plan --shapes /dev/fd/3 3<<E\nb1 h1 s8 d8 f32\nE\n", 0, "b1 h1 s8 d8 f32", "" },
    };
    EXPECT(state, lines);
}

/* A pipe is read like a file. */
static void pipes_are_files(void **state)
{
    static const run_heed_row lines[] = {
        { "heed plan -e measure -w pipe.txt --cpu scalar 'b1 h1 s8 d8 f32'", 0, NULL, "" },
        { "heed plan -e wisdom -w - --cpu scalar 'b1 h1 s8 d8 f32' <pipe.txt", 0,
          "fwd_any_scalar_row", "" },
        { "cat pipe.txt | heed plan -e wisdom -w /dev/stdin --cpu scalar 'b1 h1 s8 d8 f32'", 0,
          "fwd_any_scalar_row", "" },
        { "cat pipe.txt | heed plan -e measure -w - --cpu scalar 'b1 h1 s9 d8 f32'", 0,
          "fwd_any_scalar_row", "new wisdom is not saved" },
        { "head -1 pipe.txt | heed plan -w - 'b1 h1 s8 d8 f32'", 7, "",
          "--wisdom: -: wisdom: line 2" },
        { "cat pipe.txt | heed wisdom import --cpu scalar -w pipe2.txt - && cmp pipe.txt pipe2.txt",
          0, "", "-: 1 line taken" },
        { "cat pipe.txt | heed doctor --no-rivals -w - | grep wisdom", 0, "-: ", "" },
        /* heed does not wait for its own output */
        { "heed plan -w /dev/stdout 'b1 h1 s8 d8 f32' | cat", 0, "", "not a regular file" },
        { "echo 'no such' | heed inspect --arch sm_90 - 2>&1 | grep -c ELF; true", 0, "0\n", "" },
        { "cat Q.npy | heed run --q - --k K.npy --v V.npy -o piped.npy", 0, "piped.npy", "" },
        { "cat " HEED_SOURCE_DIR "/spaces/cpu_few.txt | "
          "heed tune --board piped.db --seconds 0.2 --peers none --space - 'b1 h1 s8 d8 f32'",
          0, "problem", NULL },
    };
    EXPECT(state, lines);
}

/* Thousands of problems, and Ctrl-C after the first few. A busy machine may not have finished the
 * first problem yet when it is interrupted; then it gets more time. Without --foreground, timeout
 * would interrupt the program twice, and the second time would end it at once. */
static void stops_when_interrupted(void **state)
{
    static const run_heed_row lines[] = {
        { "i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); echo \"b1 h1 s$i d64 f32\"; done >many.txt",
          0, "", "" },
        { "for t in 0.4 2 8 20; do timeout --foreground --preserve-status -s INT $t '" HEED_PROGRAM
          "' plan --effort measure --shapes many.txt >plans 2>errors; code=$?; "
          "grep -q 'after [1-9][0-9]* of' errors && break; done; cat plans; cat errors >&2; exit "
          "$code",
          130, "b1 h1 s1 d64 f32", "of 5000 problems" },
        /* One problem whose configs take a minute to measure. */
        { "timeout --foreground --preserve-status -k 60 -s INT 1 '" HEED_PROGRAM
          "' plan --effort patient 'b1 h8 s4096 d64 f32'",
          130, "", "stopped after 0 of 1 problem" },
    };
    EXPECT(state, lines);
}

static void colours_only_where_wanted(void **state)
{
    static const run_heed_row lines[] = {
        { "TERM=xterm heed doctor --no-rivals | grep -c '\033'; true", 0, "0\n", "" },
        { "script -qec true /dev/null >/dev/null 2>&1 || exit 0; TERM=xterm script -qec "
          "\"'" HEED_PROGRAM "' doctor --no-rivals\" /dev/null | grep -q '\033\\[3'",
          0, "", "" },
        { "script -qec true /dev/null >/dev/null 2>&1 || { echo 0; exit; }; TERM=dumb script -qec "
          "\"'" HEED_PROGRAM "' doctor --no-rivals\" /dev/null | grep -c '\033'; true",
          0, "0\n", "" },
        { "script -qec true /dev/null >/dev/null 2>&1 || { echo 0; exit; }; TERM=xterm NO_COLOR=1 "
          "script -qec "
          "\"'" HEED_PROGRAM "' doctor --no-rivals\" /dev/null | grep -c '\033\\[3'; true",
          0, "0\n", "" },
    };
    EXPECT(state, lines);
}

static void json_has_a_schema(void **state)
{
    static const text_pair lines[] = {
        { "heed plan --json 'b1 h2 s4 d8 f32' 'b1 h2 s4 d8 bf16 causal'", "heed.plan/1" },
        { "heed plan --json --explain b1 h2 s4 d8 f16", "heed.plan/1" },
        { "heed plan --json -k fwd_any_scalar_row b1 h2 s4 d8 f16", "heed.plan/1" },
        { "heed plan --json --list", "heed.plan/1" },
        { "heed doctor --json --no-rivals", "heed.doctor/1" },
        { "heed verify --json --list", "heed.verify/1" },
        { "cp " HEED_SOURCE_DIR "/tests/fuzz/corpus/cubin/sm80_old a.cubin; "
          "heed inspect --json a.cubin",
          "heed.inspect/1" },
        { "heed verify --json --gate error --inputs normal b1 h1 s4 d8 f32", "heed.verify/1" },
        { "heed bench --json --seconds 0.01 --peers none b1 h1 s4 d8 f32", "heed.bench/1" },
        { "heed run --json --q Q.npy --k K.npy --v V.npy --out \"$(printf 'O\\377.npy')\"",
          "heed.run/1" },
    };
    heed_said *result = malloc(sizeof *result);
    assert_non_null(result);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        json_error_t error;
        run_heed(state, &way, lines[i].given, result);
        assert_int_equal(result->code, 0);
        json_t *json = json_loads(result->out, JSON_REJECT_DUPLICATES, &error);
        if (!json)
            fail_msg("%s: %s in %s", lines[i].given, error.text, result->out);
        assert_string_equal(json_string_value(json_object_get(json, "schema")), lines[i].wanted);
        assert_string_equal(json_string_value(json_object_get(json, "version")),
                            HEED_VERSION_STRING);
        json_decref(json);
    }
    free(result);
}

/* The documents that the build makes are checked with the tools that are available. */
static void documents_are_well_formed(void **state)
{
    static const run_heed_row lines[] = {
        { "for v in $(heed generate verbs); do heed generate man --verb $v --date 'March 1, 2026' "
          ">heed-$v.1; done; "
          "heed generate man --date 'March 1, 2026' >heed.1; "
          "command -v mandoc >/dev/null || exit 0; mandoc -T lint -W warning heed*.1",
          0, "", "" },
        { "heed generate bash >heed.bash; command -v bash >/dev/null || exit 0; bash -n heed.bash",
          0, "", "" },
        { "command -v bash >/dev/null || exit 0; bash -c '. ./heed.bash; COMP_LINE=\"heed run "
          "--layout bs\"; "
          "COMP_POINT=${#COMP_LINE}; _heed; echo \"${COMPREPLY[*]}\"'",
          0, "bshd\n", "" },
        { "command -v bash >/dev/null || exit 0; bash -c '. ./heed.bash; COMP_LINE=\"heed pl\"; "
          "COMP_POINT=${#COMP_LINE}; _heed; echo \"${COMPREPLY[*]}\"'",
          0, "plan\n", "" },
        { "heed generate zsh >_heed; command -v zsh >/dev/null || exit 0; zsh -n _heed", 0, "",
          "" },
        { "heed generate fish >heed.fish; command -v fish >/dev/null || exit 0; fish -n heed.fish",
          0, "", "" },
    };
    EXPECT(state, lines);
}

/* -------------------------------------------------------------------------- */
/* heed inspect                                                               */
/* -------------------------------------------------------------------------- */

#define CUBINS HEED_SOURCE_DIR "/tests/fuzz/corpus/cubin/"

static void inspects_files(void **state)
{
    static const run_heed_row lines[] = {
        { "cp " CUBINS "sm80_old old.cubin; cp " CUBINS "sm90_new new.cubin; cp " CUBINS
          "cut cut.cubin; heed inspect --no-code old.cubin | tr -s ' '",
          0, "old.cubin attend sm_80 168 - 0 320 0 128 3 12 of 64 registers", "" },
        { "heed inspect --no-code --smem 83000 old.cubin | tr -s ' '", 0, "1 4 of 64 shared memory",
          "" },
        { "heed inspect --no-code --smem 166600 old.cubin", 1, "smem-over-163k", "" },
        { "heed inspect --no-code --threads 256 old.cubin | tr -s ' '", 0,
          "256 1 8 of 64 registers", "" },
        { "heed inspect --no-code old.cubin new.cubin", 0, "two ", "" },
        { "heed inspect --no-code --json new.cubin | grep -c entry", 0, "2\n", "" },
        { "cp new.cubin renamed.bin; heed inspect --no-code renamed.bin", 0, "renamed.bin", "" },
        { "heed inspect cut.cubin", 7, "", "cut.cubin: damaged cubin" },
        { "printf '\\120\\355\\125\\272rest' >f.o; heed inspect f.o", 4, "", "--extract-elf all" },
        { "heed inspect /bin/cat", 4, "", "an ELF file of machine " },
        { "printf '.version 9.0\\n.target sm_90\\n' >t.ptx; heed inspect t.ptx", 4, "",
          "t.ptx: PTX, not" },
        { "echo text >t.o; heed inspect t.o", 7, "", "not an ELF file" },
        { "heed inspect none.cubin", 3, "", "none.cubin: " },
        { "heed inspect --no-code old.cubin old.txt", 2, "old.cubin",
          "neither a .cubin nor a .cu file" },
        { "heed inspect", 2, "", "no problem given" },
        { "heed inspect -k fwd_any_scalar_row b1 h1 s4 d64 f16", 4, "", "another kind of device" },
        { "touch a.cu; heed inspect --arch volta a.cu", 2, "", "'volta' is not an architecture" },
        { "heed inspect -D 9A=1 a.cu", 2, "", "'9A=1'; NAME or NAME=VALUE of less than 512" },
        { "heed inspect -D 'A(x)=x' a.cu", 2, "", "NAME or NAME=VALUE" },
        { "heed inspect -D \"$(printf 'A=1\\nint')\" a.cu", 2, "", "NAME or NAME=VALUE" },
        { "heed inspect --arch sm_120 b1 h1 s64 d64 f16", 4, "", "no device of sm_120" },
        { "heed verify --seed 3 --seed 4", 2, "",
          "--seed: given twice, as '3' and as '4'; give it once" },
        { "heed verify --shapes - --source - </dev/null", 2, NULL,
          "--shapes and --source are both '-', which is standard input: name a file for one" },
        { "heed plan --shapes seed --shapes none.txt", 2 + 1, "", "--shapes: none.txt: " },
        { "heed ablate --only nope b1 h1 s64 d64 f32", 2, "",
          "'nope'; there are no-exp, no-products" },
        { "heed ablate --device cpu -t 1 --only no-exp --seconds 0.01 --no-planted --json "
          "b1 h1 s16 d16 f32",
          0, "\"planted\": []", NULL },
        { "heed inspect --grid 3 b1 h1 s64 d64 f16", 2, "",
          "--grid is for files, .cu or .cubin, and none" },
        { "heed inspect -k fwd_any_sm80_naive a.cu", 2, "",
          "--kernel is for problems, and a file is" },
        { "heed inspect -t 32x a.cu", 2, "", "--threads: '32x'; N, or XxY or XxYxZ" },
        { "heed inspect -t 32x0 a.cu", 2, "", "1 to 1024 threads in all" },
        { "heed inspect -t 2048 a.cu", 2, "", "1 to 1024 threads in all" },
        { "heed inspect -t 64x8x4 a.cu", 2, "", "1 to 1024 threads in all" },
        { "heed inspect --no-code -t 8x8x4 old.cubin | tr -s ' '", 0, "256 1 8 of 64 registers",
          "" },
        { "HEED_NVRTC=/dev/null heed inspect a.cu", 3, "", "HEED_NVRTC=/dev/null" },
        { "HEED_NVRTC=/dev/null heed sweep --static sm_90 sweep90 'b1 h1 s64 d64 f16'", 3, "",
          "HEED_NVRTC=/dev/null" },
    };
    EXPECT(state, lines);
}

/* Needs NVRTC; without it, the error says so. */
static void inspects_sources(void **state)
{
    static const char probe[] =
        "export HEED_CACHE=/dev/null; echo '#include \"types.cuh\"\n"
        "HEED_ENTRY(128, 1) twice(float *x) { x[threadIdx.x] *= N; }' >k.cu; "
        "echo 'extern \"C\" __global__ void wrong() { x; }' >w.cu; "
        "heed inspect -a sm_89 -D N=2 k.cu >k.txt 2>e.txt || grep 'NVRTC, CUDA' e.txt || "
        "{ cat e.txt >&2; exit 1; }; true";
    heed_said *result = malloc(sizeof *result);
    assert_non_null(result);
    run_heed(state, &way, probe, result);
    assert_int_equal(result->code, 0);
    bool missing = *result->out != '\0';
    free(result);
    if (missing) {
        print_message("skipped: there is no NVRTC\n");
        skip();
    }
    static const run_heed_row more[] = {
        { "tr -s ' ' <k.txt", 0, " 0 0 128 12 48 of 48 threads", "" },
        { "HEED_CACHE=/dev/null heed inspect --no-code --json -D N=2 k.cu | grep -c '\"k.cu\"'", 0,
          "3\n", "" },
        { "HEED_CACHE=/dev/null heed inspect -a 90 w.cu", 3, "", "w.cu(1): error" },
        { "echo '__device__ int f() { return 1; }' >none.cu; heed inspect -a 90 none.cu", 4, "",
          "no kernel is in it" },
        { "mkdir elsewhere; echo '#define N 3' >elsewhere/n.h; echo '#include <n.h>' >i.cu; "
          "cat k.cu >>i.cu; heed inspect --no-code -a 89 i.cu",
          3, "", "n.h" },
        { "heed inspect --no-code -a 89 -I elsewhere i.cu", 0, "i.cu", "" },
        { "heed inspect --no-code -a 89 -D 'N=(1.5f + 010)' -D EMPTY= -D UNUSED k.cu", 0, "k.cu",
          "" },
        { "heed inspect --no-code -a 89 -D N=2 --registers 16 k.cu; echo $?", 0, "0\n", "" },
        { "heed inspect --no-code -a 89 -D N=2 -t 16x16 k.cu", 1, "it was compiled for 128 at most",
          "" },
        { "echo 'extern \"C\" __global__ void __launch_bounds__(64, 1) big(const float *x, float "
          "*y) "
          "{ float a[40]; for (int i = 0; i < 40; i++) a[i] = x[i]; __syncthreads(); "
          "for (int i = 0; i < 40; i++) y[i] = a[i]; }' >big.cu; "
          "heed inspect --no-code -a 89 --registers 16 big.cu",
          0, "big.cu", "--registers 16: big has " },
        { "HEED_CACHE=/dev/null heed inspect -a 90 -D A -D 'B=a b' w.cu", 3, "", "w.cu(1): error" },
        { "heed inspect -a 89 $(yes -- -Ix | head -16) i.cu", 2, "", "--include: given 16 times" },
    };
    EXPECT(state, more);
}

/* -------------------------------------------------------------------------- */
/* heed plan                                                                  */
/* -------------------------------------------------------------------------- */

static void plans(void **state)
{
    static const run_heed_row lines[] = {
        { "heed plan b1 h2 s4 d8 f32", 0, "b1 h2 s4 d8 f32", "" },
        { "heed plan 'b1 h2 s4 d8 f32' b1 h2 s8 d8 f16 'b1 h2 s16 d8 f16'", 0, "b1 h2 s8 d8 f16 ",
          "" },
        { "heed plan --explain --kernel fwd_any_scalar_row b1 h2 s4 d8 f32", 0, "-> ", "" },
        { "heed plan --list", 0, "fwd_any_scalar_row", "" },
        { "heed plan --cpu scalar --threads 1 b1 h2 s4 d8 bf16", 0, "fwd_any_scalar_row", "" },
        { "heed plan --shapes " HEED_SOURCE_DIR "/shapes/seed.txt", 0, "b8 h16 s512 d64 f16 causal",
          "" },
        { "printf 'b1 h2 s4 d8 f32\\n' >one.txt; printf 'b1 h2 s5 d8 f32\\n' >two.txt; "
          "heed plan --shapes one.txt --shapes two.txt | grep -c '^b1 h2 s[45]'",
          0, "2", "" },
        { "heed plan", 2, "", "no problem given" },
        { "heed plan b1 h2 s4 d8", 2, "", "element type is missing" },
        { "heed plan 'b1 h2 s4 d8 f32' 'b1 h3/2 s4 d8 f32'", 2, "", "heads_kv is 2" },
        { "heed plan --shapes none.txt", 2 + 1, "", "--shapes: none.txt: " },
        { "printf 'b1 h2 s4 d8 f32\\nb1\\n' >bad.txt; heed plan --shapes bad.txt", 2, "",
          "bad.txt:2: " },
        { "heed plan --kernel fwd_any_scalar_rwo b1 h2 s4 d8 f32", 2, "",
          "did you mean 'fwd_any_scalar_row'?" },
        { "heed plan --kernel fwd_any_scalar_row__x9 b1 h2 s4 d8 f32", 2, "", "x9" },
        { "heed plan --cpu scalar --kernel fwd_any_avx2_tile b1 h2 s4 d8 f32", 4, "",
          "b1 h2 s4 d8 f32: " },
        { "heed plan --device cpu b1 h2 s4 d8 f32", 0, " (cpu)", "" },
        { "HEED_LIBCUDA=/nowhere HEED_DEVICE= heed plan b1 h2 s4 d8 f32", 0, " (cpu)", "" },
        { "HEED_LIBCUDA=/nowhere heed plan --device auto b1 h2 s4 d8 f32", 0, " (cpu)", "" },
        { "HEED_LIBCUDA=/nowhere heed plan --device cuda b1 h2 s4 d8 f32", 3, "", "cuda" },
        { "heed plan --device cuda:x b1 h2 s4 d8 f32", 2, "", "device is \"cuda:x\"" },
        { "HEED_DEVICE=gpu heed plan b1 h2 s4 d8 f32", 2, "",
          "HEED_DEVICE is \"gpu\"; it must be cpu, cuda, cuda:N or auto" },
        { "HEED_DEVICE=gpu heed plan --device gpu b1 h2 s4 d8 f32", 2, "", ": device is \"gpu\"" },
        { "HEED_DEVICE=cuda:x heed verify b1 h2 s4 d8 f32", 2, "", ": HEED_DEVICE is \"cuda:x\"" },
        { "HEED_DEVICE=gpu heed evolve --board b.db b1 h2 s4 d8 f32", 2, "", ": HEED_DEVICE is" },
        { "HEED_CPU=sse heed plan b1 h2 s4 d8 f32", 2, "", "HEED_CPU is \"sse\"" },
        { "heed plan --effort wisdom b1 h2 s4 d8 f32", 1, "", "b1 h2 s4 d8 f32: " },
    };
    EXPECT(state, lines);
}

/* 254 zeros. */
#define NAME "$(printf %0254d 0)"

static void keeps_wisdom(void **state)
{
    static const run_heed_row lines[] = {
        { "heed plan --threads 1 --effort measure --wisdom w.txt b1 h1 s4 d8 f32", 0, "fwd_", "" },
        { "grep -c 'b1 h1 s4 d8 f32' w.txt", 0, "1\n", "" },
        { "heed plan --threads 1 --effort wisdom --wisdom w.txt b1 h1 s4 d8 f32", 0, "fwd_", "" },
        { "heed doctor --no-rivals --wisdom w.txt | grep wisdom", 0, "wisdom", "" },
        { "HEED_DEVICE=auto heed doctor --no-rivals --wisdom w.txt | grep wisdom", 0,
          "w.txt: ", "" },
        { "HEED_DEVICE=gpu heed doctor --no-rivals --wisdom w.txt | grep -A1 wisdom", 0,
          "HEED_DEVICE is \"gpu\"", "" },
        /* Lines for another number of threads are kept. */
        { "heed plan --threads 3 --effort measure --wisdom w.txt b1 h1 s8 d8 f32", 0, "fwd_",
          "is not changed" },
        { "grep -c 's8' w.txt", 1, "0\n", "" },
        { "sed 's/fwd_/xwd_/' w.txt >damaged.txt; heed plan --wisdom damaged.txt b1 h1 s4 d8 f32",
          7, "", "--wisdom: damaged.txt" },
        { "heed doctor --no-rivals --wisdom damaged.txt | grep -A1 FAIL", 0, "measure again", "" },
        { "heed doctor --no-rivals --wisdom damaged.txt >/dev/null", 3, "", "" },
        { "mkdir own; touch own/odd_peer.py; HEED_PEERS=own HEED_PYTHON=/nowhere heed doctor | "
          "grep -A1 odd:",
          0, "Install what is missing", "" },
        /* writing a manifest to a special file leaves it in place; for root it might be
         * /dev/null */
        { "mkfifo pipe; cat pipe >got.txt & heed doctor --lock pipe; wait; test -p pipe && "
          "grep -c heed.manifest/1 got.txt",
          0, "1\n", "hash" },
        { "heed doctor --lock - | grep -c heed.manifest/1", 0, "1\n", "" },
        /* A name has at most 255 bytes. */
        { "for i in 1 2; do heed doctor --lock $PWD/" NAME "5; done; ls | grep -c ^0", 0, "1\n",
          "hash" },
        { "touch file; HEED_BOARD=file/b.db heed doctor --no-rivals", 0, "file/b.db cannot be made",
          "" },
        { "HEED_BOARD=no/such/b.db heed doctor --no-rivals", 0, "none yet at no/such/b.db", "" },
        { "heed doctor --lock " NAME "56", 3, "",
          "File name too long; a name has at most 255 bytes" },
        { "heed plan -e measure -w " NAME "6 b1 h1 s4 d8 f32 && heed plan -e wisdom -w " NAME "6 "
          "b1 h1 s4 d8 f32; ls | grep -c ^0",
          0, "2\n", "" },
        { "heed doctor --lock l.json --json", 0, "heed.doctor-lock/1", "" },
        { "ln -s l.json link; heed doctor --lock link && test -h link", 0, "", "hash" },
        { "heed plan --effort measure --wisdom no/such/folder b1 h1 s4 d8 f32", 3, "",
          "--wisdom: no/such/folder: cannot open: No such file or directory" },
        { "heed plan --effort wisdom --wisdom none.txt b1 h1 s4 d8 f32", 3, "",
          "--wisdom: none.txt: cannot open: No such file or directory" },
        { "heed profile --scaling --wisdom none.txt b1 h1 s4 d8 f32", 3, "", "--wisdom: none.txt" },
        { "heed ablate --wisdom none.txt b1 h1 s4 d8 f32", 3, "", "--wisdom: none.txt" },
        { "heed gate --wisdom none.txt", 3, "", "--wisdom: none.txt" },
        { "heed plan --wisdom new.txt b1 h1 s4 d8 f32 >&2; [ ! -e new.txt ]", 0, "", "fwd_" },
        { "heed plan --wisdom . b1 h1 s4 d8 f32", 3, "", "--wisdom: ." },
    };
    EXPECT(state, lines);
}

RUN_TESTS_WITHIN(arrays_open, scratch_close, has_a_front_door, notices_lost_output,
                 errors_are_json_where_it_was_asked_for, slips_are_told, pipes_are_files,
                 stops_when_interrupted, colours_only_where_wanted, json_has_a_schema,
                 documents_are_well_formed, inspects_files, inspects_sources, plans, keeps_wisdom)
