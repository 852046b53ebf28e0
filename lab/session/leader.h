/*
 * leader.h - the board's leaders on this device
 */
#ifndef LAB_LEADER_H
#define LAB_LEADER_H

#include "base/sink.h"
#include "record/record.h"

typedef struct lab_leader {
    int64_t trial; /* the leading trial; 0: none */
    int64_t run;   /* the run of that trial */
    bool promoted; /* else it has the least time, and none was promoted */
    char name[2 * HEED_NAME_SIZE];
} lab_leader;

#define LAB_LEADERS 8

/* lab_leaders_find() writes the first @room places, at most LAB_LEADERS, for the problem @spec on
 * the device of @context with its number of threads, cold or hot; unused entries are zeroed.
 * Damaged trials do not count. */
heed_status lab_leaders_find(lab_record *record, const heed_context *context, const char *spec,
                             bool cold, lab_leader *leaders, size_t room, lab_error *error);

/* lab_leaders_tell_left_out() reports a trial that the last lab_record_visit() did not rank on
 * problem @spec because of a fault, unless it is @told, the last one reported. Returns its number;
 * 0 if none. */
int64_t lab_leaders_tell_left_out(const lab_record *record, const lab_sink *sink, const char *spec,
                                  int64_t told);

#endif /* LAB_LEADER_H */
