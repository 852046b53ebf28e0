/*
 * random_expression.c - random valid expressions
 */
#include "random_expression.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lab/tensor/random.h"

enum {
    REAL,
    WHOLE,
    TRUTH
};

typedef struct writer {
    uint64_t seed, drawn;
    bool visible;
    char text[4 * HEED_EXPRESSION_SIZE];
    size_t length;
} writer;

static int64_t below(writer *w, int64_t limit)
{
    return lab_random_below(w->seed, w->drawn++, limit);
}

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(writer *w, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof w->text - w->length;
    va_start(arguments, format);
    int length = vsnprintf(w->text + w->length, room, format, arguments);
    va_end(arguments);
    w->length += length > 0 && (size_t)length < room ? (size_t)length : 0;
}

static void write_value(writer *w, int kind, int depth);

static void write_leaf(writer *w, int kind)
{
    static const char *const names[] = { "q",     "k",       "p",    "head", "batch",
                                         "heads", "queries", "keys", "-7",   "3" };
    static const char *const reals[] = { "0.5", "2e3", ".125", "1.", "a[k]", "a[-q]" };
    if (kind == WHOLE)
        put(w, "%s", below(w, 6) ? names[below(w, 10)] : "b[batch,q%3]");
    else if (kind == TRUTH)
        put(w, "%s", below(w, 3) ? "c[k]" : below(w, 2) ? "true" : "false");
    else if (!w->visible && below(w, 3))
        put(w, "s");
    else
        put(w, "%s", reals[below(w, 6)]);
}

static void write_pair(writer *w, int kind, const char *sign, int depth)
{
    put(w, "(");
    write_value(w, kind, depth);
    put(w, "%s", sign);
    write_value(w, kind, depth);
    put(w, ")");
}

static void write_call(writer *w, const char *name, int kind, int count, int depth)
{
    put(w, "%s(", name);
    for (int i = 0; i < count; i++) {
        put(w, "%s", i ? "," : "");
        write_value(w, kind, depth);
    }
    put(w, ")");
}

static void write_choice(writer *w, int kind, int depth)
{
    put(w, "(");
    write_value(w, TRUTH, depth);
    put(w, "?");
    write_value(w, kind, depth);
    put(w, ":");
    write_value(w, kind, depth);
    put(w, ")");
}

static void write_number(writer *w, int kind, int depth)
{
    static const char *const whole[] = { "+", "-", "*", "//", "%" };
    static const char *const real[] = { "+", "-", "*", "/" };
    static const char *const functions[] = { "exp", "log", "tanh", "sqrt", "floor" };
    static const char *const either[] = { "min", "max" };
    switch (below(w, 6)) {
    case 0:
        write_call(w, either[below(w, 2)], kind, 2, depth);
        break;
    case 1:
        write_call(w, "abs", kind, 1, depth);
        break;
    case 2:
        write_choice(w, kind, depth);
        break;
    case 3:
        put(w, "-");
        write_value(w, kind, depth);
        break;
    case 4:
        if (kind == REAL)
            write_call(w, functions[below(w, 5)], REAL, 1, depth);
        else
            write_call(w, "int", REAL, 1, depth);
        break;
    default:
        write_pair(w, kind, kind == WHOLE ? whole[below(w, 5)] : real[below(w, 4)], depth);
    }
}

static void write_truth(writer *w, int depth)
{
    static const char *const joins[] = { "&&", "||" };
    static const char *const signs[] = { "<", "<=", ">", ">=", "==", "!=" };
    switch (below(w, 4)) {
    case 0:
        write_pair(w, TRUTH, joins[below(w, 2)], depth);
        break;
    case 1:
        put(w, "!");
        write_value(w, TRUTH, depth);
        break;
    case 2:
        write_pair(w, TRUTH, signs[4 + below(w, 2)], depth);
        break;
    default:
        write_pair(w, below(w, 2) ? WHOLE : REAL, signs[below(w, 6)], depth);
    }
}

static void write_value(writer *w, int kind, int depth)
{
    if (depth == 0 || below(w, 4) == 0)
        write_leaf(w, kind);
    else if (kind == REAL && below(w, 5) == 0)
        write_value(w, WHOLE, depth - 1); /* converted to a real number */
    else if (kind == TRUTH)
        write_truth(w, depth - 1);
    else
        write_number(w, kind, depth - 1);
}

/* Tries shorter ones until one fits. */
void random_expression(uint64_t seed, bool visible, char text[HEED_EXPRESSION_SIZE])
{
    for (int depth = 5;; depth--) {
        writer w = { .seed = seed, .visible = visible };
        write_value(&w, visible ? TRUTH : REAL, depth);
        if (w.length < HEED_EXPRESSION_SIZE) {
            memset(text, 0, HEED_EXPRESSION_SIZE);
            memcpy(text, w.text, w.length);
            return;
        }
    }
}
