# Flags that all of heed's own targets share: heed_flags(TARGET).

add_library(heed_flags INTERFACE)
target_compile_features(heed_flags INTERFACE c_std_17)

# GNU C17 rather than strict C17 because files that use clocks, threads and memory of the operating system need POSIX
# and more; -Wpedantic still refuses extensions of the language itself.
set(CMAKE_C_EXTENSIONS ON)
target_compile_definitions(heed_flags INTERFACE _GNU_SOURCE=)

target_compile_options(heed_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes
    -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2
    # A message that is too long for its buffer is deliberately truncated.
    $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)

if(HEED_SANITIZE)
    target_compile_options(heed_flags INTERFACE
        -fsanitize=${HEED_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE})
endif()
if(HEED_FUZZ)
    target_compile_options(heed_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(HEED_COVERAGE)
    target_compile_options(heed_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(heed_flags INTERFACE --coverage)
endif()

# x86-64 has the AVX kernels; other architectures have only the portable ones.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(HEED_X86 ON)
    target_compile_definitions(heed_flags INTERFACE HEED_X86=1)
else()
    set(HEED_X86 OFF)
endif()

# heed_isa_sources(OUT FILES...) enables for each file the instruction set at the end of its name: _scalar.c, _avx2.c,
# _avx512.c, _avx512bf16.c or _amx.c. Sets OUT to the files that this architecture can compile.
function(heed_isa_sources out)
    set(avx2 -mavx2 -mfma -mf16c)
    set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
    set(flags_scalar -O3)
    set(flags_avx2 -O3 ${avx2})
    set(flags_avx512 -O3 ${avx512})
    set(flags_avx512bf16 -O3 ${avx512} -mavx512bf16)
    set(flags_amx ${flags_avx512bf16} -mamx-tile -mamx-bf16)
    set(usable)
    foreach(source IN LISTS ARGN)
        if(NOT source MATCHES "_(scalar|avx2|avx512|avx512bf16|amx)\\.c$")
            message(FATAL_ERROR "${source}: the name of this file must end in its instruction set")
        endif()
        if(CMAKE_MATCH_1 STREQUAL "scalar" OR HEED_X86)
            set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${flags_${CMAKE_MATCH_1}}")
            list(APPEND usable ${source})
        endif()
    endforeach()
    set(${out} ${usable} PARENT_SCOPE)
endfunction()

# Hidden by default: src/heed.map lists the symbols that the shared library exports.
function(heed_flags target)
    target_link_libraries(${target} PRIVATE heed_flags)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 17 C_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
endfunction()
