/*
 * runner_cuda.h - declarations shared by the files of heed_candidate_cuda (runner_cuda.c)
 */
#ifndef LAB_RUNNER_CUDA_H
#define LAB_RUNNER_CUDA_H

#include <stddef.h>

#include "heed.h"
#include "src/device.h"

/* runner_say() writes a line to the laboratory, or ends the process if that is gone. */
void runner_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Both end the process: runner_fail() with heed's message, where a lost device is reported
 * separately, runner_fail_system() with the system's error on @what. runner_must() is runner_fail()
 * unless @status is HEED_OK. */
_Noreturn void runner_fail(heed_status status);
_Noreturn void runner_fail_system(const char *what);
void runner_must(heed_status status);

/* runner_read_file() returns the content of the file @fd, null-terminated; never NULL. */
char *runner_read_file(int fd, size_t *size);

/* runner_open_device() creates a context, or ends the process. */
heed_context *runner_open_device(const char *device);

/* runner_run_orders() answers requests until the end of input, with arenas of @arena_size bytes
 * (runner_cuda_run.c). */
void runner_run_orders(size_t arena_size);

#endif /* LAB_RUNNER_CUDA_H */
