# heed_dependency(PREFIX MODULE) finds the library of the pkg-config module MODULE and makes the target
# PkgConfig::PREFIX of it. In a portable build that is its static archive, so that what is built needs
# no such library where it runs.
function(heed_dependency prefix module)
    if(NOT HEED_PORTABLE)
        pkg_check_modules(${prefix} REQUIRED GLOBAL IMPORTED_TARGET ${module})
        return()
    endif()
    pkg_check_modules(${prefix} REQUIRED ${module})
    # The first library is the module's own; what its archive needs beside it follows.
    list(POP_FRONT ${prefix}_STATIC_LIBRARIES own)
    pkg_get_variable(folder ${module} libdir)
    find_file(${prefix}_ARCHIVE "lib${own}.a" HINTS "${folder}" NO_CACHE)
    if(NOT ${prefix}_ARCHIVE)
        message(FATAL_ERROR "lib${own}.a is missing in ${folder}: a portable build links ${module} statically")
    endif()
    # Who passes the library on must pass on its license; this is where Debian keeps it.
    set(license "/usr/share/doc/lib${own}-dev/copyright")
    if(EXISTS "${license}")
        install(FILES "${license}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/licenses" RENAME "${own}.txt")
    else()
        message(WARNING "${license} is missing: what is built must not be passed on without it")
    endif()
    add_library(PkgConfig::${prefix} INTERFACE IMPORTED GLOBAL)
    target_include_directories(PkgConfig::${prefix} INTERFACE ${${prefix}_STATIC_INCLUDE_DIRS})
    target_link_libraries(PkgConfig::${prefix} INTERFACE "${${prefix}_ARCHIVE}" ${${prefix}_STATIC_LIBRARIES})
endfunction()
