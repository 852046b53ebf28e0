/*
 * html.h - writer for documents: a self-contained HTML page, or Markdown
 *
 *     lab_page page;
 *     lab_page_begin(&page, stream, LAB_PAGE_HTML, "Measurements");
 *     lab_page_heading(&page, 2, "%s", device);
 *     lab_listing rows = lab_listing_in(&page); ... a table, see listing.h
 *     if (!lab_page_end(&page)) ... no memory
 *
 * No text is trusted: authors choose names of kernels and reasons freely. Texts are escaped for the
 * form, and control characters are written as \x1b and so on, so they can never be markup. A page
 * has no scripts and refers to no other file or host.
 */
#ifndef LAB_HTML_H
#define LAB_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "table.h"

typedef enum lab_page_form {
    LAB_PAGE_HTML,
    LAB_PAGE_MARKDOWN
} lab_page_form;

typedef struct lab_page {
    FILE *stream; /* its owner checks for failures (ferror) */
    lab_page_form form;
    bool failed; /* memory ran out */
    bool listing;
} lab_page;

/* lab_page_begin() starts a document with @title, its first heading. lab_page_end() finishes it;
 * false: memory ran out, and something is missing. */
void lab_page_begin(lab_page *page, FILE *stream, lab_page_form form, const char *title);
bool lab_page_end(lab_page *page);

/* A heading of @level 2 or 3; a paragraph; a warning; an item of a list, which anything else ends.
 */
void lab_page_heading(lab_page *page, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lab_page_paragraph(lab_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lab_page_warning(lab_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lab_page_item(lab_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* lab_page_code() prints lines verbatim, such as a diff; the last one must end with a newline. */
void lab_page_code(lab_page *page, const char *text);

/* For listing.h, which writes the tables of a page. lab_page_escape() returns a copy of @text for a
 * cell or head, which the caller frees; NULL if there is no memory. lab_page_table() writes a
 * table, in which colours are classes in HTML, and nothing in Markdown; false: memory ran out. */
char *lab_page_escape(lab_page *page, const char *text);
bool lab_page_table(lab_page *page, const lab_table *table);

/* lab_page_figure() returns true if the form supports figures; then a drawing of html_plot.h may
 * follow. */
bool lab_page_figure(lab_page *page);

/* lab_html_text() writes @text escaped for elements and quoted attributes of HTML and SVG. Invalid
 * UTF-8 becomes U+FFFD. */
void lab_html_text(FILE *stream, const char *text);

/* lab_markdown_text() does the same for Markdown. */
void lab_markdown_text(FILE *stream, const char *text);

/* lab_html_length() returns the bytes of the UTF-8 character at @text, 0 if that is not valid. */
int lab_html_length(const char *text);

/* html_style.c: the style of a page, light or dark by the reader's preference, and in print:
 * colours, drawings, and other elements. */
extern const char lab_html_colours[], lab_html_drawing[], lab_html_style[];

#endif /* LAB_HTML_H */
