/*
 * trial_parts.h - declarations shared by the files of a trial (trial.c, trial_run.c, trial_time.c,
 * pages.c)
 */
#ifndef LAB_TRIAL_PARTS_H
#define LAB_TRIAL_PARTS_H

#include <stdio.h>
#include <sys/stat.h>

#include "lab/trial/host.h"
#include "lab/trial/trial.h"
#include "lab/trial/wire.h"

struct lab_trial {
    lab_language language;
    heed_launch_facts launch;
    char entry[LAB_KNOB_NAME_MAX + 1];
    lab_limits limits;
    lab_protections protections;
    lab_code code;
    char program[PATH_MAX];
    lab_arena inputs, outputs;
    lab_host host;
    uint64_t inputs_at, outputs_at; /* addresses in the process */
    heed_problem problem;           /* last prepared */
    bool made_for_one;
    heed_problem home; /* that it was made for, if any */
    bool pinned;       /* to @cpu */
    int cpu;
    int walls_unseen; /* blocks timed since the walls were checked */
    int opened_count; /* sets whose rooms the process has opened ... */
    lab_wire_set opened[LAB_WIRE_SETS];
};

/* lab_trial_start() starts the process, unless it is running. lab_trial_orders() returns its
 * orders, at the start of the arena of inputs. */
bool lab_trial_start(lab_trial *trial, lab_trial_outcome *outcome);
lab_wire_orders *lab_trial_orders(const lab_trial *trial);
lab_arena *lab_trial_arena(lab_trial *trial, int index);

/* lab_trial_await() sends a request that may take @limit seconds, whose reply must begin with
 * @wanted and is written to @line. lab_trial_demand() sends one that does not compute and may use
 * only little CPU time. */
bool lab_trial_await(lab_trial *trial, const char *request, double limit, const char *wanted,
                     char line[LAB_WIRE_LINE], lab_trial_outcome *outcome);
bool lab_trial_demand(lab_trial *trial, const char *request, const char *wanted,
                      char line[LAB_WIRE_LINE], lab_trial_outcome *outcome);

/* lab_trial_lay_out() finds a place for every tensor of @count sets: those of @sets, or if @alike
 * each like the first one. */
bool lab_trial_lay_out(lab_trial *trial, const lab_set *sets, bool alike, int count,
                       lab_trial_outcome *outcome);

/* lab_trial_reach() makes the process open exactly the rooms of the first @count sets of the
 * orders, unless they are open; the positions of tensors in them, and their values, are not yet
 * known to it. On success the process is stopped. lab_trial_compute() makes it execute the orders,
 * once these are written, within @seconds (0: those of the limits), and measures the time. */
bool lab_trial_reach(lab_trial *trial, int count, lab_trial_outcome *outcome);
bool lab_trial_compute(lab_trial *trial, double seconds, lab_trial_outcome *outcome);

/* lab_trial_look_at_walls() checks that the stopped process has exactly the required mappings of
 * the arenas: the rooms that it opened, and nothing else. If not, it is ended. */
bool lab_trial_look_at_walls(lab_trial *trial, lab_trial_outcome *outcome);

/* The memory map of a process: its code, and its accessible pages (pages.c). */

/* lab_pages_fixed() returns true if all code of the stopped process @pid comes from files and is
 * not writable. True also if the system does not provide the map. */
bool lab_pages_fixed(pid_t pid);

/* lab_pages_walled() returns true if the stopped process @pid can access exactly the pages of the
 * rooms of @sets in an arena's file @fd, and its first @kept bytes, with walls on both sides of
 * each room. @outputs: the arena is that of outputs. True also if the system does not provide the
 * map.
 */
bool lab_pages_walled(pid_t pid, int fd, bool outputs, size_t kept, const lab_wire_set *sets,
                      int count);

/* lab_pages_text_walled() does so for the text of /proc/PID/maps and the stat() result of the
 * arena.
 */
bool lab_pages_text_walled(FILE *maps, const struct stat *arena, bool outputs, size_t kept,
                           const lab_wire_set *sets, int count);

#endif /* LAB_TRIAL_PARTS_H */
