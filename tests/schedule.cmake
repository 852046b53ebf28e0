# Order and concurrency of tests: `make test` runs two more at a time than there are CPUs.
#
# The longest come first, by these seconds on a machine with two CPUs, until ctest has its own times. A test that keeps
# two CPUs busy counts as two, and one that checks speed or deadlines runs alone. The kernels' threads are not counted:
# most of the time is spent in verification, which computes on one thread.
set(seconds
    laboratory 312
    test_evolve_long 280
    test_rerun_long 245
    test_configs 200
    test_emulated_kernels 200
    dist_build 200
    test_emulated_changes_others 190
    verify_cpus 131
    verify_features 120
    verify_grid 110
    verify_edge_rest 110
    verify_edge 100
    test_gate_rebuild_long 82
    selftest 75
    python_wheel 66
    verify_configs 64
    build_emulated_others 90
    verify_seed 62
    test_emulated_changes 60
    verify_grid_rest 60
    test_evolve 48
    suite_kernelbench 47
    verify_features_rest 45
    valgrind_test_cuda_device 42
    test_own_long 41
    test_emulated_changes_rest 40
    test_evidence 37
    test_tune_long 36
    test_gate 33
    test_board_forged 31
    peers_cuda 31
    make_run 30
    test_modified_logits 28
    test_record_damage 27
    test_verify_emulated_random 60
    test_emulated_kernels_sample 26
    external_flash_attention_long 26
    test_emulated_ablated 25
    test_insight_long 24
    test_emulated_ablated_sample 23
    python_fuzz_rest 23
    test_emulated_changes_sample 21
    test_roofline_verb 21
    test_verify_emulated 20
    test_sweep 21
    test_configs_sample 20
    test_emulated_far_sample 20
    test_gates_cuda 19
    test_gates 19
    test_gates_long 19
    test_bench 18
    predicted_table 17
    test_gate_rebuild 17
    verify_features_sample 16
    test_bench_process_cheats 16
    test_tune 14
    test_own 14
    verify_seed_sample 14
    test_emulated_long 14
    test_bench_process_hard 14
    test_bench_rivals 14
    test_plan 14
    test_ablate 13
    test_cli 13
    test_gate_long 12
    verify_configs_sample 12
    verify_edge_sample 12
    test_measure_compare 12
    verify_grid_sample 12
    test_bench_device_long 12
    test_insight 11
    test_suite 11
    test_search_trials_long 11
    suite_robust_kbench 10
    test_emulated_far 9
    make_run_sample 9
    test_trial 9
    test_record_kill 8
    test_measure_noise 8
    test_peer 7
    test_measure_real 17
    test_profile_program 6
    python_fuzz 5
    valgrind_test_smoke 5
    test_rerun 4
    python_lab 4
    test_bench_device 3
    numpy 3
    valgrind_test_cuda_plan_failure 2
    verify_cpus_sample 2)
set(two_cpus dist_build laboratory make_run selftest test_configs test_configs_sample test_emulated_ablated
    test_emulated_ablated_sample test_emulated_kernels test_emulated_kernels_sample)
set(alone test_gate_long test_gate_rebuild_long test_measure_real test_tune_long)

while(seconds)
    list(POP_FRONT seconds name cost)
    if(TEST ${name})
        set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
endwhile()
foreach(name ${two_cpus})
    if(TEST ${name})
        set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
endforeach()
foreach(name ${alone})
    if(TEST ${name})
        set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
endforeach()
