# The build that wisdom is bound to: all that decides which code a plan of a given kernel and config runs.

# heed_kernel_files(OUT ROOT) sets OUT to the files that decide it in the source tree ROOT, sorted: the kernels, what
# prepares, compiles and launches them, the table of kernels, how configs are read, and the flags.
function(heed_kernel_files out root)
    set(when CONFIGURE_DEPENDS)
    if(CMAKE_SCRIPT_MODE_FILE)
        set(when) # a script has no build that could depend on it
    endif()
    file(GLOB_RECURSE files LIST_DIRECTORIES false ${when}
        "${root}/src/cpu/*.[ch]" "${root}/src/cuda/*.[ch]" "${root}/src/cuda/*.def" "${root}/src/cuda/*.cu*")
    list(APPEND files "${root}/cmake/HeedFlags.cmake" "${root}/src/config.c" "${root}/src/internal.h"
        "${root}/src/kernels.def" "${root}/src/problem/types.def")
    list(SORT files)
    set(${out} ${files} PARENT_SCOPE)
endfunction()

# heed_kernel_hash(OUT FLAGS FILES...) sets OUT to 12 hexadecimal digits made of the contents of FILES and of FLAGS.
function(heed_kernel_hash out flags)
    set(hashes "${flags}")
    foreach(file IN LISTS ARGN)
        file(SHA256 "${file}" hash)
        string(APPEND hashes " ${hash}")
    endforeach()
    string(SHA256 hash "${hashes}")
    string(SUBSTRING "${hash}" 0 12 hash)
    set(${out} ${hash} PARENT_SCOPE)
endfunction()
