/*
 * log.h - sanitizes compiler logs, for display and for the author of the code
 */
#ifndef LAB_LOG_H
#define LAB_LOG_H

#include <stddef.h>

/* Bytes of a log that are kept, including the final null. */
#define LAB_LOG_SIZE 8192

/* lab_log_strip() removes the folders of all absolute paths in @text, which concern this machine
 * rather than the code, replaces control characters other than newlines by spaces, and truncates
 * @text at the end of a line if it is too long. */
void lab_log_strip(char *text);

/* lab_log_hide_files() replaces a log that reports an unreadable file by one line, the same whether
 * the file does not exist or may not be read, with only the position in the source.
 */
void lab_log_hide_files(char *text);

#endif /* LAB_LOG_H */
