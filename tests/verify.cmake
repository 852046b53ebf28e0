# The gates of verification, tested on kernels that are known to be wrong or right.
if(TARGET heed_cli)
    set(selftest_board "${CMAKE_CURRENT_BINARY_DIR}/selftest.db")
    add_test(NAME selftest COMMAND heed_cli selftest --jobs 2 --record --board "${selftest_board}")
    set_tests_properties(selftest PROPERTIES LABELS verify TIMEOUT 900)
endif()

# Every kernel through the gates of lab/verify. A sanitized build, which is several times slower, tries fewer kinds of
# values and leaves out the wide grid.
if(TARGET heed_cli)
    set(heed_shapes "${PROJECT_SOURCE_DIR}/shapes")
    function(heed_verify name)
        add_test(NAME verify_${name} COMMAND heed_cli verify ${ARGN})
        set_tests_properties(verify_${name} PROPERTIES LABELS verify TIMEOUT 1500)
    endfunction()
    heed_verify(far --once --inputs normal --inputs masked --shapes "${heed_shapes}/far.txt")
    heed_verify(captured --once --tensors "${CMAKE_CURRENT_SOURCE_DIR}/data/minilm.safetensors"
        --prefix layer0.)
    # Logits that are NaN or infinite: equal bits are equal, also of NaN.
    heed_verify(strict --strict --gate batch --once "b2 h2 s40 d32 f32 score=log(s)" "b2 h2 s40 d32 f32 score=s*1e38"
        "b2 h4/2 s70 d64 bf16 causal invariant")
    # A batch element alone has NaN where the same element in its batch has none.
    heed_verify(alone --source "${CMAKE_CURRENT_SOURCE_DIR}/data/trial/nan_alone.c" --gate batch "b2 h2 s40 d32 f32")
    set_tests_properties(verify_alone PROPERTIES PASS_REGULAR_EXPRESSION "batch: difference nan")
    # The problems of a list that a fixed seed selects: FIRST to LAST of each ONE_IN. The test is verify_NAME.
    function(heed_verify_part name first last one_in list)
        set(shapes "${heed_shapes}/${list}.txt")
        set(part "${CMAKE_CURRENT_BINARY_DIR}/verify_${name}.txt")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${shapes}")
        file(STRINGS "${shapes}" specs REGEX "^[^#]")
        set(drawn)
        foreach(spec ${specs})
            string(MD5 hash "18 ${spec}")
            string(SUBSTRING ${hash} 0 8 hash)
            math(EXPR place "0x${hash} % ${one_in}")
            if(place GREATER_EQUAL first AND place LESS_EQUAL last)
                string(APPEND drawn "${spec}\n")
            endif()
        endforeach()
        file(CONFIGURE OUTPUT "${part}" CONTENT "${drawn}" @ONLY)
        heed_verify(${name} ${ARGN} --shapes "${part}")
    endfunction()
    # A list, and one problem in ONE_IN of it: the test verify_NAME_sample.
    function(heed_verify_list name one_in list)
        heed_verify(${name} ${ARGN} --shapes "${heed_shapes}/${list}.txt")
        heed_verify_part(${name}_sample 0 0 ${one_in} ${list} ${ARGN})
    endfunction()
    # The same, and REST others of each ONE_IN: the test verify_NAME_rest (thorough.cmake).
    function(heed_verify_long_list name rest one_in list)
        heed_verify_list(${name} ${one_in} ${list} ${ARGN})
        heed_verify_part(${name}_rest 1 ${rest} ${one_in} ${list} ${ARGN})
    endfunction()
    if(HEED_SANITIZE OR HEED_COVERAGE)
        heed_verify(edge --once --quick --time-limit 0.02 --shapes "${heed_shapes}/edge.txt")
        heed_verify(features --once --quick --time-limit 0.02 --shapes "${heed_shapes}/features.txt")
    else()
        heed_verify_list(seed 5 seed --once --quick --time-limit 0.5)
        heed_verify_long_list(edge 6 24 edge --once --time-limit 0.5)
        heed_verify_long_list(features 2 12 features --once --time-limit 0.5)
        heed_verify_long_list(grid 3 16 grid --once --quick --time-limit 0.2)
        heed_verify_list(cpus 24 edge --inputs normal --quick --time-limit 0.1)
        set(configs --configs all --once --quick --threads 5)
        heed_verify(configs ${configs} "b1 h2/1 s150/300 d40 bf16 causal=br" "b1 h4/1 s1/3000 d64 f16"
            "b2 h2 s131 d33 f32" "b1 h1 s700/513 d80 bf16")
        heed_verify(configs_sample ${configs} "b1 h2/1 s19/67 d40 bf16 causal=br" "b1 h4/1 s1/300 d64 f16"
            "b1 h1 s41 d33 f32")
    endif()
endif()
