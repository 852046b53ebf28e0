/*
 * explain.h - turns the last output of a candidate's process into a verdict
 */
#ifndef LAB_EXPLAIN_H
#define LAB_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/trial/verdict.h"
#include "lab/trial/wire.h"

/* lab_explain() sets the verdict for @line, an unexpected reply, using @orders and the addresses of
 * the arenas in the process. Returns false.
 */
bool lab_explain(const char *line, const lab_wire_orders *orders, uint64_t inputs, uint64_t outputs,
                 lab_trial_outcome *outcome);

/* lab_room_name() returns "Q" to "O", "LSE" or "workspace". */
const char *lab_room_name(int index);

#endif /* LAB_EXPLAIN_H */
