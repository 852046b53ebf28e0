/*
 * self.c - heed in a process of its own
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

int cli_run_self(char *const arguments[])
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status, code = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ) == 0) {
        pid_t ended;
        do
            ended = waitpid(child, &status, 0);
        while (ended < 0 && errno == EINTR);
        if (ended == child && WIFEXITED(status))
            code = WEXITSTATUS(status);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}
