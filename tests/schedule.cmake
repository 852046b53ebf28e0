# Which tests begin, and which run beside which: `make test` runs one more at a time than there are CPUs.
#
# The longest come first, by these seconds of a machine of two CPUs, until ctest has times of its own. A test that
# keeps two CPUs busy counts for two, and one that judges how fast something is, or what is done in time, has the
# machine to itself. The kernels' threads are not counted: verification computes on one thread for longer than they do.
set(seconds
    test_configs 200
    test_emulated_kernels 200
    test_rerun_long 130
    verify_grid 110
    verify_edge 85
    test_evolve_long 80
    laboratory 60
    test_gate_rebuild_long 50
    dist_build 40
    make_run 30
    verify_cpus 28
    test_evolve 27
    test_emulated_changes 27
    test_emulated_ablated 25
    verify_configs 24
    test_gate 22
    verify_seed 20
    selftest 20
    test_tune 18
    valgrind_test_cuda_device 18
    test_tune_long 16
    test_gate_rebuild 14
    test_gate_long 14
    test_own_long 14
    test_insight_long 14
    test_evidence 12
    test_roofline_verb 11
    test_insight 10
    test_measure_real_long 10
    test_record_damage 10
    test_rerun 9
    test_own 9
    test_gates_cuda 9
    test_emulated_far 9
    test_board_forged 9
    verify_features_sample 9
    predicted_table 9
    test_emulated_kernels_sample 8
    test_configs_sample 8
    make_run_sample 8
    verify_edge_sample 8
    test_bench 8
    test_bench_device 7
    test_peer 7
    test_record_kill 7
    test_trial 7
    test_gates_long 7
    verify_grid_sample 6
    test_measure_real 6
    test_gates 6
    test_profile_program 6
    test_sweep 6
    verify_seed_sample 6
    test_measure_noise 5
    verify_configs_sample 5
    test_emulated_ablated_sample 5
    verify_cpus_sample 5
    test_ablate 5)
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
