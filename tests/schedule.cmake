# Which tests begin, and which run beside which: `make test` runs as many at a time as there are CPUs.
#
# The longest come first, by these seconds of a machine of two CPUs, until ctest has times of its own. A test that
# keeps two CPUs busy counts for two, and one that judges how fast something is, or what is done in time, has the
# machine to itself. The kernels' threads are not counted: verification computes on one thread for longer than they do.
set(seconds
    test_configs 270
    test_emulated_kernels 100
    verify_grid 110
    verify_edge 60
    dist_build 50
    laboratory 40
    verify_cpus 30
    verify_seed 20
    valgrind_test_cuda_device 20
    test_evolve 15
    test_gates 11
    test_gates_cuda 11
    test_search_trials 11
    test_bench_device 10
    predicted_table 10
    selftest 10
    test_measure_noise 9
    verify_configs 8
    test_peer 7
    test_record_damage 7)
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
