/*
 * listen.h - what a program that was started says, until it has said it
 */
#ifndef HEED_CLI_LISTEN_H
#define HEED_CLI_LISTEN_H

#include "cli.h"
#include "trial/process.h"

/* cli_listen() takes what @process writes to its output and to its errors until both are closed and
 * it has ended. False if it has not by @deadline (heed_clock_ns()), or after Ctrl-C; the caller
 * ends it then. */
bool cli_listen(lab_process *process, lab_inlet *output, lab_inlet *errors, int64_t deadline);

#endif /* HEED_CLI_LISTEN_H */
