# The build hash of wisdom, over everything that determines the code of a given kernel and config.

# heed_kernel_files(OUT ROOT) sets OUT to these files of the source tree ROOT, sorted: the kernels, the code that
# prepares, compiles and launches them, the table of kernels, the parser of configs, and the flags.
function(heed_kernel_files out root)
    set(when CONFIGURE_DEPENDS)
    if(CMAKE_SCRIPT_MODE_FILE)
        set(when) # scripts (cmake -P) have no build to configure again
    endif()
    file(GLOB_RECURSE files LIST_DIRECTORIES false ${when}
        "${root}/src/cpu/*.[ch]" "${root}/src/cuda/*.[ch]" "${root}/src/cuda/*.def" "${root}/src/cuda/*.cu*")
    list(APPEND files "${root}/cmake/HeedFlags.cmake" "${root}/src/ablation.h" "${root}/src/config.c"
        "${root}/src/internal.h" "${root}/src/kernels.def" "${root}/src/problem/interval.h"
        "${root}/src/problem/operations.h" "${root}/src/problem/types.def")
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
