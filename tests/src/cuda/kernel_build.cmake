# The hash that wisdom depends on changes with every file that determines which code a plan runs, and with the flags, but
# not with other files of the library; likewise for the hash of the gates and its files:
#   cmake -DSOURCE=... -DSCRATCH=... -P tests/src/cuda/kernel_build.cmake
cmake_minimum_required(VERSION 3.25)
include("${SOURCE}/cmake/HeedKernelBuild.cmake")

set(deciding cmake/HeedFlags.cmake src/config.c src/cpu/attn_few_template.h src/cpu/attn_tile.c src/cpu/backend.c
    src/cpu/job.c src/cpu/simd_avx2.h src/cuda/args.c src/cuda/attn/attn_mma.c src/cuda/attn/attn_naive.c src/cuda/backend.c
    src/cuda/backend.h src/cuda/driver/device.c src/cuda/facts.c src/cuda/gpu.c src/cuda/jit.c src/cuda/kernels/args.cuh
    src/cuda/kernels/attn_mma.cu src/cuda/kernels/mma/load.cuh src/cuda/kernels/ptx_warp.cuh src/cuda/driver/module.c src/cuda/sources.def
    src/internal.h src/kernels.def)
set(others src/error.c src/plan_explain.c src/wisdom.c include/heed.h src/CMakeLists.txt)

file(REMOVE_RECURSE "${SCRATCH}")
file(COPY "${SOURCE}/cmake" "${SOURCE}/include" "${SOURCE}/src" DESTINATION "${SCRATCH}")

function(hash_now out)
    heed_kernel_files(files "${SCRATCH}")
    heed_kernel_hash(hash "-O2" ${files})
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

hash_now(last)
set(wrong)
foreach(file IN LISTS deciding others)
    if(NOT EXISTS "${SCRATCH}/${file}")
        message(FATAL_ERROR "${file} is no more: correct the lists of this test")
    endif()
    file(APPEND "${SCRATCH}/${file}" "\n")
    hash_now(hash)
    if(file IN_LIST deciding AND hash STREQUAL last OR file IN_LIST others AND NOT hash STREQUAL last)
        list(APPEND wrong ${file})
    endif()
    set(last ${hash})
endforeach()
file(WRITE "${SCRATCH}/src/cuda/attn/attn_new.c" "")
hash_now(hash)
if(hash STREQUAL last)
    list(APPEND wrong "a new file")
endif()
heed_kernel_files(files "${SCRATCH}")
heed_kernel_hash(other_flags "-O3" ${files})
if(hash STREQUAL other_flags)
    list(APPEND wrong "flags")
endif()

# The hash of the gates, on which results on a board depend.
function(gates_now out)
    execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${SCRATCH}" "-DHEADER=${SCRATCH}/commit.h"
        -P "${SOURCE}/cmake/HeedCommit.cmake" COMMAND_ERROR_IS_FATAL ANY)
    file(STRINGS "${SCRATCH}/commit.h" line REGEX "HEED_GATES \"[0-9a-f]+\"")
    set(${out} "${line}" PARENT_SCOPE)
endfunction()
file(COPY "${SOURCE}/lab" DESTINATION "${SCRATCH}")
file(COPY "${SOURCE}/tests/data/trial/plain.c" DESTINATION "${SCRATCH}/tests/data/trial")
gates_now(last)
if(NOT last)
    list(APPEND wrong "no gates at all")
endif()
foreach(file lab/verify/gates/gates_error.c lab/verify/reference/expect.h lab/verify/stage/stage.c lab/verify/mutants/attend.cu
    lab/verify/mutants/sources/timed/idle.c lab/trial/trial.c)
    file(APPEND "${SCRATCH}/${file}" "\n")
    gates_now(hash)
    if(hash STREQUAL last AND file MATCHES "verify" OR NOT hash STREQUAL last AND NOT file MATCHES "verify")
        list(APPEND wrong ${file})
    endif()
    set(last "${hash}")
endforeach()

file(REMOVE_RECURSE "${SCRATCH}")
if(wrong)
    message(FATAL_ERROR "the hash of the kernels, or of the gates, does not change as it should with: ${wrong}")
endif()
