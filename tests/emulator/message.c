/*
 * message.c - the emulator's messages about a kernel, with the line that caused them
 */
#include "emulator/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void machine_fail(machine *m, const char *format, ...)
{
    if (!m->report->error[0]) {
        va_list args;
        va_start(args, format);
        vsnprintf(m->report->error, sizeof m->report->error, format, args);
        va_end(args);
    }
    if (m->running) {
        thread *self = m->running;
        m->running = NULL;
        fiber_switch(&self->fiber, &m->scheduler);
    }
}

void machine_race(machine *m, const char *format, ...)
{
    if (m->report->races++ > 0)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(m->report->race, sizeof m->report->race, format, args);
    va_end(args);
}

site machine_site(machine *m, const thread *t)
{
    uint32_t i = 0;
    while (i < FILES_MAX - 1 && m->files[i] && m->files[i] != t->file)
        i++;
    m->files[i] = t->file;
    return i << 20 | ((uint32_t)t->line & 0xfffff);
}

site_text machine_site_print(const machine *m, site at)
{
    site_text text;
    const char *file = m->files[at >> 20];
    const char *slash = file ? strrchr(file, '/') : NULL;
    snprintf(text.text, sizeof text.text, "%s:%u",
             slash  ? slash + 1
             : file ? file
                    : "?",
             (unsigned)(at & 0xfffff));
    return text;
}

number_text machine_thread_print(const machine *m, uint32_t index)
{
    number_text it;
    uint32_t threads = m->launch->threads;
    if (m->cluster == 1 || index >= m->count)
        snprintf(it.text, sizeof it.text, "%u", index);
    else
        snprintf(it.text, sizeof it.text, "%u of block %u", index % threads, index / threads);
    return it;
}

number_text machine_shared_print(const machine *m, uint32_t smem)
{
    number_text it;
    uint32_t block = m->cluster == 1 ? 0 : (smem - EMULATOR_SHARED_BASE) / m->pitch;
    if (m->cluster == 1)
        snprintf(it.text, sizeof it.text, "%u", smem);
    else
        snprintf(it.text, sizeof it.text, "%u of block %u", smem - block * m->pitch, block);
    return it;
}

uint32_t machine_index(const machine *m, const thread *t)
{
    return (uint32_t)(t - m->threads);
}
