/*
 * sink.h - messages, progress and interruption of the laboratory's work
 *
 *     const lab_sink sink = { .interrupted = stop_pressed, .say = print, .data = window };
 *     lab_progress progress = lab_progress_start(&sink, "timing", count);
 *     lab_progress_step(&progress, i, spec);   after each
 *     lab_progress_end(&progress);
 *
 * The laboratory itself prints nothing. Every member may be NULL, and so may the sink: then nothing
 * is shown, and nothing stops the work.
 */
#ifndef LAB_SINK_H
#define LAB_SINK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_tone {
    LAB_MESSAGE,
    LAB_WARNING,
    LAB_COMPLAINT /* an error, after which the function fails */
} lab_tone;

/* A hint that follows a message. The caller words it, as it has the verbs and options. */
typedef enum lab_advice {
    LAB_ADVICE_TIME,   /* allow more seconds */
    LAB_ADVICE_PROVE,  /* let a kernel pass all gates on a problem */
    LAB_ADVICE_BOARD,  /* check the board */
    LAB_ADVICE_RIVALS, /* list the rivals that are here */
    LAB_ADVICE_OTHERS, /* compare with a kernel of another heed */
} lab_advice;

#define LAB_ADVICE_SIZE 2048 /* room for any problem */

typedef struct lab_progress lab_progress;

typedef struct lab_sink {
    void *data;                /* of the caller */
    bool (*interrupted)(void); /* called by any thread: true to end the work early */
    void (*say)(void *data, lab_tone tone, const char *format, va_list list)
        __attribute__((format(printf, 3, 0)));
    void (*advise)(void *data, lab_advice advice, const char *kernel, const char *spec,
                   char text[LAB_ADVICE_SIZE]); /* kernel and spec: of LAB_ADVICE_PROVE alone */
    void (*step)(lab_progress *progress, size_t done, const char *what);
    void (*end)(lab_progress *progress);
} lab_sink;

/* Progress of a long piece of work. A zeroed one shows nothing. */
struct lab_progress {
    const lab_sink *sink;
    const char *title;
    size_t total;     /* 0: not known */
    bool timed;       /* done and total are seconds */
    bool uneven;      /* steps differ too much to estimate the remaining time */
    int64_t start_ns; /* by heed_clock_ns() */
    int64_t last_ns;  /* for the sink: the time when it was last shown, ... */
    bool shown;       /* ... whether on a display that can redraw it, ... */
    bool dirty;       /* ... and whether it is still visible */
};

/* lab_interrupted() returns true if the work is to end early. The function then frees its resources
 * and returns HEED_ERR_SYSTEM. */
bool lab_interrupted(const lab_sink *sink);

/* lab_say() passes on a line of text, without a newline. */
void lab_say(const lab_sink *sink, lab_tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* lab_advise() writes the caller's advice, to be appended to a message: "; see ...", or "" without
 * advice. Returns @text. lab_advise_prove() does so for LAB_ADVICE_PROVE. */
const char *lab_advise(const lab_sink *sink, lab_advice advice, char text[LAB_ADVICE_SIZE]);
const char *lab_advise_prove(const lab_sink *sink, const char *kernel, const char *spec,
                             char text[LAB_ADVICE_SIZE]);

/* lab_progress_start() begins work of @total steps, lab_progress_start_seconds() work that takes
 * @seconds. */
lab_progress lab_progress_start(const lab_sink *sink, const char *title, size_t total);
lab_progress lab_progress_start_seconds(const lab_sink *sink, const char *title, double seconds);

/* lab_progress_step() reports that @done steps are finished, and names the next one, @what or NULL.
 * Call lab_progress_end() before anything else is shown; another step may follow. */
void lab_progress_step(lab_progress *progress, size_t done, const char *what);
void lab_progress_end(lab_progress *progress);

#endif /* LAB_SINK_H */
