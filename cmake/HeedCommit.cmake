# Writes the commit of the source tree to a header, at every build, but touches the file only when it says something new:
#   cmake -DSOURCE=... -DHEADER=... -P HeedCommit.cmake
cmake_minimum_required(VERSION 3.25)

set(commit "unknown")
find_program(git git)
if(git)
    execute_process(COMMAND "${git}" describe --always --dirty --abbrev=12 --exclude=*
        WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE described RESULT_VARIABLE failed
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed)
        set(commit "${described}")
    endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define HEED_COMMIT \"@commit@\"\n" @ONLY)
