/*
 * log.h - logs of compilers, made fit to be shown and to be handed back to the author of the code
 */
#ifndef LAB_LOG_H
#define LAB_LOG_H

#include <stddef.h>

/* Bytes of a log that are kept, with the final null. */
#define LAB_LOG_SIZE 8192

/* lab_log_strip() takes the folders off all absolute paths in @text, which tell of this machine and
 * not of the code, puts blanks for control characters other than newlines, and cuts @text at the
 * end of a line where it is longer than a log may be. */
void lab_log_strip(char *text);

/* lab_log_hide_files() replaces a log that says that a file could not be read by one line, the same
 * whether there is no such file or it may not be read; of more only where in the source that was.
 */
void lab_log_hide_files(char *text);

#endif /* LAB_LOG_H */
