/*
 * leader.c - the board's leaders on this device
 */
#include "leader.h"

#include <stdio.h>
#include <string.h>

typedef struct search {
    const heed_context *context;
    bool cold;
    lab_leader *leaders; /* in order of place */
    int places[LAB_LEADERS];
    size_t count, room;
} search;

/* Inserts a row by its place; drops the last one if there is no room. */
static void insert(search *it, const lab_record_row *row)
{
    size_t at = it->count < it->room ? it->count++ : it->room - 1;
    for (; at > 0 && it->places[at - 1] > row->place; at--) {
        it->places[at] = it->places[at - 1];
        it->leaders[at] = it->leaders[at - 1];
    }
    lab_leader *leader = &it->leaders[at];
    it->places[at] = row->place;
    snprintf(leader->name, sizeof leader->name, "%.95s%s%.95s", row->kernel,
             *row->config ? "__" : "", row->config);
    leader->trial = row->trial;
    leader->run = row->run;
    leader->promoted = row->promoted;
}

static heed_status take(void *data, const lab_record_row *row)
{
    search *it = data;
    bool here = strcmp(row->device, heed_context_device(it->context)) == 0 && row->timing &&
                strcmp(row->backend, heed_context_backend(it->context)) == 0 &&
                row->threads == heed_context_threads(it->context) &&
                strcmp(row->timing, it->cold ? "cold" : "hot") == 0;
    bool full = it->count == it->room && it->places[it->room - 1] <= row->place;
    if (here && !full && row->sound)
        insert(it, row);
    return HEED_OK;
}

heed_status lab_leaders_find(lab_record *record, const heed_context *context, const char *spec,
                             bool cold, lab_leader *leaders, size_t room, lab_error *error)
{
    search it = { .context = context, .cold = cold, .leaders = leaders, .room = room };
    const lab_record_filter filter = { .part = room == 1 ? LAB_BOARD_BEST : LAB_BOARD_RANKED,
                                       .problem = spec,
                                       .exact = true,
                                       .device = heed_context_device(context) };
    memset(leaders, 0, room * sizeof *leaders);
    return lab_record_visit(record, &filter, take, &it, error);
}

int64_t lab_leaders_tell_left_out(const lab_record *record, const lab_sink *sink, const char *spec,
                                  int64_t told)
{
    char advice[LAB_ADVICE_SIZE];
    int64_t trial = lab_record_left_out(record);
    if (trial > 0 && trial != told)
        lab_say(sink, LAB_MESSAGE,
                "%s: trial %lld of the board would be ranked, but it is damaged or impossible, "
                "and does not count%s",
                spec, (long long)trial, lab_advise(sink, LAB_ADVICE_BOARD, advice));
    return trial;
}
