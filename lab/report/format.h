/*
 * format.h - human-readable times and sizes
 */
#ifndef LAB_FORMAT_H
#define LAB_FORMAT_H

#include <stdint.h>

#define LAB_FORMAT_SIZE 32

/* lab_format_seconds() writes @seconds with three digits and its unit, such as "3.27 ms"; "-" for a
 * negative or non-finite value. Returns @text. */
const char *lab_format_seconds(double seconds, char text[LAB_FORMAT_SIZE]);

/* lab_format_duration() writes @seconds as minutes and seconds, with hours if needed: "0:07",
 * "1:05", "2:03:09"; "-" for a negative or non-finite value. Returns @text. */
const char *lab_format_duration(double seconds, char text[LAB_FORMAT_SIZE]);

/* lab_format_rate() writes three digits of @value, at most two of them decimals, without a unit;
 * "-" if it is not above 0. */
const char *lab_format_rate(double value, char text[LAB_FORMAT_SIZE]);

/* lab_format_bytes() writes @bytes with three digits and its unit, such as "416 KiB"; whole bytes
 * below 1 KiB. Returns @text. */
const char *lab_format_bytes(uint64_t bytes, char text[LAB_FORMAT_SIZE]);

#endif /* LAB_FORMAT_H */
