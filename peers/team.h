/*
 * team.h - a thread pool that runs numbered tasks
 */
#ifndef PEER_TEAM_H
#define PEER_TEAM_H

#include <stdint.h>

typedef struct peer_team peer_team;

/* One task: @thread (0 .. threads - 1) runs number @index. */
typedef void peer_task(void *data, int64_t index, int thread);

/* peer_team_create() starts @threads - 1 threads in addition to the caller. Returns NULL if that
 * fails. */
peer_team *peer_team_create(int threads);
void peer_team_destroy(peer_team *team);

/* peer_team_run() runs task(data, i, thread) for every i below @count, each on whichever thread is
 * free, and returns when all are done. Threads spin for about a millisecond after the last run
 * before they sleep, so that consecutive calls start at once. */
void peer_team_run(peer_team *team, peer_task *task, void *data, int64_t count);

#endif /* PEER_TEAM_H */
