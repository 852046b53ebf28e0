# Order and concurrency of tests: `make test` runs one more at a time than there are CPUs.
#
# The longest come first, by these seconds on a machine with two CPUs, until ctest has its own times. A test that keeps
# two CPUs busy counts as two, and one that checks speed or deadlines runs alone. The kernels' threads are not counted:
# most of the time is spent in verification, which computes on one thread.
set(seconds
    test_configs 200
    test_emulated_kernels 200
    test_emulated_changes_others 190
    test_emulated_changes 60
    verify_features 120
    verify_grid 110
    verify_edge 100
    test_rerun_long 90
    test_evolve_long 80
    laboratory 60
    test_gate_rebuild_long 50
    dist_build 40
    test_emulated_changes_rest 35
    verify_features_rest 27
    verify_edge_rest 25
    verify_grid_rest 20
    python_fuzz_rest 20
    python_wheel 36
    test_emulated_changes_sample 34
    test_evolve 33
    make_run 30
    verify_cpus 28
    test_gate_rebuild 28
    test_gate 27
    verify_features_sample 27
    test_emulated_ablated 25
    verify_configs 24
    test_tune 24
    test_evidence 21
    test_board_forged 21
    verify_seed 20
    selftest 20
    predicted_table 20
    valgrind_test_cuda_device 18
    verify_configs_sample 18
    test_tune_long 16
    test_rerun 16
    test_gates_cuda 16
    test_emulated_kernels_sample 15
    test_gate_long 14
    test_own_long 14
    test_insight_long 14
    test_roofline_verb 14
    test_insight 10
    test_measure_real_long 10
    test_record_damage 10
    test_own 9
    test_emulated_far 9
    test_modified_logits 9
    test_configs_sample 8
    make_run_sample 8
    verify_edge_sample 8
    test_bench 8
    test_measure_compare 8
    python_fuzz 8
    python_lab 8
    test_bench_device 7
    test_peer 7
    test_record_kill 7
    test_trial 7
    test_gates_long 7
    valgrind_test_smoke 7
    valgrind_test_cuda_plan_failure 7
    verify_grid_sample 6
    test_measure_real 6
    test_gates 6
    test_profile_program 6
    test_sweep 6
    verify_seed_sample 6
    peers_cuda 6
    test_measure_noise 5
    test_emulated_ablated_sample 5
    verify_cpus_sample 5
    test_ablate 5
    numpy 5)
set(two_cpus dist_build laboratory make_run selftest test_configs test_configs_sample test_emulated_ablated
    test_emulated_ablated_sample test_emulated_kernels test_emulated_kernels_sample)
set(alone test_gate_long test_gate_rebuild_long test_measure_real test_measure_real_long test_tune_long)

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
