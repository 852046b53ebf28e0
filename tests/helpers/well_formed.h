/*
 * well_formed.h - checks that a page is well-formed, and contains no active content or external
 * references
 */
#ifndef WELL_FORMED_H
#define WELL_FORMED_H

/* well_formed() returns NULL for a good page; otherwise the error and its place, in a text that is
 * valid until the next call: an element or attribute that is not on the list of allowed ones, one
 * that is closed out of order, a stray < or &, a control character, bytes that are not UTF-8. */
const char *well_formed(const char *text);

#endif /* WELL_FORMED_H */
