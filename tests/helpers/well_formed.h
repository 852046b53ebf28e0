/*
 * well_formed.h - is a page what it should be: sound markup, and nothing in it that acts or reaches
 * out?
 */
#ifndef WELL_FORMED_H
#define WELL_FORMED_H

/* well_formed() returns NULL for a sound page, else what is wrong and where, in a text that the
 * next call forgets: an element or attribute that is not on the list of those that a page may have,
 * one that is not closed in its turn, a stray < or &, a control character, bytes that are not
 * UTF-8. */
const char *well_formed(const char *text);

#endif /* WELL_FORMED_H */
