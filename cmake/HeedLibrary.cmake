# Embeds the sources of libheed in the laboratory, so that recorded kernels can be rebuilt after the sources have
# changed (lab/trial/compile/library.h).

# heed_library_recipe(FILE BUILD SOURCES...) writes to FILE how to build a shared library from SOURCES, relative to
# src/, with the flags of this configuration. BUILD is the build hash of the kernels.
function(heed_library_recipe file build)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    set(flags "-std=gnu17 ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}} -fvisibility=hidden -D_GNU_SOURCE= -Iinclude -Isrc")
    if(HEED_X86)
        string(APPEND flags " -DHEED_X86=1")
    endif()
    string(APPEND flags " -DHEED_KERNEL_BUILD=\"${build}\" -DHEED_KERNELS=\"src/cuda/kernels\"")
    string(REGEX REPLACE " -g[0-9]?( |$)" " " flags "${flags}")
    string(REGEX REPLACE " +" " " flags "${flags}")
    set(text "heed library 1\nflags ${flags}\n")
    foreach(source IN LISTS ARGN)
        get_source_file_property(options "${source}" COMPILE_OPTIONS)
        if(options)
            list(JOIN options " " options)
            string(APPEND text "source src/${source} ${options}\n")
        else()
            string(APPEND text "source src/${source}\n")
        endif()
    endforeach()
    string(APPEND text "link -lmd -lm -lpthread -ldl\n")
    file(GENERATE OUTPUT "${file}" CONTENT "${text}")
endfunction()

# heed_library_embed(SOURCE RECIPE) embeds the recipe and all files that it needs in the C file SOURCE of this folder,
# as rows of a table in library.def (lab/build/sources.c).
function(heed_library_embed source recipe)
    file(GLOB_RECURSE files RELATIVE "${PROJECT_SOURCE_DIR}" LIST_DIRECTORIES false CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/include/*.h" "${PROJECT_SOURCE_DIR}/src/*.[ch]" "${PROJECT_SOURCE_DIR}/src/*.def"
        "${PROJECT_SOURCE_DIR}/src/*.map" "${PROJECT_SOURCE_DIR}/src/*.cu*")
    list(SORT files)
    set(text "HEED_FILE(heed_library_recipe, \"recipe\", \"${recipe}\")\n")
    set(number 0)
    set(depends "${recipe}")
    foreach(file IN LISTS files)
        string(APPEND text "HEED_FILE(heed_library_${number}, \"${file}\", \"${PROJECT_SOURCE_DIR}/${file}\")\n")
        list(APPEND depends "${PROJECT_SOURCE_DIR}/${file}")
        math(EXPR number "${number} + 1")
    endforeach()
    file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/library.def" CONTENT "${text}")
    set_source_files_properties("${source}" PROPERTIES
        OBJECT_DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/library.def;${depends}"
        COMPILE_DEFINITIONS "HEED_LIBRARY=\"${CMAKE_CURRENT_BINARY_DIR}/library.def\"")
endfunction()
