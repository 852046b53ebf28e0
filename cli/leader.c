/*
 * leader.c - who leads the board where we are
 */
#include "leader.h"

#include <string.h>

typedef struct search {
    const heed_context *context;
    bool cold;
    cli_leader *leader;
} search;

static heed_status take(void *data, const lab_record_row *row)
{
    search *it = data;
    if (strcmp(row->device, heed_context_device(it->context)) != 0 || !row->timing ||
        row->threads != heed_context_threads(it->context) ||
        strcmp(row->timing, it->cold ? "cold" : "hot") != 0 || strcmp(row->trusted, "damaged") == 0)
        return HEED_OK;
    snprintf(it->leader->name, sizeof it->leader->name, "%.95s%s%.95s", row->kernel,
             *row->config ? "__" : "", row->config);
    it->leader->trial = row->trial;
    it->leader->promoted = row->promoted;
    return HEED_OK;
}

heed_status cli_leader_find(lab_record *record, const heed_context *context, const char *spec,
                            bool cold, cli_leader *leader, lab_error *error)
{
    search it = { context, cold, leader };
    const lab_record_filter filter = { .part = LAB_BOARD_BEST,
                                       .problem = spec,
                                       .exact = true,
                                       .device = heed_context_device(context) };
    *leader = (cli_leader){ .trial = 0 };
    return lab_record_visit(record, &filter, take, &it, error);
}
