/*
 * figures.h - the figures that a search ends with, as a line and as JSON
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "cli.h"
#include "search/figures.h"

/* cli_figures_print() prints @figures to stdout; speed-ups over the origin are of @origin, such as
 * "the first source". cli_figures_json() returns them as an object, with null for what is not
 * known. */
void cli_figures_print(const lab_figures *figures, const char *origin);
json_t *cli_figures_json(const lab_figures *figures);

#endif /* CLI_FIGURES_H */
