# Writes every manual page and completion script that `heed generate` makes from the option tables.
#   cmake -DHEED=<the program> -DDIRECTORY=<where to> -DDATE=<of the pages> -P docs.cmake
function(generate file)
    execute_process(COMMAND "${HEED}" generate ${ARGN} OUTPUT_FILE "${DIRECTORY}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${DIRECTORY}")
file(MAKE_DIRECTORY "${DIRECTORY}/man" "${DIRECTORY}/bash" "${DIRECTORY}/zsh" "${DIRECTORY}/fish")
generate(man/heed.1 man --date "${DATE}")
execute_process(COMMAND "${HEED}" generate verbs OUTPUT_VARIABLE verbs COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" verbs "${verbs}")
foreach(verb IN LISTS verbs)
    generate(man/heed-${verb}.1 man --verb ${verb} --date "${DATE}")
endforeach()
generate(bash/heed bash)
generate(zsh/_heed zsh)
generate(fish/heed.fish fish)
