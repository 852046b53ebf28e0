# Packs the installed files of a build folder into BUILD/NAME.tar.gz, reproducibly:
#   cmake -DBUILD=... -DSOURCE=... -DNAME=... -DEPOCH=... -P HeedDist.cmake
# EPOCH is the time of all files, in seconds since 1970.
cmake_minimum_required(VERSION 3.25)

set(stage "${BUILD}/dist")
file(REMOVE_RECURSE "${stage}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${stage}/${NAME}"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(COPY "${SOURCE}/LICENSE" "${SOURCE}/README.md" "${SOURCE}/CHANGELOG.md" DESTINATION "${stage}/${NAME}")
execute_process(
    COMMAND tar --create --sort=name "--mtime=@${EPOCH}" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw
        --format=ustar --directory "${stage}" "${NAME}"
    COMMAND gzip --no-name -9
    OUTPUT_FILE "${BUILD}/${NAME}.tar.gz" COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE "${stage}")
message(STATUS "${BUILD}/${NAME}.tar.gz")
