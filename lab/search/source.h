/*
 * source.h - kernel sources with replaceable regions
 *
 *     (heed:region rescale)
 *     ... the current text ...
 *     (heed:or ... another text ... )
 *     (heed:end)
 *
 * with C's comment signs in place of the parentheses: the marks are comments, each at the beginning
 * of a line, and so are the alternatives, so the unmodified source has the first text everywhere.
 * An alternative cannot contain a comment; texts that are added later, for example by a proposer,
 * can. Regions cannot be nested. The end of a comment that closes an alternative is on a separate
 * line.
 */
#ifndef LAB_SOURCE_H
#define LAB_SOURCE_H

#include <stddef.h>

#include "lab/base/error.h"
#include "lab/search/expression.h"

#define LAB_SOURCE_REGIONS 16
#define LAB_SOURCE_TEXTS 64 /* of a region */

typedef struct lab_source_region {
    char name[LAB_NAME_SIZE];
    char *texts[LAB_SOURCE_TEXTS]; /* the first one is the original */
    int count;
} lab_source_region;

/* Parts of common text, with the regions between them. */
typedef struct lab_source {
    char *common[LAB_SOURCE_REGIONS + 1];
    lab_source_region regions[LAB_SOURCE_REGIONS];
    int count;
} lab_source;

/* lab_source_parse() parses @text; @name is its name in messages. The caller frees @source with
 * lab_source_free(). Returns HEED_OK, even without regions; HEED_ERR_INVALID for invalid marks,
 * with "NAME:LINE: "; HEED_ERR_NO_MEMORY. On failure @source is empty. */
heed_status lab_source_parse(lab_source *source, const char *text, const char *name,
                             lab_error *error);
void lab_source_free(lab_source *source);

/* lab_source_find() returns the number of the region @name; -1: none. */
int lab_source_find(const lab_source *source, const char *name);

/* lab_source_render() returns the source with text number choice[i] in region i, for the caller to
 * free; NULL if there is no memory. Keeps marks, removes alternatives. */
char *lab_source_render(const lab_source *source, const int *choice);

#endif /* LAB_SOURCE_H */
