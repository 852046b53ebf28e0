/*
 * leader.h - who leads the board where we are
 */
#ifndef CLI_LEADER_H
#define CLI_LEADER_H

#include "board.h"

typedef struct cli_leader {
    int64_t trial; /* by which it holds the title; 0: nobody leads */
    int64_t run;   /* that this is of */
    bool promoted; /* else it has the least time, and nobody was promoted */
    char name[2 * HEED_NAME_SIZE];
} cli_leader;

/* cli_leader_find() looks for who leads on the problem @spec, on the device of @context with as
 * many threads, cold or hot. Trials that are damaged do not count. */
heed_status cli_leader_find(lab_record *record, const heed_context *context, const char *spec,
                            bool cold, cli_leader *leader, lab_error *error);

/* cli_leaders_find() writes the first places, *@count of them, of which none may be. */
#define CLI_LEADERS 8
heed_status cli_leaders_find(lab_record *record, const heed_context *context, const char *spec,
                             bool cold, cli_leader leaders[CLI_LEADERS], size_t *count,
                             lab_error *error);

#endif /* CLI_LEADER_H */
