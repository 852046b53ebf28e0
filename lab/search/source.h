/*
 * source.h - kernel sources of which marked regions can be replaced
 *
 *     (heed:region rescale)
 *     ... the text that stands there ...
 *     (heed:or ... another text ... )
 *     (heed:end)
 *
 * with C's comment signs in place of the parentheses: the marks are comments, each at the
 * beginning of a line, and so are the alternatives, so that the source as it stands is the one with
 * the first text everywhere. An alternative can hold no comment itself; texts that are added later,
 * by a proposer say, can. Regions do not contain each other. An end of a comment that closes an
 * alternative stands on a line of its own.
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
    char *texts[LAB_SOURCE_TEXTS]; /* the first one is what stood there */
    int count;
} lab_source_region;

/* Stretches of common text, with the regions between them. */
typedef struct lab_source {
    char *common[LAB_SOURCE_REGIONS + 1];
    lab_source_region regions[LAB_SOURCE_REGIONS];
    int count;
} lab_source;

/* lab_source_parse() takes @text apart; @name is what messages call it. The caller frees @source
 * with lab_source_free(). Returns HEED_OK, also without any region; HEED_ERR_INVALID for marks that
 * make no sense, with "NAME:LINE: "; HEED_ERR_NO_MEMORY. On failure @source is empty. */
heed_status lab_source_parse(lab_source *source, const char *text, const char *name,
                             lab_error *error);
void lab_source_free(lab_source *source);

/* lab_source_find() returns the number of the region @name; -1: none. */
int lab_source_find(const lab_source *source, const char *name);

/* lab_source_render() returns the source with text number choice[i] in region i, for the caller to
 * free; NULL if there is no memory. Marks stay, alternatives go. */
char *lab_source_render(const lab_source *source, const int *choice);

#endif /* LAB_SOURCE_H */
