# The emulator, and the CUDA kernels that are compiled for it.

# Optimized in every build, since tests would take minutes otherwise.
add_library(heed_emulator STATIC emulator/banks.c emulator/barrier.c emulator/cluster.c emulator/fiber.c
    emulator/machine.c emulator/matrix.c emulator/mbarrier.c emulator/memory.c emulator/message.c emulator/order.c
    emulator/registers.c emulator/shared.c emulator/tensor.c emulator/wgmma.c emulator/wgmma_operands.c)
heed_flags(heed_emulator)
target_compile_options(heed_emulator PRIVATE -O3)
if(HEED_SANITIZE STREQUAL "thread")
    # It runs on one thread, in fibers. The thread sanitizer treats a switch as a call that never
    # returns.
    get_target_property(sources heed_emulator SOURCES)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
endif()
target_include_directories(heed_emulator PUBLIC
    "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/cuda/kernels")

# Attention kernels for the emulator, each an object with a description, and a row in one of the tables of
# emulator/kernels/kernel.h.
#
#   heed_emulated(SOURCE NAME PARAMETERS...)   emulator/kernels/SOURCE with -DHEED_PARAMETER=..., twice: for
#                                              aligned tensors the description NAME, and NAME_unaligned
#   heed_emulated_both(SOURCE NAME ...)        once, for both
#
# All are in a few targets, since each target costs make some time. So each has a separate source that includes
# emulator/kernels/SOURCE. Most kernels are in the targets "others", which are only built for the tests that `make test`
# leaves out; `make test` has at least one of each source and of each way to iterate over tiles.
set(sampled mma_d1 mma_d40_80 mma_d64 mma_d128_groups mma_d64_half single_d40_80 single_d64_groups wide_d40_136
    wide_d64_window shared_d72_64 single_shared_d40 mma_d64_window naive_window naive_bf16 candidate_f32
    mla_d576_512_masked apart_d512 whole_d584_768 single_d264_520 wgmma_d64_turns wgmma_d64_40_groups
    wgmma_d128_late wgmma_d96_40_pair wgmma_d128_window wgmma_d64_window_groups wgmma_d128_split
    wgmma_d128_split_rows
    naive_divergent naive_wrong_no_exp naive_delay mma_wrong_no_exp mma_extra_barrier mma_masked mma_no_staging_ahead
    wgmma_wrong_no_products wgmma_unswizzled wgmma_no_overlap mla_wrong_no_exp apart_wrong_no_products
    single_wrong_no_products single_no_overlap)
add_library(emulated_kernels OBJECT)
add_library(emulated_changes OBJECT)
add_library(emulated_kernels_others OBJECT EXCLUDE_FROM_ALL)
add_library(emulated_changes_others OBJECT EXCLUDE_FROM_ALL)
add_library(emulated_appends OBJECT) # append.cu and merge.cu, which are not attention
foreach(target emulated_kernels emulated_kernels_others emulated_changes emulated_changes_others emulated_appends)
    # The flags for device code are for its compiler; here plain C is enough.
    set_target_properties(${target} PROPERTIES C_STANDARD 17 C_STANDARD_REQUIRED ON)
    # Most time is spent in the emulator, so more optimization would only make compilation slower. gcc does not see
    # for every constant that a loop that initializes a variable runs at least once.
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-psabi -Wno-maybe-uninitialized -O1)
    # It runs on one thread, so the thread sanitizer would only make it slow.
    if(HEED_SANITIZE AND NOT HEED_SANITIZE STREQUAL "thread")
        target_compile_options(${target} PRIVATE -fsanitize=${HEED_SANITIZE} -fno-sanitize-recover=all)
    endif()
    target_link_libraries(${target} PRIVATE heed_emulator)
endforeach()
# The knobs of config names by their letters, and the parameters that they set.
set(knobs_attn_mma.c M=BLOCK_ROWS N=TILE_KEYS W=GROUP_WARPS K=KEY_GROUPS S=STAGES Q=Q_PLACE O=STEP_ORDER
    B=BLOCKS_PER_SM V=VALUE_WARPS)
set(knobs_attn_wide.c N=TILE_KEYS)
set(knobs_attn_wide32.c N=TILE_KEYS)
set(knobs_attn_wgmma.c R=ROW_GROUPS K=KEY_GROUPS N=TILE_KEYS S=STAGES O=STEP_ORDER T=TURNS C=OWN_TILES G=SCHEDULE P=SPLIT
    B=BIAS_TILES)
# Sets OUT to "" for kernels of `make test`, and to "_others".
function(heed_emulated_others name out)
    string(REGEX REPLACE "_(unaligned|negative)$" "" base ${name})
    set(${out} "_others" PARENT_SCOPE)
    if(base IN_LIST sampled OR name MATCHES "^attend_")
        set(${out} "" PARENT_SCOPE)
    endif()
endfunction()
function(heed_emulated_object source name)
    set(parameters ${ARGN})
    foreach(knob IN LISTS knobs_${source})
        string(REGEX MATCH "^(.)=(.*)" all ${knob})
        list(TRANSFORM parameters REPLACE "^${CMAKE_MATCH_1}=" "${CMAKE_MATCH_2}=")
    endforeach()
    list(TRANSFORM parameters REPLACE "^(.*)=(.*)$" "#define HEED_\\1 \\2")
    list(JOIN parameters "\n" defines)
    list(JOIN ARGN " " text)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/emulated/${name}.c")
    file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT
        "#define EMULATED_KERNEL ${name}\n#define EMULATED_NAME \"${name} ${text}\"\n${defines}\n#include \"emulator/kernels/${source}\"\n")
    if(source MATCHES "^(append|merge).c$")
        target_sources(emulated_appends PRIVATE "${file}")
    elseif(table MATCHES "^changes")
        target_sources(emulated_${table} PRIVATE "${file}")
    else()
        heed_emulated_others(${name} others)
        target_sources(emulated_kernels${others} PRIVATE "${file}")
    endif()
endfunction()
# Adds a config to a table of kernel.h, by the names of its descriptions; NEGATIVE may be empty, and WORDS are those of
# a spec.
function(heed_emulated_row table aligned unaligned negative words)
    if(NOT table MATCHES "^changes")
        heed_emulated_others(${aligned} others)
        string(APPEND table "${others}")
    endif()
    set(members ".aligned = &${aligned}, .unaligned = &${unaligned}, .name = \"${aligned}\", .words = \"${words}\"")
    set(names "${aligned}, ${unaligned}")
    if(negative)
        string(APPEND members ", .negative = &${negative}")
        string(APPEND names ", ${negative}")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY "emulated_${table}_names" "extern const emulated_kernel ${names};\n")
    set_property(GLOBAL APPEND_STRING PROPERTY "emulated_${table}_rows" "    { ${members} },\n")
endfunction()
# Writes the table TABLE, as the array NAME, to a source file, whose path OUT gets.
function(heed_emulated_table table name out)
    get_property(names GLOBAL PROPERTY "emulated_${table}_names")
    get_property(rows GLOBAL PROPERTY "emulated_${table}_rows")
    set(${out} "${CMAKE_CURRENT_BINARY_DIR}/emulated/table_${table}.c")
    file(CONFIGURE OUTPUT "${${out}}" @ONLY CONTENT
        "#include \"emulator/kernels/kernel.h\"\n${names}const emulated_config ${name}[] = {\n${rows}    { 0 },\n};\n")
    set(${out} "${${out}}" PARENT_SCOPE)
endfunction()
function(heed_emulated_includes name folder)
    set_property(SOURCE "${CMAKE_CURRENT_BINARY_DIR}/emulated/${name}.c" APPEND PROPERTY INCLUDE_DIRECTORIES "${folder}")
endfunction()
function(heed_emulated source name)
    heed_emulated_object(${source} ${name} ${ARGN} UNALIGNED=0)
    heed_emulated_object(${source} ${name}_unaligned ${ARGN} UNALIGNED=1)
    heed_emulated_row("${table}" ${name} ${name}_unaligned "" "${words}")
endfunction()
function(heed_emulated_both source name)
    heed_emulated_object(${source} ${name} ${ARGN})
    heed_emulated_row("${table}" ${name} ${name} "" "${words}")
endfunction()
set(table configs)
set(words)
heed_emulated_object(append.c append_f32 TYPE=0)
heed_emulated_object(append.c append_f16 TYPE=1)
heed_emulated_object(append.c append_bf16 TYPE=2)
heed_emulated_object(append.c append_f32_halves TYPE=0 TURNS=0)
heed_emulated_object(append.c append_f32_neighbours TYPE=0 TURNS=0 INTERLEAVED=1)
heed_emulated_object(append.c append_f16_halves TYPE=1 TURNS=1)
heed_emulated_object(append.c append_bf16_neighbours TYPE=2 TURNS=2 INTERLEAVED=1)
heed_emulated_object(append.c append_bf16_halves_f32 TYPE=2 TURNS=0)
heed_emulated_object(append.c append_f32_halves_varlen TYPE=0 TURNS=0 VARLEN=1)
heed_emulated_object(append.c append_bf16_neighbours_varlen TYPE=2 TURNS=2 INTERLEAVED=1 VARLEN=1)
heed_emulated_object(append.c append_f32_packed TYPE=0 VARLEN=2)
heed_emulated_object(append.c append_f32_halves_packed TYPE=0 TURNS=0 VARLEN=2)
heed_emulated_object(append.c append_bf16_neighbours_packed TYPE=2 TURNS=2 INTERLEAVED=1 VARLEN=2)
heed_emulated_object(merge.c merge_f32 TYPE=0)
heed_emulated_object(merge.c merge_f16 TYPE=1)
heed_emulated_object(merge.c merge_bf16 TYPE=2)
heed_emulated(attn_mma.c mma_d1 BF16=1 MASKED=1 DIM_QK=1 DIM_V=1 M=16 N=16 W=1 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d32 BF16=0 MASKED=0 DIM_QK=32 DIM_V=32 M=64 N=64 W=2 K=1 S=4 Q=2 O=2 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d40_80 BF16=0 MASKED=1 DIM_QK=40 DIM_V=80 M=64 N=48 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d64 BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=2 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d64_groups BF16=1 MASKED=0 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d96_40 BF16=1 MASKED=0 DIM_QK=96 DIM_V=40 M=32 N=32 W=2 K=1 S=3 Q=2 O=2 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d128 BF16=0 MASKED=0 DIM_QK=128 DIM_V=128 M=128 N=64 W=4 K=1 S=2 Q=2 O=2 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d128_groups BF16=1 MASKED=1 DIM_QK=128 DIM_V=128 M=64 N=32 W=4 K=2 S=3 Q=1 O=2 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d192_128 BF16=1 MASKED=1 DIM_QK=192 DIM_V=128 M=64 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d256 BF16=0 MASKED=1 DIM_QK=256 DIM_V=256 M=64 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d64_half BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=2 O=1 B=1 ACC16=1)
heed_emulated(attn_mma.c mma_d96_40_half BF16=0 MASKED=0 DIM_QK=96 DIM_V=40 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=1)
# The same in float32.
function(heed_emulated_single name)
    heed_emulated(attn_mma.c ${name} BF16=0 ${ARGN} O=1 B=1 ACC16=0)
endfunction()
heed_emulated_single(single_d16_1 PRODUCTS=3 MASKED=1 DIM_QK=16 DIM_V=1 M=16 N=16 W=1 K=1 S=2 Q=1)
heed_emulated_single(single_d40_80 PRODUCTS=3 MASKED=1 DIM_QK=40 DIM_V=80 M=64 N=48 W=4 K=1 S=2 Q=1)
heed_emulated_single(single_d64 PRODUCTS=3 MASKED=1 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=1)
heed_emulated_single(single_d64_groups PRODUCTS=3 MASKED=0 DIM_QK=64 DIM_V=64 M=32 N=32 W=1 K=2 S=3 Q=1)
heed_emulated_single(single_d77_33 PRODUCTS=3 MASKED=0 DIM_QK=77 DIM_V=33 M=32 N=32 W=2 K=1 S=3 Q=2)
heed_emulated_single(single_d128 PRODUCTS=3 MASKED=1 DIM_QK=128 DIM_V=128 M=32 N=32 W=2 K=2 S=2 Q=1)
heed_emulated_single(single_d64_window PRODUCTS=3 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 M=64 N=32 W=4 K=1 S=3 Q=2)
# Warps that share rows: the same, but the simple kernel takes over for other tensors.
function(heed_emulated_wide name)
    heed_emulated_object(attn_mma.c ${name} ${ARGN} UNALIGNED=0)
    set(same ${ARGN})
    list(FILTER same INCLUDE REGEX "^(MASKED|HIDES_FIRST|CHUNKED|MODIFIES|HIDES|STARTS|LENGTHS|PAGED|SINKS|DIM_)")
    if("BF16=1" IN_LIST ARGN)
        heed_emulated_object(attn_naive.c ${name}_unaligned TYPE=2 W=4 ${same})
    elseif("PRODUCTS=3" IN_LIST ARGN)
        heed_emulated_object(attn_naive.c ${name}_unaligned TYPE=0 W=4 ${same})
    else()
        heed_emulated_object(attn_naive.c ${name}_unaligned TYPE=1 W=4 ${same})
    endif()
    heed_emulated_row("${table}" ${name} ${name}_unaligned "" "${words}")
endfunction()
heed_emulated_wide(wide_d72 BF16=0 MASKED=1 DIM_QK=72 DIM_V=72 M=64 N=64 W=8 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_wide(wide_d40_136 BF16=1 MASKED=0 DIM_QK=40 DIM_V=136 M=64 N=32 W=4 K=1 S=3 Q=1 O=1 B=1 ACC16=0 V=2)
heed_emulated_wide(wide_d64_parts BF16=1 MASKED=1 DIM_QK=64 DIM_V=64 M=32 N=32 W=8 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_wide(wide_d64_window BF16=0 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 M=32 N=48 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=2)
heed_emulated_wide(wide_d576_512 BF16=1 MASKED=1 DIM_QK=576 DIM_V=512 M=16 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_wide(wide_d264_520 BF16=0 MASKED=0 DIM_QK=264 DIM_V=520 M=16 N=16 W=8 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=8)
heed_emulated_wide(shared_d72_64 BF16=1 MASKED=1 DIM_QK=72 DIM_V=64 M=32 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=2 SHARED_V=1)
heed_emulated_wide(shared_d64_groups BF16=0 MASKED=1 DIM_QK=64 DIM_V=40 M=64 N=32 W=4 K=2 S=2 Q=2 O=1 B=1 ACC16=0 V=1 SHARED_V=1)
heed_emulated_wide(shared_d160_144 BF16=1 MASKED=0 DIM_QK=160 DIM_V=144 M=64 N=64 W=8 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4 SHARED_V=1)
heed_emulated_wide(wide_d520_64 BF16=0 MASKED=1 DIM_QK=520 DIM_V=64 M=64 N=16 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=1)
heed_emulated_wide(single_wide_d72 BF16=0 PRODUCTS=3 MASKED=1 DIM_QK=72 DIM_V=72 M=32 N=64 W=8 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_wide(single_wide_d136_264 BF16=0 PRODUCTS=3 MASKED=0 DIM_QK=136 DIM_V=264 M=16 N=16 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_wide(single_shared_d72_64 BF16=0 PRODUCTS=3 MASKED=1 DIM_QK=72 DIM_V=64 M=32 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=2 SHARED_V=1)
heed_emulated_wide(single_shared_d40 BF16=0 PRODUCTS=3 MASKED=1 DIM_QK=40 DIM_V=40 M=64 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=1 SHARED_V=1)
# Windows and chunks, in one config of each way in which kernels iterate over tiles.
heed_emulated(attn_mma.c mma_d64_window BF16=0 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 M=64 N=32 W=4 K=1 S=3 Q=2 O=1 B=1 ACC16=0)
heed_emulated(attn_mma.c mma_d40_80_window BF16=1 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_both(attn_naive.c naive_window TYPE=0 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=40 DIM_V=72 W=4)
heed_emulated_both(attn_naive.c naive_f32 TYPE=0 MASKED=1 DIM_QK=40 DIM_V=72 W=4)
heed_emulated_both(attn_naive.c naive_f16 TYPE=1 MASKED=0 DIM_QK=64 DIM_V=64 W=4)
heed_emulated_both(attn_naive.c naive_d576_520 TYPE=1 MASKED=1 DIM_QK=576 DIM_V=520 W=4)
heed_emulated_both(attn_naive.c naive_bf16 TYPE=2 MASKED=1 DIM_QK=65 DIM_V=33 W=2)
# The source that CUDA proposals start from.
heed_emulated_both(attention.c candidate_f32 TYPE=0 CAUSAL=1 DIM_QK=40 DIM_V=72)
heed_emulated_both(attention.c candidate_window TYPE=0 CAUSAL=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=40 DIM_V=72)
heed_emulated_both(attention.c candidate_f16 TYPE=1 CAUSAL=0 DIM_QK=64 DIM_V=64)
foreach(type f32 f16 window)
    heed_emulated_includes(candidate_${type} "${PROJECT_SOURCE_DIR}/src/cuda/kernels")
endforeach()
# NAME as above; NAME_negative for negative scales; and for tensors that cannot be mapped the simple
# kernel takes over.
function(heed_emulated_mapped name)
    heed_emulated_object(attn_wgmma.c ${name} ${ARGN} NEGATE=0)
    heed_emulated_object(attn_wgmma.c ${name}_negative ${ARGN} NEGATE=1)
    set(same ${ARGN})
    list(FILTER same INCLUDE REGEX "^(MASKED|HIDES_FIRST|CHUNKED|MODIFIES|HIDES|STARTS|LENGTHS|FOLLOWS|PACKED|PAGED|SINKS|DIM_)")
    if("BF16=1" IN_LIST ARGN)
        heed_emulated_object(attn_naive.c ${name}_unaligned TYPE=2 W=4 ${same})
    else()
        heed_emulated_object(attn_naive.c ${name}_unaligned TYPE=1 W=4 ${same})
    endif()
    heed_emulated_row("${table}" ${name} ${name}_unaligned ${name}_negative "${words}")
endfunction()
# For tensors that cannot be mapped, or are not aligned, the simple kernel takes over here too.
function(heed_emulated_pair source name)
    heed_emulated_object(${source} ${name} ${ARGN})
    set(same ${ARGN})
    list(FILTER same INCLUDE REGEX "^(MASKED|LENGTHS|FOLLOWS|PAGED|DIM_)")
    set(type 1)
    if("BF16=1" IN_LIST ARGN)
        set(type 2)
    elseif(source STREQUAL attn_wide32.c)
        set(type 0)
    endif()
    heed_emulated_object(attn_naive.c ${name}_unaligned TYPE=${type} W=4 ${same})
    heed_emulated_row("${table}" ${name} ${name}_unaligned "" "${words}")
endfunction()
heed_emulated_pair(attn_mla.c mla_d576_512 BF16=1 MASKED=0 DIM_QK=576 DIM_V=512)
heed_emulated_pair(attn_mla.c mla_d576_512_masked BF16=0 MASKED=1 DIM_QK=576 DIM_V=512)
heed_emulated_pair(attn_mla.c mla_d520_264 BF16=0 MASKED=1 DIM_QK=520 DIM_V=264)
heed_emulated_pair(attn_wide.c apart_d512 BF16=1 MASKED=1 DIM_QK=512 DIM_V=512 N=128)
heed_emulated_pair(attn_wide.c apart_d264_328 BF16=0 MASKED=0 DIM_QK=264 DIM_V=328 N=128)
heed_emulated_pair(attn_wide.c apart_d1024 BF16=0 MASKED=1 DIM_QK=1024 DIM_V=1024 N=128)
heed_emulated_pair(attn_wide.c whole_d1024 BF16=0 MASKED=0 DIM_QK=1024 DIM_V=1024 N=512)
heed_emulated_pair(attn_wide.c whole_d584_768 BF16=1 MASKED=1 DIM_QK=584 DIM_V=768 N=512)
heed_emulated_pair(attn_wide32.c single_d264_520 MASKED=1 DIM_QK=264 DIM_V=520 N=128 PRODUCTS=3)
heed_emulated_pair(attn_wide32.c single_d520_264 MASKED=1 DIM_QK=520 DIM_V=264 N=512 PRODUCTS=3)
heed_emulated_pair(attn_wide32.c single_d1024 MASKED=0 DIM_QK=1024 DIM_V=1024 N=256 PRODUCTS=3)
heed_emulated_mapped(wgmma_d64 BF16=0 MASKED=0 DIM_QK=64 DIM_V=64 R=1 K=1 N=64 S=2 O=1 T=1 C=1 G=1)
heed_emulated_mapped(wgmma_d64_turns BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=128 S=2 O=2 T=2 C=1 G=2)
heed_emulated_mapped(wgmma_d64_cut BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=4 K=1 N=64 S=3 O=2 T=2 C=2 G=2)
heed_emulated_mapped(wgmma_d64_cut_late BF16=1 MASKED=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=1)
heed_emulated_mapped(wgmma_d64_groups BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=1)
heed_emulated_mapped(wgmma_d64_groups_turns BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=2 K=2 N=64 S=4 O=3 T=2 C=1 G=1)
heed_emulated_mapped(wgmma_d64_40_groups BF16=1 MASKED=1 DIM_QK=64 DIM_V=40 R=1 K=3 N=64 S=6 O=2 T=1 C=1 G=1)
heed_emulated_mapped(wgmma_d128 BF16=1 MASKED=0 DIM_QK=128 DIM_V=128 R=2 K=1 N=128 S=2 O=2 T=1 C=1 G=1)
heed_emulated_mapped(wgmma_d128_late BF16=0 MASKED=1 DIM_QK=128 DIM_V=128 R=2 K=1 N=64 S=3 O=3 T=1 C=1 G=2)
heed_emulated_mapped(wgmma_d64_early BF16=0 MASKED=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=3 T=1 C=1 G=1)
heed_emulated_mapped(wgmma_d128_early BF16=1 MASKED=1 DIM_QK=128 DIM_V=128 R=2 K=1 N=80 S=2 O=2 T=3 C=2 G=2)
heed_emulated_mapped(wgmma_d64_two BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=3)
heed_emulated_mapped(wgmma_d64_pair BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_mapped(wgmma_d96_40_pair BF16=1 MASKED=0 DIM_QK=96 DIM_V=40 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_mapped(wgmma_d256 BF16=0 MASKED=0 DIM_QK=256 DIM_V=256 R=2 K=1 N=64 S=2 O=3 T=2 C=1 G=1)
heed_emulated_mapped(wgmma_d96 BF16=0 MASKED=1 DIM_QK=96 DIM_V=96 R=3 K=1 N=64 S=3 O=1 T=3 C=2 G=2)
heed_emulated_mapped(wgmma_d64_window BF16=0 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=2 T=2 C=2 G=2)
heed_emulated_mapped(wgmma_d64_window_groups BF16=1 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=3)
heed_emulated_mapped(wgmma_d128_window BF16=1 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=128 DIM_V=128 R=2 K=1 N=80 S=2 O=3 T=3 C=2 G=1)
heed_emulated_mapped(wgmma_d64_window_pair BF16=0 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_mapped(wgmma_d64_split BF16=0 MASKED=0 DIM_QK=64 DIM_V=64 R=1 K=4 N=64 S=8 O=1 T=1 C=1 G=1 P=1)
heed_emulated_mapped(wgmma_d128_split BF16=1 MASKED=1 DIM_QK=128 DIM_V=128 R=1 K=3 N=64 S=6 O=2 T=1 C=1 G=1 P=1)
heed_emulated_mapped(wgmma_d64_window_split BF16=0 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=64 R=2 K=2 N=64 S=4 O=3 T=1 C=1 G=1 P=1)
heed_emulated_mapped(wgmma_d192_40_split BF16=1 MASKED=1 DIM_QK=192 DIM_V=40 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=1 P=1)
heed_emulated_mapped(wgmma_d128_split_rows BF16=0 MASKED=1 DIM_QK=128 DIM_V=128 R=2 K=1 N=128 S=2 O=2 T=2 C=1 G=1 P=1)
heed_emulated_mapped(wgmma_d64_40_split_rows BF16=1 MASKED=1 HIDES_FIRST=1 CHUNKED=1 DIM_QK=64 DIM_V=40 R=2 K=1 N=64 S=3 O=1 T=1 C=1 G=1 P=1)
heed_emulated_mapped(wgmma_d192_128 BF16=1 MASKED=1 DIM_QK=192 DIM_V=128 R=2 K=1 N=96 S=2 O=1 T=1 C=1 G=1)
heed_emulated_mapped(wgmma_d256_masked BF16=1 MASKED=1 DIM_QK=256 DIM_V=256 R=2 K=1 N=64 S=2 O=2 T=2 C=1 G=1)
# Kernels for problems whose logits change, whose keys are hidden by steps, or that have sinks.
#
#   heed_emulated_changed(SOURCE NAME WORDS PARAMETERS...)   for problems with these words of a spec,
#                                                            as many kernels as above
#
# Their program.cuh is printed from a problem of any size. Every fourth is in the table for `make test`, the rest are in
# the other.
add_executable(print_program emulator/print_program.c)
heed_flags(print_program)
target_include_directories(print_program PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(print_program PRIVATE heed_static)
function(heed_emulated_changed source name words)
    get_property(number GLOBAL PROPERTY emulated_changes_number)
    math(EXPR place "0${number} % 4")
    math(EXPR number "0${number} + 1")
    set_property(GLOBAL PROPERTY emulated_changes_number ${number})
    set(table changes)
    if(NOT place EQUAL 0)
        set(table changes_others)
    endif()
    set(needs)
    foreach(need IN ITEMS "MASKED:causal|window|chunk|starts|shown|visible|lengths|varlen=[1-9][0-9]*$|varlen=[1-9][0-9]* |varlen=[0-9]+/[1-9]" "HIDES_FIRST:window|chunk|starts"
            "CHUNKED:chunk" "MODIFIES:softcap|bias|alibi|score" "HIDES:shown|visible" "STARTS:starts" "LENGTHS:lengths" "PAGED:paged"
            "PACKED_Q:varlen=[1-9]" "PACKED_K:varlen=[1-9][0-9]*$|varlen=[1-9][0-9]* |varlen=[0-9]+/[1-9]"
            "SINKS:sinks")
        string(REGEX MATCH "^([^:]+):(.*)$" all "${need}")
        set(macro ${CMAKE_MATCH_1})
        set(said ${CMAKE_MATCH_2})
        if(words MATCHES "${said}")
            list(APPEND needs ${macro}=1)
        elseif(macro STREQUAL MASKED)
            list(APPEND needs ${macro}=0)
        endif()
    endforeach()
    if(words MATCHES "=br" AND words MATCHES "lengths|varlen")
        list(APPEND needs FOLLOWS=1)
    endif()
    if(NOT source STREQUAL attn_naive.c AND words MATCHES visible)
        list(APPEND needs LISTS=1)
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/programs/${name}")
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${folder}/program.cuh" COMMAND print_program "${folder}/program.cuh"
        "b2 h6/2 s384 d64 f32 ${words}" DEPENDS print_program VERBATIM)
    if(source STREQUAL attn_wgmma.c)
        set(pairs PAIRS=1)
        if("PAIRS=2" IN_LIST ARGN)
            set(pairs)
        endif()
        heed_emulated_mapped(${name} ${needs} ${ARGN} ${pairs})
        set(made ${name} ${name}_negative ${name}_unaligned)
    elseif(source STREQUAL attn_mla.c)
        heed_emulated_pair(attn_mla.c ${name} ${needs} ${ARGN} PAIRS=1)
        set(made ${name} ${name}_unaligned)
    elseif(source STREQUAL attn_mma.c AND ARGN MATCHES "V=[248]")
        heed_emulated_wide(${name} ${needs} ${ARGN} PAIRS=1)
        set(made ${name} ${name}_unaligned)
    elseif(source STREQUAL attn_mma.c)
        heed_emulated_object(${source} ${name} ${needs} ${ARGN} UNALIGNED=0 PAIRS=1)
        heed_emulated_object(${source} ${name}_unaligned ${needs} ${ARGN} UNALIGNED=1)
        heed_emulated_row(${table} ${name} ${name}_unaligned "" "${words}")
        set(made ${name} ${name}_unaligned)
    else()
        heed_emulated_both(${source} ${name} ${needs} ${ARGN})
        set(made ${name})
    endif()
    foreach(kernel IN LISTS made)
        heed_emulated_includes(${kernel} "${folder}")
        set_property(SOURCE "${CMAKE_CURRENT_BINARY_DIR}/emulated/${kernel}.c" APPEND PROPERTY OBJECT_DEPENDS
            "${folder}/program.cuh")
    endforeach()
endfunction()
heed_emulated_changed(attn_wgmma.c changed_wgmma_documents "causal array=slope:f32:6 array=doc:i32:2x600 visible=doc[batch,q]==doc[batch,k]&&k//130==q//130 shown=bits:bq"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_naive.c changed_naive_all "causal softcap=2 bias=f32:bhq alibi=bh sinks=bh starts=bq shown=bytes:hq"
    TYPE=0 DIM_QK=40 DIM_V=72 W=4)
heed_emulated_changed(attn_naive.c changed_naive_words "window=40:9 array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) visible=doc[batch,q]==doc[batch,k] shown=bits:b"
    TYPE=2 DIM_QK=32 DIM_V=33 W=2)
heed_emulated_changed(attn_mma.c changed_mma_bias "causal bias=f16:bhq alibi sinks"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=2 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_softcap "window=30:5 softcap=1.5 sinks=bh shown=bits:bq"
    BF16=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_open "alibi=bh bias=bf16"
    BF16=1 DIM_QK=96 DIM_V=40 M=32 N=32 W=2 K=1 S=3 Q=2 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_starts "causal starts shown=bytes:h bias=f32:q"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_words "array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) visible=doc[batch,q]==doc[batch,k]&&k<=q+9"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=48 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_listed "starts array=slope:f32:6 array=doc:i32:2x600 visible=doc[1,q]==doc[1,k]&&k//130==q//130"
    BF16=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_naive.c changed_naive_lengths "lengths bias=f32:q"
    TYPE=1 DIM_QK=32 DIM_V=40 W=2)
heed_emulated_changed(attn_mma.c changed_mma_lengths "causal=br lengths sinks alibi"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_lengths "causal=br lengths"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_mma.c changed_mma_lengths_window "window=40:9 align=br lengths"
    BF16=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_lengths_pair "lengths visible=k%50!=7"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_changed(attn_wgmma.c changed_wgmma_lengths_chunk "chunk=70 align=br lengths starts sinks"
    BF16=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=3)
heed_emulated_changed(attn_naive.c changed_naive_paged "paged=1 lengths"
    TYPE=0 DIM_QK=40 DIM_V=72 W=4)
heed_emulated_changed(attn_mma.c changed_mma_paged "causal=br paged=2 lengths"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_paged_open "paged=1 alibi=bh softcap=2"
    BF16=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=1 S=3 Q=2 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_paged "causal=br paged=8 lengths"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_paged_groups "paged=16 lengths sinks"
    BF16=0 DIM_QK=128 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=3)
heed_emulated_changed(attn_wgmma.c changed_wgmma_paged_pair "paged=128 alibi=bh"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_changed(attn_wgmma.c changed_wgmma_paged_open "paged=64"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=2 T=2 C=1 G=1)
heed_emulated_changed(attn_mma.c changed_mma_paged_listed "paged=2 lengths visible=k%50!=7"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=48 W=4 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_paged_listed "causal=br paged=8 visible=k%50!=7"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_naive.c changed_naive_packed "causal=br varlen=60/90 alibi"
    TYPE=0 DIM_QK=40 DIM_V=72 W=4)
heed_emulated_changed(attn_mma.c changed_mma_packed "causal=br varlen=60/90"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_packed_paged "causal=br varlen=60/0 paged=2 lengths sinks"
    BF16=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_packed_listed "varlen=60/90 bias=f16:bhq visible=k%50!=7"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=48 W=4 K=2 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_spread "causal=br lengths sinks"
    SPREAD=1 BF16=0 DIM_QK=64 DIM_V=64 M=64 N=16 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_spread_paged "varlen=60/0 paged=2 lengths"
    SPREAD=1 BF16=1 DIM_QK=40 DIM_V=80 M=32 N=16 W=1 K=4 S=2 Q=1 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_mma_spread_window "window=40:9 align=br varlen=60/90"
    SPREAD=1 BF16=0 DIM_QK=64 DIM_V=64 M=32 N=16 W=2 K=1 S=3 Q=2 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_split "causal=br lengths sinks softcap=5"
    BF16=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=1 P=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_split_paged "window=40:9 align=br paged=16 lengths sinks"
    BF16=0 DIM_QK=128 DIM_V=64 R=1 K=3 N=64 S=6 O=1 T=1 C=1 G=1 P=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_split_shown "shown=bits:bhq bias=f32:bhq"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=4 N=64 S=4 O=1 T=1 C=1 G=1 P=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_split_packed "causal=br varlen=60/90 sinks"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=1 P=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_split_rows "causal=br varlen=60/90 sinks softcap=5"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=2 C=1 G=1 P=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_split_hidden "shown=bytes:bhq window=40:9 align=br sinks"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=1 G=1 P=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_packed "causal=br varlen=60/90"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_packed_groups "varlen=60/90 sinks lengths"
    BF16=0 DIM_QK=128 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=3)
heed_emulated_changed(attn_wgmma.c changed_wgmma_packed_pair "window=40:9 align=br varlen=60/90"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_changed(attn_wgmma.c changed_wgmma_packed_open "varlen=60/0"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=2 T=2 C=1 G=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_packed_paged "causal=br varlen=60/0 paged=8 lengths"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=1 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_packed_listed "causal=tl varlen=60 bias=f32:q visible=k%50!=7"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_mma.c changed_mma_half "causal softcap=2 sinks"
    BF16=0 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=2 O=1 B=1 ACC16=1)
heed_emulated_changed(attn_mma.c changed_wide_bias "causal bias=f16:bhq alibi sinks"
    BF16=0 DIM_QK=72 DIM_V=72 M=32 N=64 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=2)
heed_emulated_changed(attn_mma.c changed_wide_bits "window=30:5 softcap=1.5 sinks=bh shown=bits:bq"
    BF16=1 DIM_QK=40 DIM_V=80 M=64 N=64 W=8 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_changed(attn_mma.c changed_wide_lengths "causal=br lengths"
    BF16=0 DIM_QK=64 DIM_V=64 M=16 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_changed(attn_mma.c changed_wide_shared "causal=br lengths paged=2 shared"
    BF16=0 DIM_QK=72 DIM_V=64 M=16 N=32 W=2 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=2 SHARED_V=1)
heed_emulated_changed(attn_mma.c changed_single_bias "causal bias=f16:bhq alibi sinks"
    BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=2 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_softcap "window=30:5 softcap=1.5 sinks=bh shown=bits:bq"
    BF16=0 PRODUCTS=3 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_cap "softcap=9"
    BF16=0 PRODUCTS=3 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_capped "softcap=0.1"
    BF16=0 PRODUCTS=3 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_words "array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) visible=doc[batch,q]==doc[batch,k]&&k<=q+9"
    BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=64 N=48 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_lengths "causal=br lengths sinks alibi"
    BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_paged "causal=br paged=2 lengths"
    BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=64 N=32 W=4 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_packed "causal=br varlen=60/90"
    BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=64 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_spread "causal=br lengths sinks"
    SPREAD=1 BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=64 N=16 W=2 K=2 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_rounded "causal softcap=2 sinks"
    BF16=0 PRODUCTS=1 DIM_QK=40 DIM_V=80 M=64 N=48 W=4 K=1 S=2 Q=2 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_halves "causal alibi=bh"
    BF16=0 PRODUCTS=2 DIM_QK=40 DIM_V=80 M=32 N=16 W=2 K=2 S=2 Q=2 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_halves_bias "bias=f32:hq"
    BF16=0 PRODUCTS=2 DIM_QK=64 DIM_V=64 M=64 N=64 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0)
heed_emulated_changed(attn_mma.c changed_single_wide "causal=br lengths"
    BF16=0 PRODUCTS=3 DIM_QK=64 DIM_V=64 M=16 N=32 W=4 K=1 S=2 Q=1 O=1 B=1 ACC16=0 V=4)
heed_emulated_changed(attn_mla.c changed_mla_lengths "causal=br lengths shared"
    BF16=0 DIM_QK=576 DIM_V=512)
heed_emulated_changed(attn_mla.c changed_mla_paged "lengths paged=16 shared"
    BF16=1 DIM_QK=576 DIM_V=512)
heed_emulated_changed(attn_mla.c changed_mla_pages "causal=br paged=128 shared"
    BF16=0 DIM_QK=576 DIM_V=512)
heed_emulated_changed(attn_mma.c changed_wide_paged "lengths paged=2 visible=k%50!=7"
    BF16=1 DIM_QK=64 DIM_V=136 M=32 N=32 W=4 K=1 S=3 Q=1 O=1 B=1 ACC16=0 V=2)
heed_emulated_changed(attn_mma.c changed_mma_sinks "sinks=bh"
    BF16=0 DIM_QK=32 DIM_V=32 M=64 N=64 W=2 K=1 S=4 Q=2 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_bias "causal bias=bf16:hq alibi"
    BF16=1 DIM_QK=128 DIM_V=128 R=2 K=1 N=128 S=2 O=2 T=2 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles "causal bias=bf16:hq alibi"
    BF16=1 DIM_QK=128 DIM_V=128 R=2 K=1 N=64 S=2 O=2 T=2 C=2 G=2 B=3)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles_cap "bias=f16:bhq softcap=2 sinks=bh"
    BF16=0 DIM_QK=64 DIM_V=64 R=3 K=1 N=64 S=2 O=3 T=2 C=1 G=2 B=7)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles_bits "bias=f16:hq shown=bits:bhq"
    BF16=1 DIM_QK=64 DIM_V=40 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=3 B=3)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles_pair "causal=br bias=bf16:bq lengths"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4 B=5)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles_split "window=40:9 align=br bias=f16:hq sinks"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=128 S=2 O=3 T=3 C=1 G=1 P=1 B=3)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles_paged "causal=br paged=8 lengths bias=bf16:bhq"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2 B=7)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiles_listed "bias=f16:q visible=k%50!=7"
    BF16=0 DIM_QK=96 DIM_V=96 R=2 K=2 N=64 S=2 O=3 T=2 C=1 G=1 B=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_rows "causal shown=bytes:bhq sinks"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=2 C=2 G=2 PAIRS=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_shown "shown=bytes:bhq sinks"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_pair "causal shown=bits:q softcap=2 sinks=bh"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_changed(attn_wgmma.c changed_wgmma_starts "causal starts sinks bias=f32:bhq"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_words "chunk=70 array=slope:f32:6 array=doc:i32:2x600 score=s-slope[head]*float(abs(q-k)) visible=doc[batch,q]==doc[batch,k]"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=80 S=2 O=2 T=3 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_listed "starts visible=head%2==0||k//50%3==q//50%3"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=2 O=1 T=1 C=1 G=4)
heed_emulated_changed(attn_wgmma.c changed_wgmma_open "alibi=bh bias=f16"
    BF16=0 DIM_QK=64 DIM_V=64 R=1 K=2 N=64 S=4 O=1 T=1 C=1 G=3)
heed_emulated_changed(attn_wgmma.c changed_wgmma_two "starts=q shown=bits:hq"
    BF16=0 DIM_QK=64 DIM_V=40 R=2 K=1 N=96 S=2 O=3 T=2 C=1 G=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_wide "shown=bytes:hq alibi=bh softcap=30"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=128 S=2 O=1 T=2 C=1 G=2 PAIRS=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_bytes "causal shown=bytes:q alibi"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=2 O=3 T=2 C=2 G=2 PAIRS=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_bits "shown=bits:bhq score=20*tanh((s+float(k%(q%3)))/20)-0.1*float(p-k)/2"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=128 S=2 O=2 T=2 C=1 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_cap "causal softcap=7"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=1 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_slopes "causal alibi=bh"
    BF16=0 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=4 O=2 T=2 C=2 G=2)
heed_emulated_changed(attn_mma.c changed_mma_late "alibi=bh softcap=7"
    BF16=0 DIM_QK=32 DIM_V=32 M=64 N=64 W=2 K=1 S=4 Q=2 O=2 B=1 ACC16=0)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiny "causal softcap=50"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=3 C=1 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_cap_mixed "causal softcap=5 alibi=bh bias=bf16:bhq sinks"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=3 T=2 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_cap_open "softcap=0.3"
    BF16=0 DIM_QK=128 DIM_V=64 R=3 K=1 N=64 S=2 O=3 T=2 C=1 G=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_tiny_ahead "causal softcap=50"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=2 O=2 T=2 C=1 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_cap_ahead "causal softcap=13 alibi=bh bias=bf16:bhq sinks"
    BF16=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=2 T=3 C=2 G=2)
heed_emulated_changed(attn_wgmma.c changed_wgmma_cap_ahead_open "softcap=0.3"
    BF16=0 DIM_QK=128 DIM_V=64 R=2 K=1 N=64 S=2 O=2 T=2 C=1 G=1)
heed_emulated_changed(attn_wgmma.c changed_wgmma_widest "causal softcap=20 alibi=h shown=bits:hq"
    BF16=1 DIM_QK=256 DIM_V=256 R=2 K=1 N=64 S=2 O=2 T=2 C=1 G=1)
# Degraded builds (ablation.h), by the number of the ablation. Tensors that they do not take use the kernels of BASE.
# The emulator's clock advances with each read, so delays of blocks add up there.
function(heed_emulated_worse source name base number)
    heed_emulated_object(${source} ${name} ${ARGN} ABLATE=${number} DELAY=64)
    if(source STREQUAL attn_naive.c)
        heed_emulated_row(ablated ${name} ${name} "" "")
    elseif(source STREQUAL attn_wgmma.c)
        heed_emulated_row(ablated ${name} ${base}_unaligned ${base}_negative "")
    else()
        heed_emulated_row(ablated ${name} ${base}_unaligned "" "")
    endif()
endfunction()
set(numbers wrong_no_exp wrong_no_products divergent extra_barrier strided unswizzled no_staging no_overlap none masked
    delay wrong_no_loads)
function(heed_emulated_worse_each source prefix base ablations)
    foreach(ablation IN LISTS ablations)
        list(FIND numbers ${ablation} index)
        math(EXPR number "${index} + 1")
        heed_emulated_worse(${source} ${prefix}_${ablation} ${base} ${number} ${ARGN})
    endforeach()
endfunction()
set(wrong wrong_no_exp wrong_no_products wrong_no_loads)
set(any ${wrong} divergent extra_barrier strided delay)
heed_emulated_worse_each(attn_naive.c naive none "${any}" TYPE=1 MASKED=1 DIM_QK=64 DIM_V=64 W=4)
heed_emulated_worse_each(attn_mma.c mma mma_d64 "${any};unswizzled;no_overlap;masked;no_staging"
    BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 M=64 N=32 W=2 K=2 S=3 Q=1 O=1 B=1 ACC16=0 UNALIGNED=0)
heed_emulated_worse_each(attn_wgmma.c wgmma wgmma_d64_turns "${any};unswizzled;no_overlap;masked"
    BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=2 K=1 N=64 S=3 O=2 T=2 C=2 G=2 NEGATE=0)
heed_emulated_worse_each(attn_mla.c mla mla_d576_512_masked "${wrong};divergent;extra_barrier;masked;delay"
    BF16=0 MASKED=1 DIM_QK=576 DIM_V=512)
heed_emulated_worse_each(attn_wide.c apart apart_d512 "${wrong};extra_barrier" BF16=1 MASKED=1 DIM_QK=512 DIM_V=512 N=128)
heed_emulated_worse_each(attn_wide32.c single single_d264_520 "${wrong};unswizzled;no_overlap"
    MASKED=1 DIM_QK=264 DIM_V=520 N=128 PRODUCTS=3)
# Head dims, orders and groups other than those.
heed_emulated_worse(attn_mma.c mma_no_staging_ahead mma_d40_80 7 BF16=0 MASKED=1 DIM_QK=40 DIM_V=80 M=32 N=32 W=2 K=1
    S=2 Q=2 O=2 B=1 ACC16=0 UNALIGNED=0)
heed_emulated_worse(attn_wgmma.c wgmma_strided_wide wgmma_d192_128 5 BF16=1 MASKED=1 DIM_QK=192 DIM_V=128 R=1 K=2 N=80
    S=4 O=2 T=1 C=1 G=1 NEGATE=0)
heed_emulated_worse(attn_wgmma.c wgmma_unswizzled_wide wgmma_d192_128 6 BF16=1 MASKED=1 DIM_QK=192 DIM_V=128 R=1 K=2
    N=80 S=4 O=2 T=1 C=1 G=1 NEGATE=0)
heed_emulated_worse(attn_wgmma.c wgmma_no_overlap_pair wgmma_d64_pair 8 BF16=0 MASKED=1 DIM_QK=64 DIM_V=64 R=1 K=2 N=64
    S=2 O=1 T=1 C=1 G=4 NEGATE=0)
# The CUDA kernels of the suite of `heed selftest`, by the number of the mistake.
foreach(mistake RANGE 23)
    heed_emulated_object(attend.c attend_${mistake} CAUSAL=1 DIM_QK=8 DIM_V=16 W=4 MISTAKE=${mistake})
    heed_emulated_includes(attend_${mistake} "${PROJECT_SOURCE_DIR}/src/cuda/kernels")
endforeach()
foreach(name IN LISTS sampled)
    get_target_property(sources emulated_kernels SOURCES)
    if(NOT sources MATCHES "/emulated/${name}\\.c")
        message(FATAL_ERROR "sampled: no kernel is called ${name}")
    endif()
endforeach()
# The tables, and the libraries that have them. A degraded build of the others may use a kernel of `make test`.
foreach(others "" _others)
    foreach(table configs=emulated_configs ablated=emulated_ablated changes=emulated_changed)
        string(REPLACE "=" ";" pair ${table})
        list(GET pair 0 table)
        list(GET pair 1 array)
        heed_emulated_table(${table}${others} ${array} ${table})
    endforeach()
    set(apart)
    if(others)
        set(apart EXCLUDE_FROM_ALL)
    endif()
    add_library(heed_emulated${others} STATIC ${apart} "${configs}" "${ablated}" $<TARGET_OBJECTS:emulated_kernels${others}>)
    add_library(heed_emulated_changes${others} STATIC ${apart} "${changes}" $<TARGET_OBJECTS:emulated_changes${others}>)
    foreach(target heed_emulated${others} heed_emulated_changes${others})
        heed_flags(${target})
        target_link_libraries(${target} PRIVATE heed_emulator)
    endforeach()
endforeach()
target_link_libraries(heed_emulated_others PRIVATE heed_emulated)
