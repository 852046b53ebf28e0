# Which tests begin, and which run beside which: `make test` runs as many at a time as there are CPUs.
#
# The longest come first, by these seconds of a machine of two CPUs, until ctest has times of its own. A test that
# keeps two CPUs busy counts for two, and one that judges how fast something is, or what is done in time, has the
# machine to itself. The kernels' threads are not counted: verification computes on one thread for longer than they do.
set(seconds
    test_configs 180
    verify_grid 140
    test_emulated_kernels 130
    verify_edge 75
    laboratory 50
    dist_build 45
    test_evolve 40
    verify_cpus 35
    test_gate_rebuild 30
    test_holder 30
    test_tune 25
    make_run 25
    test_own 25
    valgrind_test_cuda_device 25
    verify_seed 25
    test_emulated_ablated 20
    test_gate 20
    test_insight 17
    test_measure_real 17
    test_evidence 14
    test_gates 13
    test_roofline_verb 11
    selftest 10
    test_search 10
    test_bench_device 9
    test_gates_cuda 9
    test_measure_noise 9
    test_bench 8
    test_peer 7
    test_record_damage 7
    test_record_kill 7
    test_trial 7
    verify_configs 7
    test_profile_program 6
    test_sweep 6
    predicted_table 5
    test_ablate 5)
set(two_cpus dist_build laboratory selftest test_configs test_emulated_kernels)
set(alone test_bench test_gate test_gate_rebuild test_measure_real test_trial test_tune)

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
