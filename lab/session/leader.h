/*
 * leader.h - the kernels that lead the board where we are
 */
#ifndef LAB_LEADER_H
#define LAB_LEADER_H

#include "base/sink.h"
#include "record/record.h"

typedef struct lab_leader {
    int64_t trial; /* by which it leads; 0: nobody does */
    int64_t run;   /* that this is of */
    bool promoted; /* else it has the least time, and nobody was promoted */
    char name[2 * HEED_NAME_SIZE];
} lab_leader;

#define LAB_LEADERS 8

/* lab_leaders_find() writes the first @room places, LAB_LEADERS at most, on the problem @spec, on
 * the device of @context with as many threads, cold or hot; and zeroes where there are none. Trials
 * that are damaged do not count. */
heed_status lab_leaders_find(lab_record *record, const heed_context *context, const char *spec,
                             bool cold, lab_leader *leaders, size_t room, lab_error *error);

/* lab_leaders_tell_left_out() names a trial that the last lab_record_visit() left out of the
 * ranking of problem @spec for a fault, but not @told, the last one named. Returns its number; 0 if
 * there is none. */
int64_t lab_leaders_tell_left_out(const lab_record *record, const lab_sink *sink, const char *spec,
                                  int64_t told);

#endif /* LAB_LEADER_H */
