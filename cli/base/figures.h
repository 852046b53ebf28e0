/*
 * figures.h - the summary of a search, as a line and as JSON
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "cli.h"
#include "search/figures.h"

/* cli_figures_print() prints @figures to stdout; @origin names the origin of speed-ups, such as
 * "the first source". cli_figures_json() returns them as an object, with null for unknown
 * values. */
void cli_figures_print(const lab_figures *figures, const char *origin);
json_t *cli_figures_json(const lab_figures *figures);

#endif /* CLI_FIGURES_H */
