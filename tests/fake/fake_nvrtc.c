/*
 * fake_nvrtc.c - the compiler of fake_cuda.h: only the first bytes of its output are those of an
 * ELF file, unless it emulates (fake_emulator.h)
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/driver/nvrtc.h"
#include "fake_driver.h"

struct nvrtc_program {
    fake_program own;
};

static const char *complaint(const nvrtc_program *program)
{
    return fake_cuda_controls.compile_error ? fake_cuda_controls.compile_error : program->own.log;
}

static const char cubin[64] = "\177ELF";
static const char ptx[] = ".version 9.0\n";

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    const char *text = getenv("FAKE_NVRTC"); /* its major version */
    *major = text ? (int)strtol(text, NULL, 10) : 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

static const int archs[] = { 75, 80, 86, 89, 90, 100 };

int nvrtcGetNumSupportedArchs(int *count);
int nvrtcGetNumSupportedArchs(int *count)
{
    *count = (int)(sizeof archs / sizeof *archs);
    return NVRTC_SUCCESS;
}

int nvrtcGetSupportedArchs(int *supported);
int nvrtcGetSupportedArchs(int *supported)
{
    memcpy(supported, archs, sizeof archs);
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result)
{
    return result ? "NVRTC_ERROR" : "NVRTC_SUCCESS";
}

int nvrtcCreateProgram(nvrtc_program **program, const char *source, const char *name,
                       int header_count, const char *const *headers,
                       const char *const *header_names);
int nvrtcCreateProgram(nvrtc_program **program, const char *source, const char *name,
                       int header_count, const char *const *headers,
                       const char *const *header_names)
{
    *program = calloc(1, sizeof **program);
    bool fine = *program && (!fake_cuda_controls.emulates ||
                             fake_program_write(&(*program)->own, source, name, header_count,
                                                headers, header_names));
    return fine ? NVRTC_SUCCESS : NVRTC_OUT_OF_MEMORY;
}

int nvrtcDestroyProgram(nvrtc_program **program);
int nvrtcDestroyProgram(nvrtc_program **program)
{
    fake_program_remove(&(*program)->own);
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

int nvrtcCompileProgram(nvrtc_program *program, int option_count, const char *const *options);
int nvrtcCompileProgram(nvrtc_program *program, int option_count, const char *const *options)
{
    const struct timespec moment = { .tv_nsec = 100000 };
    bool fine = true;
    fake_count(&fake_cuda_controls.compilations, 1);
    while (atomic_load(&fake_cuda_controls.hold_compiler))
        nanosleep(&moment, NULL);
    if (program->own.folder[0])
        fine = fake_program_compile(&program->own, option_count, options);
    return fine && !*complaint(program) ? NVRTC_SUCCESS : NVRTC_COMPILATION;
}

int nvrtcGetProgramLogSize(nvrtc_program *program, size_t *size);
int nvrtcGetProgramLogSize(nvrtc_program *program, size_t *size)
{
    *size = strlen(complaint(program)) + 1;
    return NVRTC_SUCCESS;
}

int nvrtcGetProgramLog(nvrtc_program *program, char *log);
int nvrtcGetProgramLog(nvrtc_program *program, char *log)
{
    memcpy(log, complaint(program), strlen(complaint(program)) + 1);
    return NVRTC_SUCCESS;
}

int nvrtcGetCUBINSize(nvrtc_program *program, size_t *size);
int nvrtcGetCUBINSize(nvrtc_program *program, size_t *size)
{
    *size = program->own.code ? program->own.size : sizeof cubin;
    return NVRTC_SUCCESS;
}

int nvrtcGetCUBIN(nvrtc_program *program, char *out);
int nvrtcGetCUBIN(nvrtc_program *program, char *out)
{
    const fake_program *own = &program->own;
    memcpy(out, own->code ? own->code : cubin, own->code ? own->size : sizeof cubin);
    return NVRTC_SUCCESS;
}

int nvrtcGetPTXSize(nvrtc_program *program, size_t *size);
int nvrtcGetPTXSize(nvrtc_program *program, size_t *size)
{
    (void)program;
    *size = sizeof ptx;
    return NVRTC_SUCCESS;
}

int nvrtcGetPTX(nvrtc_program *program, char *out);
int nvrtcGetPTX(nvrtc_program *program, char *out)
{
    (void)program;
    memcpy(out, ptx, sizeof ptx);
    return NVRTC_SUCCESS;
}
