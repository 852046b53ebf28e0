# Writes the commit of the source tree, and a hash of the sources of the gates, to a header, at every build, but only if
# they have changed:
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
# Two trees with uncommitted changes have the same name, and may have different gates.
file(GLOB_RECURSE files "${SOURCE}/lab/verify/*")
list(APPEND files "${SOURCE}/tests/data/trial/plain.c")
list(SORT files)
set(hashes)
foreach(file IN LISTS files)
    file(SHA256 "${file}" hash)
    string(APPEND hashes " ${hash}")
endforeach()
string(SHA256 gates "${hashes}")

file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define HEED_COMMIT \"@commit@\"\n#define HEED_GATES \"@gates@\"\n" @ONLY)
