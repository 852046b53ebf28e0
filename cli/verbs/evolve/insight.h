/*
 * insight.h - facts about a kernel for the guide of a search: the option, and output
 */
#ifndef CLI_INSIGHT_H
#define CLI_INSIGHT_H

#include "cli/base/cli.h"
#include "insight/insight.h"

/* The row of option tables, whose choices are in the order of lab_insight_mode. */
extern const char *const insight_modes[];
#define CLI_OPTION_INSIGHTS                                                                        \
    OPT_CHOICE("insights", 0, "HOW", insight_modes, "measured",                                    \
               "Facts about a kernel's limits for the guide: none; static: from its machine "      \
               "code; measured: also hardware counters and 'heed ablate' of each champion, in 15 " \
               "% of the time at most")

/* insight_report.c: the known facts as a table, or as JSON. */
cli_exit insight_print(const lab_insight *it);
json_t *insight_json(const lab_insight *it);
json_t *insight_words_json(unsigned findings);

#endif /* CLI_INSIGHT_H */
