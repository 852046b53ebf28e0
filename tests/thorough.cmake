# Tests that `make test` leaves to `make test-all`: those that are long, and whose subject a shorter test covers as
# well. They have the label "thorough".
#
#   heed_thorough(NAMES...)           these tests
#   heed_sampled(NAME PROGRAM WORD)   the test NAME, and NAME_sample, for which PROGRAM is called with WORD and
#                                     tries a fixed part
#   heed_long(NAME TESTS...)          these tests of the program NAME, which become the test NAME_long
#   heed_exhaustive(NAMES...)         these of the thorough tests take too long for continuous integration (label
#                                     "exhaustive"), which runs NAME_rest instead, if there is one: a part other than
#                                     that of NAME_sample
function(heed_thorough)
    foreach(name ${ARGN})
        if(TEST ${name})
            set_property(TEST ${name} APPEND PROPERTY LABELS thorough)
        endif()
    endforeach()
endfunction()

function(heed_sampled name program argument)
    heed_run_test(${name}_sample ${program} ${argument})
    heed_thorough(${name})
endfunction()

function(heed_long name)
    if(NOT TEST ${name})
        return()
    endif()
    list(JOIN ARGN " " tests)
    heed_run_test(${name}_long ${name})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "HEED_TEST_SKIP=${tests}")
    set_property(TEST ${name}_long APPEND PROPERTY ENVIRONMENT "HEED_TEST_ONLY=${tests}")
    get_test_property(${name} SKIP_RETURN_CODE code)
    if(code)
        set_tests_properties(${name}_long PROPERTIES SKIP_RETURN_CODE ${code})
    endif()
    heed_thorough(${name}_long)
endfunction()

function(heed_exhaustive)
    foreach(name ${ARGN})
        if(TEST ${name})
            set_property(TEST ${name} APPEND PROPERTY LABELS exhaustive)
        endif()
    endforeach()
endfunction()

# They have samples, like make_run and verify_*, or other tests of the same subject: dist_configure, test_cuda_device
# itself, those of each verb, test_report for report_in_browser, test_gates and test_selftest for selftest, which tries
# all mutants, test_suite for suite_judge, test_verify_emulated for test_verify_emulated_random, performance_table and
# test_costs for predicted_table, and test_bench and test_measure_noise for test_measure_real.
heed_thorough(dist dist_build external_flash_attention_long laboratory make_run predicted_table python_fuzz_long
    python_fuzz_rest report_in_browser report_in_browser_served selftest suite_judge test_measure_real
    test_verify_emulated_random valgrind_test_cuda_device verify_configs verify_cpus verify_edge verify_edge_rest
    verify_features verify_features_rest verify_grid verify_grid_rest verify_seed)
heed_sampled(test_configs test_configs sample)
heed_sampled(test_emulated_ablated test_emulated_kernels ablated-sample)
heed_sampled(test_emulated_changes test_emulated_changes sample)
heed_sampled(test_emulated_far test_emulated_far sample)
heed_sampled(test_emulated_kernels test_emulated_kernels sample)
heed_sampled(test_emulated_long test_emulated_long sample)
heed_sampled(test_record_damage test_record_damage sample)
# The kernels that are not built for `make test`.
heed_run_test(test_emulated_ablated_rest test_emulated_kernels_others ablated-sample)
foreach(name changes far kernels)
    heed_run_test(test_emulated_${name}_rest test_emulated_${name}_others sample)
endforeach()
set(others test_emulated_changes_others test_emulated_far_others test_emulated_kernels_others test_emulated_long_others)
set(rest test_emulated_ablated_rest test_emulated_changes_rest test_emulated_far_rest test_emulated_kernels_rest)
add_test(NAME build_emulated_others COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --parallel 2
    --target ${others})
set_tests_properties(build_emulated_others PROPERTIES FIXTURES_SETUP emulated_others PROCESSORS 2)
set_tests_properties(test_emulated_ablated_others ${others} ${rest} PROPERTIES FIXTURES_REQUIRED emulated_others)
heed_thorough(build_emulated_others test_emulated_ablated_others ${others} ${rest})
# Every config of every CUDA kernel compiled, every kernel emulated on every shape, every problem of the long lists, and
# `make run` with every mutant, which selftest tries too. They are needed for a change of a kernel; continuous
# integration has 40 minutes.
heed_exhaustive(make_run python_fuzz_long test_configs test_emulated_ablated test_emulated_ablated_others
    test_emulated_changes test_emulated_changes_others test_emulated_far test_emulated_far_others test_emulated_kernels
    test_emulated_kernels_others verify_edge verify_features verify_grid)
heed_long(test_bench stops_at_an_interrupt)
heed_long(test_bench_device calibrates_by_replays times_by_replays)
heed_long(test_evolve test_bad_cuda_sources test_interruptions test_killed_sources test_long_interruptions test_regions
    test_shy_champion test_leads)
heed_long(test_gate test_criteria test_little_time test_source test_unsafe)
heed_long(test_gate_rebuild regressions_are_found far_slower_in_no_time far_slower_than_a_small_library device_code_of_other_problems)
heed_long(test_gates test_no_gate_is_idle test_controls_are_accepted_in_a_mirror test_mutants_are_killed_in_a_mirror)
heed_long(test_inspect_code test_each_is_found_when_compiled test_shipped_kernels_have_no_fault)
heed_long(test_rerun a_slow_one_is_beaten evolution_meets_it leader_that_will_not_run_loses)
# They run `heed evolve`, which relies on such a selftest, and copy the board instead of repeating it.
foreach(name laboratory test_evolve_long test_rerun_long)
    if(TEST ${name})
        set_tests_properties(selftest PROPERTIES FIXTURES_SETUP selftest)
        set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED selftest)
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "HEED_TEST_SELFTEST=${selftest_board}")
    endif()
endforeach()
heed_long(test_insight test_less test_measured test_resumed test_tune)
heed_long(test_measure_noise detectable_difference planted_gain)
heed_long(test_modified_logits test_hidden_keys_never_count)
heed_long(test_own test_duels test_hang)
heed_long(test_roofline_verb test_measured)
heed_long(test_search_trials test_recorded test_rugged)
heed_long(test_tune test_budget test_improvement test_interrupt test_none test_killed)
