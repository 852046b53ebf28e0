# Tests in Python: heed_python_test(NAME SCRIPT ARGUMENTS...) registers tests/SCRIPT with ctest,
# which shows it as skipped if it exits with 77. It is run by the interpreter in HEED_PYTHON, or by
# the first python3 that has numpy.
set(HEED_TEST_PYTHON "$ENV{HEED_PYTHON}" CACHE FILEPATH "Interpreter for the tests in Python")
foreach(candidate python3 /usr/bin/python3)
    if(NOT HEED_TEST_PYTHON)
        execute_process(COMMAND "${candidate}" -c "import numpy" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
        if(result EQUAL 0)
            set_property(CACHE HEED_TEST_PYTHON PROPERTY VALUE "${candidate}")
        endif()
    endif()
endforeach()

function(heed_python_test name script)
    set(python "${HEED_TEST_PYTHON}")
    if(NOT python)
        set(python python3)
    endif()
    add_test(NAME ${name} COMMAND "${python}" -B "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${ARGN})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endfunction()
