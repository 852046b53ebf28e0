# The portable build: its flags make reproducible files that run on other machines, and the target `dist` packs them.
# See docs/command-line.md, "A binary that runs anywhere".

# Paths of this machine stay out of messages and debugging information.
add_compile_options("-ffile-prefix-map=${PROJECT_BINARY_DIR}=build" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=heed")

# Files with a date, such as the manual pages, have that of the commit.
find_program(HEED_GIT git)
if(HEED_GIT AND NOT DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND "${HEED_GIT}" log -1 --format=%ct WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        OUTPUT_VARIABLE heed_epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(heed_epoch)
        set(ENV{SOURCE_DATE_EPOCH} "${heed_epoch}")
    endif()
endif()
string(TIMESTAMP heed_epoch "%s" UTC)

if(NOT HEED_TOOLS)
    return() # the tarball has the command line
endif()
set(heed_dist_name "heed-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
add_custom_target(dist
    COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
        "-DNAME=${heed_dist_name}" "-DEPOCH=${heed_epoch}" -P "${PROJECT_SOURCE_DIR}/cmake/HeedDist.cmake"
    VERBATIM COMMENT "${heed_dist_name}.tar.gz")
add_dependencies(dist heed heed_static heed_candidate heed_candidate_cuda heed_cli heed_docs heed-propose-regions
    naive_peer)
