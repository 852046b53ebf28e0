/*
 * ablate.h - what the files of `heed ablate` share
 */
#ifndef CLI_ABLATE_H
#define CLI_ABLATE_H

#include "ablate/ablate.h"
#include "cli/base/cli.h"

/* ablate_report.c */
cli_exit ablate_print(const lab_ablate_run *run);
cli_exit ablate_print_json(const lab_ablate_run *run);

#endif /* CLI_ABLATE_H */
