/*
 * plural.h - a count before its noun: "%zu trial%s", count, lab_plural(count)
 */
#ifndef LAB_PLURAL_H
#define LAB_PLURAL_H

/* lab_plural() returns the ending of the noun: "" after a count of one, else "s". */
static inline const char *lab_plural(long long count)
{
    return count == 1 ? "" : "s";
}

#endif /* LAB_PLURAL_H */
