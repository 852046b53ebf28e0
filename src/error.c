/*
 * error.c - status names, and the thread's last error message
 *
 * The message is per thread, as errno is: a problem can be refused before there is a context to
 * store it in, and many threads may execute a plan at once.
 */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

static _Thread_local char message[HEED_MESSAGE_SIZE];

const char *heed_message(void)
{
    return message;
}

const char *heed_version(void)
{
    return HEED_VERSION_STRING;
}

const char *heed_status_name(heed_status status)
{
    static const char *const names[] = {
        [HEED_OK] = "ok",
        [HEED_ERR_INVALID] = "invalid",
        [HEED_ERR_UNSUPPORTED] = "unsupported",
        [HEED_ERR_NO_MEMORY] = "no memory",
        [HEED_ERR_NO_WISDOM] = "no wisdom",
        [HEED_ERR_SYSTEM] = "system",
        [HEED_ERR_CORRUPT] = "corrupt",
        [HEED_ERR_DEVICE] = "device",
        [HEED_ERR_LOST] = "device lost",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

heed_status heed_fail(heed_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return status;
}

void heed_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
}
