/*
 * interrupt.c - Ctrl-C as a flag
 */
#include <signal.h>
#include <string.h>

#include "cli.h"

/* The one variable that outlives a call: a signal handler can reach nothing else. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* A file that may not grow is an error of the write then, which is told, and no sudden end. Not
 * ignored, as programs that are started would inherit that. */
static void on_file_limit(int signal_number)
{
    (void)signal_number;
}

void cli_interrupt_catch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)
        SA_RESETHAND; /* the second one kills, in case the first is not looked at */
    sigaction(SIGINT, &action, NULL);
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_file_limit;
    sigaction(SIGXFSZ, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}
