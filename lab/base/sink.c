/*
 * sink.c - messages, progress and interruption, passed to the caller
 */
#include "sink.h"

#include <stdio.h>

#include "src/measure.h"

bool lab_interrupted(const lab_sink *sink)
{
    return sink && sink->interrupted && sink->interrupted();
}

void lab_say(const lab_sink *sink, lab_tone tone, const char *format, ...)
{
    va_list list;
    if (!sink || !sink->say)
        return;
    va_start(list, format);
    sink->say(sink->data, tone, format, list);
    va_end(list);
}

static const char *advise(const lab_sink *sink, lab_advice advice, const char *kernel,
                          const char *spec, char text[LAB_ADVICE_SIZE])
{
    static const char before[] = "; ";
    char words[LAB_ADVICE_SIZE] = "";
    if (sink && sink->advise)
        sink->advise(sink->data, advice, kernel, spec, words);
    snprintf(text, LAB_ADVICE_SIZE, "%s%.*s", *words ? before : "",
             (int)(LAB_ADVICE_SIZE - sizeof before), words);
    return text;
}

const char *lab_advise(const lab_sink *sink, lab_advice advice, char text[LAB_ADVICE_SIZE])
{
    return advise(sink, advice, NULL, NULL, text);
}

const char *lab_advise_prove(const lab_sink *sink, const char *kernel, const char *spec,
                             char text[LAB_ADVICE_SIZE])
{
    return advise(sink, LAB_ADVICE_PROVE, kernel, spec, text);
}

lab_progress lab_progress_start(const lab_sink *sink, const char *title, size_t total)
{
    return (
        lab_progress){ .sink = sink, .title = title, .total = total, .start_ns = heed_clock_ns() };
}

lab_progress lab_progress_start_seconds(const lab_sink *sink, const char *title, double seconds)
{
    lab_progress progress = lab_progress_start(sink, title, (size_t)(seconds + 0.5));
    progress.timed = true;
    return progress;
}

void lab_progress_step(lab_progress *progress, size_t done, const char *what)
{
    if (progress->sink && progress->sink->step)
        progress->sink->step(progress, done, what);
}

void lab_progress_end(lab_progress *progress)
{
    if (progress->sink && progress->sink->end)
        progress->sink->end(progress);
}
