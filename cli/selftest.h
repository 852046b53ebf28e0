/*
 * selftest.h - what the parts of `heed selftest` share
 */
#ifndef CLI_SELFTEST_H
#define CLI_SELFTEST_H

#include "cli.h"
#include "verify/selftest.h"

/* selftest_device() returns how kernels of the suite are launched on the CUDA device *@name, "cuda"
 * or "cuda:N", each in processes of its own; @name must outlive it. */
lab_selftest_device selftest_device(const char *const *name);

/* selftest_device_probe() looks whether the kernel without a mistake can be launched there. CLI_OK
 * if so; else an error has been printed. */
cli_exit selftest_device_probe(const char *const *name);

#endif /* CLI_SELFTEST_H */
