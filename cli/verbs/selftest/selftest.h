/*
 * selftest.h - declarations shared by the parts of `heed selftest`
 */
#ifndef CLI_SELFTEST_H
#define CLI_SELFTEST_H

#include "cli/base/cli.h"
#include "record/record.h"
#include "verify/selftest.h"

/* selftest_device() returns how kernels of the suite are launched on the CUDA device *@name, "cuda"
 * or "cuda:N", each in processes of its own; @name must outlive it. */
lab_selftest_device selftest_device(const char *const *name);

/* selftest_sources() returns how sources of the suite are tried: compiled, proved and timed as
 * those of `heed evolve` are. NULL where this system cannot hold candidates, which evolve refuses
 * too. */
const lab_selftest_sources *selftest_sources(void);

/* selftest_run() is lab_selftest_run(), with a folder of its own for what is compiled meanwhile,
 * which is gone afterwards whatever was interrupted. */
heed_status selftest_run(const lab_selftest_options *options, lab_selftest_result *result);

/* selftest_device_probe() looks whether the kernel without a mistake can be launched there. CLI_OK
 * if so; else an error has been printed. */
cli_exit selftest_device_probe(const char *const *name);

/* cli_selftest_trust() is for verbs whose trials go on a board. It writes to *@id the number of the
 * selftest that they rely on, for lab_record_trial.selftest: the newest one of this heed on
 * @record, with kernels on the CUDA @device or, if that is NULL, on the host; or one that it runs
 * now, which takes some ten seconds. Where the gates fail it there is a warning, and the board says
 * that the trials are not to be trusted. A failure has been printed. To be called while the process
 * has a single thread. */
cli_exit cli_selftest_trust(lab_record *record, const char *device, int64_t *id);

#endif /* CLI_SELFTEST_H */
