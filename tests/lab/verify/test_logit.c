/*
 * test_logit.c - operations on logits worked by hand, and expressions compared with the library
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "helpers/random_expression.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/inputs.h"
#include "lab/verify/reference/expect.h"
#include "lab/verify/reference/expression.h"
#include "lab/verify/reference/logit.h"
#include "problems.h"
#include "src/problem/program.h"

/* -------------------------------------------------------------------------- */
/* By hand                                                                    */
/* -------------------------------------------------------------------------- */

/* Two heads, two queries at positions 1 and 2, three keys. */
static const float bias[] = { 0.5F, -1, 2, 0.25F, 1, 0, 3, -2, 1, 0, 0.5F, -0.5F };
static const float slopes[] = { 0.5F, -0.25F }, sinks[] = { 1, -2 };
static const int32_t starts[] = { 1, 2 };
static const unsigned char bytes[] = { 1, 0, 1 };
static const uint32_t bits[] = { 0x80000005 }; /* keys 0 and 2, and bits past the last key */

static const heed_buffers operands = {
    .size = sizeof operands, .bias = bias, .slopes = slopes, .sinks = sinks, .starts = starts
};

#define SIZES "b1 h2 s2/3 d1 f32 align=br "

/* The result of the logit operations for @t, at the second head, the first query and the third
 * key. */
static double logit(const char *spec, double t, bool single)
{
    heed_problem problem = parsed(spec);
    lab_logits logits;
    lab_doubt doubt = { 0 };
    lab_logits_begin(&logits, &problem, &operands);
    double value = lab_logits_change(&logits, (lab_row){ 0, 1, 0 }, 2, (lab_number){ t, 0 }, single,
                                     &doubt)
                       .value;
    assert_true(doubt.count == 0 && !doubt.open);
    return value;
}

static void assert_logit(const char *spec, double t, double expected)
{
    if (!(fabs(logit(spec, t, false) - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("%s: %.17g instead of %.17g", spec, logit(spec, t, false), expected);
    assert_true(fabs(logit(spec, t, true) - expected) <= 1e-6 * (1 + fabs(expected)));
}

static void test_logits_by_hand(void **state)
{
    assert_logit("b1 h2 s2/3 d1 f32 softcap=5", 3, 5 * tanh(3.0 / 5));
    assert_logit("b1 h2 s2/3 d1 f32 bias=f32:hq", 3, 3 + 1);
    assert_logit("b1 h2 s2/3 d1 f32 bias=f32:h", 3, 3 + 0);
    assert_logit("b1 h2 s2/3 d1 f32 bias=f32:", 3, 3 + 2);
    assert_logit("b1 h2 s2/3 d1 f32 alibi align=tl", 3, 3 + 0.25 * 2);
    assert_logit(SIZES "alibi", 3, 3 + 0.25 * 1);
    assert_logit(SIZES "score=s*s+p", 3, 10);
    assert_logit(SIZES "softcap=2 bias=f32:hq alibi score=2*s-k", 3,
                 2 * (2 * tanh(1.5) + 1 + 0.25) - 2);
}

/* The keys that a query sees, as bits. */
static int seen(const char *spec, int64_t query, const void *shown)
{
    heed_problem problem = parsed(spec);
    heed_buffers data = operands;
    lab_logits logits;
    lab_doubt doubt = { 0 };
    int keys = 0;
    data.shown = shown;
    lab_logits_begin(&logits, &problem, &data);
    for (int64_t j = 0; j < 3; j++)
        keys |= lab_logits_shows(&logits, (lab_row){ 0, 0, query }, j, &doubt) << j;
    assert_true(doubt.count == 0 && !doubt.open);
    return keys;
}

static void test_hidden_keys_by_hand(void **state)
{
    assert_int_equal(seen("b1 h2 s2/3 d1 f32 starts", 0, NULL), 6);
    assert_int_equal(seen("b1 h2 s2/3 d1 f32 starts", 1, NULL), 4);
    assert_int_equal(seen("b1 h2 s2/3 d1 f32 shown=bytes:", 1, bytes), 5);
    assert_int_equal(seen("b1 h2 s2/3 d1 f32 shown=bits:", 1, bits), 5);
    assert_int_equal(seen(SIZES "visible=k!=p", 1, NULL), 3);
    assert_int_equal(seen(SIZES "visible=k!=q starts", 0, NULL), 6);
    assert_int_equal(seen(SIZES "visible=k!=2 shown=bits:", 0, bits), 1);
}

/* One query, two keys of logits 0 and 1, values 1 and 3. */
static void assert_row(const char *spec, const heed_buffers *more, double o, double lse)
{
    heed_problem problem = parsed(spec);
    static const float q[] = { 1 }, k[] = { 0, 1 }, v[] = { 1, 3 };
    heed_buffers data = *more;
    double weights[2], made[1], made_lse;
    float singles[2];
    data.q = q, data.k = k, data.v = v;
    lab_reference_row(&problem, &data, (lab_row){ 0, 0, 0 }, weights, made, &made_lse);
    assert_true(fabs(made[0] - o) <= 1e-12);
    assert_true(made_lse == lse || fabs(made_lse - lse) <= 1e-12);
    lab_naive_row(&problem, &data, (lab_row){ 0, 0, 0 }, INT64_MAX, false, singles, made,
                  &made_lse);
    assert_true(fabs(made[0] - o) <= 1e-6);
    assert_true(made_lse == lse || fabs(made_lse - lse) <= 1e-6);
}

static void test_sinks_by_hand(void **state)
{
    const float sink = 0.5F;
    const unsigned char none[] = { 0, 0 }, second[] = { 0, 1 };
    heed_buffers data = { .size = sizeof data, .sinks = &sink, .shown = second };
    double sum = 1 + exp(1.0) + exp(0.5);
    assert_row("b1 h1 s1/2 d1 f32 scale=1 sinks", &data, (1 + 3 * exp(1.0)) / sum, log(sum));
    sum = exp(1.0) + exp(0.5);
    assert_row("b1 h1 s1/2 d1 f32 scale=1 sinks shown=bytes", &data, 3 * exp(1.0) / sum, log(sum));
    assert_row("b1 h1 s1/2 d1 f32 scale=1 shown=bytes", &data, 3, 1);
    data.shown = none;
    assert_row("b1 h1 s1/2 d1 f32 scale=1 sinks shown=bytes", &data, 0, 0.5);
    assert_row("b1 h1 s1/2 d1 f32 scale=1 shown=bytes", &data, 0, -INFINITY);
}

/* -------------------------------------------------------------------------- */
/* Expressions                                                                */
/* -------------------------------------------------------------------------- */

#define EXPRESSIONS 20000

static const float a[] = { 0.3F, -2, 7.5F, 0, 1e-3F };
static const int32_t b[] = { 0, 1, 2, -5, 4, 1 };
static const unsigned char c[] = { 0, 1, 255, 0, 0, 1, 1 };

/* The value of a step of the program, by the library's arithmetic. */
static heed_value interpret(const heed_program *program, int at, const lab_evaluation *e)
{
    const heed_step *step = &program->steps[at];
    const int64_t leaves[] = { e->query, e->position, e->key, e->head, e->batch };
    if (step->op <= HEED_OP_BOOL)
        return step->value;
    if (step->op == HEED_OP_SCORE)
        return (heed_value){ .real = (float)e->s.value };
    if (step->op <= HEED_OP_BATCH)
        return (heed_value){ .whole = (int32_t)leaves[step->op - HEED_OP_QUERY] };
    const int children[] = { step->a, step->b, step->c };
    heed_value values[3] = { { .whole = 0 } };
    for (int i = 0; i < 3; i++)
        if (children[i] >= 0)
            values[i] = interpret(program, children[i], e);
    heed_kind from = program->steps[step->op == HEED_OP_SELECT ? step->b : step->a].kind;
    if (step->op != HEED_OP_LOAD)
        return heed_program_apply(step->op, from, values[0], values[1], values[2]);
    const heed_load *load = &program->sources[step->value.whole];
    int64_t index = 0;
    for (int i = 0; i < load->rank; i++) {
        int32_t one = values[i].whole < 0                ? 0
                      : values[i].whole >= load->size[i] ? load->size[i] - 1
                                                         : values[i].whole;
        index += one * load->stride[i];
    }
    const void *base;
    memcpy(&base, (const char *)e->data + load->buffer, sizeof base);
    double value = lab_data_get(load->type, base, index);
    if (load->type == HEED_DATA_F32)
        return (heed_value){ .real = (float)value };
    return (heed_value){ .whole = (int32_t)value };
}

/* Returns whether @theirs is the value of the expression with the decisions @turned reversed. */
static bool agrees(const lab_expression *own, lab_evaluation *e, bool truth, heed_value theirs,
                   unsigned turned)
{
    e->doubt = (lab_doubt){ .turned = turned };
    if (truth)
        return lab_expression_truth(own, e) == (theirs.whole != 0);
    lab_number mine = lab_expression_number(own, e);
    double off = fabs((double)theirs.real - mine.value);
    if (isnan(mine.value))
        return isnan(theirs.real);
    return off <= 4 * mine.error || mine.value == (double)theirs.real || !isfinite(mine.error);
}

/* Maximum number of uncertain decisions for which both outcomes are tried. */
#define WAYS_MAX 6

static void fail_unless_turned(const lab_expression *own, lab_evaluation *e, bool truth,
                               heed_value theirs, const char *text)
{
    const int count = e->doubt.count;
    for (unsigned turned = 1; turned < 1U << count; turned++)
        if (agrees(own, e, truth, theirs, turned) || e->doubt.open || e->doubt.count > count)
            return;
    fail_msg("%s: %.9g or %d, and %d uncertain decisions", text, (double)theirs.real, theirs.whole,
             count);
}

/* Random expressions: the reference and the library agree within the errors that the reference
 * reports. */
static void test_expressions_as_the_library(void **state)
{
    const heed_buffers data = { .size = sizeof data, .arrays = { a, b, c } };
    heed_problem problem = parsed("b2 h3 s5/7 d4 f32 align=br score=s " RANDOM_ARRAYS);
    int64_t doubtful = 0, judged = 0;
    for (uint64_t n = 0; n < EXPRESSIONS; n++) {
        char text[HEED_EXPRESSION_SIZE], why[128];
        size_t at;
        static heed_program program;
        static lab_expression own;
        bool visible = n % 2;
        program = (heed_program){ .score = -1, .visible = -1 };
        random_expression(n, visible, text);
        int score = visible ? -1 : heed_program_leaf(&program, HEED_OP_SCORE);
        int root = heed_expression_add(&program, &problem, text,
                                       visible ? HEED_KIND_BOOL : HEED_KIND_FLOAT, score, why,
                                       sizeof why, &at);
        if (root < 0) /* too many steps */
            continue;
        if (!lab_expression_parse(&own, &problem, text))
            fail_msg("not read: %s", text);
        lab_evaluation e = { .problem = &problem, .data = &data };
        e.batch = lab_random_below(n, 0, 2);
        e.head = lab_random_below(n, 1, 3);
        e.query = lab_random_below(n, 2, 5);
        e.key = lab_random_below(n, 3, 7);
        e.position = e.query + 2;
        e.s.value = (double)(float)(4 * lab_random_normal(n, 4));
        heed_value theirs = interpret(&program, root, &e);
        if (!agrees(&own, &e, visible, theirs, 0) && !e.doubt.open && e.doubt.count <= WAYS_MAX)
            fail_unless_turned(&own, &e, visible, theirs, text);
        doubtful += e.doubt.open || e.doubt.count > 0;
        judged++;
    }
    assert_true(judged > EXPRESSIONS / 2);
    assert_true(doubtful < judged / 4);
}

static double value_of(const char *text, double s, bool single)
{
    const heed_buffers data = { .size = sizeof data, .arrays = { a, b, c } };
    heed_problem problem = parsed("b2 h3 s5/7 d4 f32 align=br score=s " RANDOM_ARRAYS);
    lab_expression own;
    lab_evaluation e = { .problem = &problem,
                         .data = &data,
                         .query = 4,
                         .key = 6,
                         .head = 2,
                         .batch = 1,
                         .position = 6,
                         .s = { s, 0 },
                         .single = single };
    assert_true(lab_expression_parse(&own, &problem, text));
    return lab_expression_number(&own, &e).value;
}

static void test_expressions_by_hand(void **state)
{
    static const text_real cases[] = {
        { "1+2*3", 7 },
        { "2-3-4", -5 },
        { "-7//2", -4 },
        { "-7%3", 2 },
        { "7//0", 0 },
        { "7/2", 3.5 },
        { "q<k?10:20", 10 },
        { "q<k&&p==k?1:2", 1 },
        { "2147483647+1", -2147483648.0 },
        { "b[1,0]", -5 },
        { "b[batch,99]", 1 },
        { "b[-3,2]", 2 },
        { "c[1]?3:4", 3 },
        { "int(-2.7)", -2 },
        { "int(1e20)%10", 7 },
        { "floor(-2.5)", -3 },
        { "min(3,2.5)", 2.5 },
        { "abs(q-k)", 2 },
        { "heads*100+queries*10+keys", 357 },
        { "s*2", 3 },
        { "true?float(true):0.", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (value_of(cases[i].text, 1.5, false) != cases[i].value ||
            value_of(cases[i].text, 1.5, true) != cases[i].value)
            fail_msg("%s: %.9g", cases[i].text, value_of(cases[i].text, 1.5, false));
}

/* -------------------------------------------------------------------------- */
/* Rows in doubt                                                              */
/* -------------------------------------------------------------------------- */

/* A problem with normal values. */
static heed_problem fill(lab_values *values, const char *spec)
{
    heed_problem problem = parsed(spec);
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    assert_int_equal(lab_values_create(values, &problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("normal"), values, 1);
    return problem;
}

static lab_expect *expect_all(const heed_problem *problem, const lab_values *values, bool own)
{
    lab_expect *expect;
    const heed_buffers data = lab_values_buffers(values);
    const lab_sampling sampling = { .seed = 1, .work = 1 << 24, .threads = 1, .own = own };
    assert_int_equal(lab_expect_create(&expect, problem, &data, &sampling), HEED_OK);
    return expect;
}

static int64_t left_out(const char *spec, int64_t *rows)
{
    lab_values values;
    const heed_problem problem = fill(&values, spec);
    lab_expect *expect = expect_all(&problem, &values, true);
    int64_t count = expect->left_out, judged = 0;
    *rows = expect->count;
    for (int64_t i = 0; i < expect->count; i++)
        judged += isfinite(expect->o_budget[i]);
    assert_int_equal(judged, *rows - count);
    lab_expect_destroy(expect);
    lab_values_destroy(&values);
    return count;
}

/* Rows near a step are left out: few if steps are far apart, all if none can be decided. */
static void test_rows_near_a_step_are_left_out(void **state)
{
    int64_t rows;
    assert_int_equal(left_out("b1 h1 s64 d16 f32 score=s*0.5+exp(s)", &rows), 0);
    assert_int_equal(left_out("b1 h1 s64 d16 f32 visible=k%3!=1||k>q", &rows), 0);
    int64_t few = left_out("b1 h4 s64 d16 f32 score=s>0.25?s:-s", &rows);
    assert_true(few < rows / 20);
    assert_int_equal(left_out("b1 h1 s64 d16 f32 score=s*1e7-floor(s*1e7)", &rows), 64);
}

/* Uncertain decisions that affect few weights are no excuse: the mean of V is far off. */
static void test_rows_in_doubt_are_judged(void **state)
{
    lab_values values;
    const heed_problem problem = fill(&values, "b1 h2 s64 d32 f32 score=s-floor(float(k)*0.1)");
    lab_expect *expect = expect_all(&problem, &values, false);
    const void *data = lab_values_data(&values, LAB_V);
    assert_int_equal(expect->left_out, 0);
    lab_view v = lab_view_of(&problem, LAB_V);
    int64_t far = 0;
    for (int64_t i = 0; i < expect->count; i++) {
        double sum = 0, size = 0;
        for (int64_t d = 0; d < 32; d++) {
            double mean = 0, o = expect->o[i * 32 + d];
            for (int64_t j = 0; j < 64; j++)
                mean += lab_element_get(v.type, data,
                                        lab_view_at(&v, 0, j, expect->rows[i] / 64) + d) /
                        64;
            sum += (mean - o) * (mean - o);
            size += o * o;
        }
        assert_true(expect->o_budget[i] > 1e-3 * sqrt(size)); /* there are uncertain decisions */
        far += sqrt(sum) > expect->o_budget[i];
    }
    assert_true(far > expect->count * 9 / 10);
    lab_expect_destroy(expect);
    lab_values_destroy(&values);
}

/* The smallest error budget of a row, relative to its norm, with a sink of @sink. */
static double relative_budget(float sink)
{
    lab_values values;
    double least = INFINITY;
    const heed_problem problem = fill(&values, "b1 h1 s64/2 d16/1 f32 sinks scale=1");
    *(float *)lab_values_data(&values, LAB_SINKS) = sink;
    lab_expect *expect = expect_all(&problem, &values, true);
    assert_int_equal(expect->count, 64);
    for (int64_t i = 0; i < expect->count; i++)
        least = fmin(least, expect->o_budget[i] / fabs(expect->o[i]));
    lab_expect_destroy(expect);
    lab_values_destroy(&values);
    return least;
}

/* Next to a heavy sink all keys are light, and their errors count as usual; weights that are
 * subnormal in float32 may be lost. */
static void test_light_keys_beside_a_sink(void **state)
{
    assert_true(relative_budget(65) > 8e-7 && relative_budget(65) < 1e-4);
    assert_true(relative_budget(110) > 0.5);
}

RUN_TESTS(test_logits_by_hand, test_hidden_keys_by_hand, test_sinks_by_hand,
          test_expressions_by_hand, test_expressions_as_the_library,
          test_rows_near_a_step_are_left_out, test_rows_in_doubt_are_judged,
          test_light_keys_beside_a_sink)
