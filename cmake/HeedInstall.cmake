# The files that `make install` copies: the static and the shared library, the header, and the package files for
# pkg-config and CMake. cli/CMakeLists.txt installs the command line.
include(CMakePackageConfigHelpers)

set(heed_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/heed")

install(TARGETS heed heed_static EXPORT heedTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES include/heed.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT heedTargets NAMESPACE heed:: DESTINATION "${heed_package_dir}")

configure_package_config_file(cmake/heedConfig.cmake.in "${PROJECT_BINARY_DIR}/heedConfig.cmake"
    INSTALL_DESTINATION "${heed_package_dir}")
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/heedConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/heedConfig.cmake" "${PROJECT_BINARY_DIR}/heedConfigVersion.cmake"
    DESTINATION "${heed_package_dir}")

# pkg-config's folders are written relative to its own file, so that an installed tree may be moved,
# unless a folder was given as an absolute path.
file(RELATIVE_PATH heed_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" heed_pc_prefix "${heed_pc_prefix}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(heed_pc_prefix "${CMAKE_INSTALL_PREFIX}")
    set(heed_pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(heed_pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
    set(heed_pc_prefix "\${pcfiledir}/${heed_pc_prefix}")
    set(heed_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(heed_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/heed.pc.in "${PROJECT_BINARY_DIR}/heed.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/heed.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(HEED_CUBINS)
    install(DIRECTORY "${HEED_CUBINS}/" DESTINATION "${CMAKE_INSTALL_LIBDIR}/heed/cubins")
endif()
if(HEED_TOOLS)
    install(DIRECTORY shapes/ DESTINATION "${CMAKE_INSTALL_DATADIR}/heed/shapes" FILES_MATCHING PATTERN "*.txt")
    install(DIRECTORY spaces/ DESTINATION "${CMAKE_INSTALL_DATADIR}/heed/spaces" FILES_MATCHING PATTERN "*.txt")
endif()
