/*
 * selftest.h - declarations shared by the parts of `heed selftest`
 */
#ifndef CLI_SELFTEST_H
#define CLI_SELFTEST_H

#include "cli/base/cli.h"
#include "record/record.h"
#include "verify/selftest.h"

/* selftest_device() returns functions that launch kernels of the suite on the CUDA device *@name,
 * "cuda" or "cuda:N", each in separate processes; @name must outlive them. */
lab_selftest_device selftest_device(const char *const *name);

/* selftest_sources() returns functions that try sources of the suite: compile, prove and time them
 * like those of `heed evolve`. NULL if this system has no sandbox for candidates, where evolve
 * refuses them too. */
const lab_selftest_sources *selftest_sources(void);

/* selftest_run() is lab_selftest_run() with a temporary folder for compilation, which is removed
 * afterwards even if children were killed. */
heed_status selftest_run(const lab_selftest_options *options, lab_selftest_result *result);

/* selftest_device_probe() checks that the kernel without a mistake can be launched on the device.
 * CLI_OK if so; else an error has been printed. */
cli_exit selftest_device_probe(const char *const *name);

/* cli_selftest_trust() is for verbs whose trials go on a board. It writes to *@id the number of the
 * selftest that they rely on, for lab_record_trial.selftest: the newest one of this build on
 * @record, with kernels on the CUDA @device or, if that is NULL, on the host; or one that it runs
 * now, which takes a minute on two CPUs. If the gates fail it, it prints a warning, and the board
 * marks the trials as untrusted. A failure has been printed. The process must have a single
 * thread. */
cli_exit cli_selftest_trust(lab_record *record, const char *device, int64_t *id);

#endif /* CLI_SELFTEST_H */
