/*
 * html.c - headings, paragraphs and tables in HTML or Markdown
 */
#include "html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"

/* -------------------------------------------------------------------------- */
/* Text                                                                       */
/* -------------------------------------------------------------------------- */

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
int lab_html_length(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (byte[0] < 0x80)
        return byte[0] ? 1 : 0;
    int length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4)
        return 0;
    for (int i = 1; i < length; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
               (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f);
    return bad ? 0 : length;
}

static const char *html_entity(char c)
{
    return c == '<'    ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '&'  ? "&amp;"
           : c == '"'  ? "&quot;"
           : c == '\'' ? "&#39;"
                       : NULL;
}

/* Writes one character in the given form. Returns its size in bytes. */
static int put_character(FILE *stream, const char *text, lab_page_form form)
{
    int length = lab_html_length(text);
    const char *entity = html_entity(*text);
    if (length == 0)
        fputs("\xef\xbf\xbd", stream);
    else if (lab_control_size(text) > 0)
        for (int i = 0; i < length; i++) /* the backslash must be visible in Markdown, too */
            fprintf(stream, form == LAB_PAGE_MARKDOWN ? "\\\\x%02x" : "\\x%02x",
                    (unsigned)(unsigned char)text[i]);
    else if (form == LAB_PAGE_HTML && entity)
        fputs(entity, stream);
    else if (form == LAB_PAGE_MARKDOWN && (*text == '<' || *text == '>' || *text == '&'))
        fputs(entity, stream);
    else if (form == LAB_PAGE_MARKDOWN && strchr("\\`*[]~$", *text))
        fprintf(stream, "\\%c", *text);
    else
        fwrite(text, 1, (size_t)length, stream);
    return length ? length : 1;
}

static void put_text(FILE *stream, const char *text, lab_page_form form)
{
    while (*text)
        text += put_character(stream, text, form);
}

void lab_html_text(FILE *stream, const char *text)
{
    put_text(stream, text, LAB_PAGE_HTML);
}

void lab_markdown_text(FILE *stream, const char *text)
{
    put_text(stream, text, LAB_PAGE_MARKDOWN);
}

/* Formats to a new string; NULL, with the page failed, if there is no memory. */
static char *__attribute__((format(printf, 2, 0)))
format_text(lab_page *page, const char *format, va_list list)
{
    char *text = NULL;
    if (vasprintf(&text, format, list) >= 0)
        return text;
    page->failed = true;
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* Blocks                                                                     */
/* -------------------------------------------------------------------------- */

static void end_list(lab_page *page)
{
    if (page->listing)
        fputs(page->form == LAB_PAGE_HTML ? "</ul>\n" : "\n", page->stream);
    page->listing = false;
}

/* Writes the formatted text with the page form's text around it. */
static void __attribute__((format(printf, 3, 0)))
put_block(lab_page *page, const char *const around[2][2], const char *format, va_list list)
{
    const char *const *form = around[page->form == LAB_PAGE_MARKDOWN];
    char *text = format_text(page, format, list);
    if (!text)
        return;
    fputs(form[0], page->stream);
    put_text(page->stream, text, page->form);
    fputs(form[1], page->stream);
    free(text);
}

void lab_page_begin(lab_page *page, FILE *stream, lab_page_form form, const char *title)
{
    *page = (lab_page){ .stream = stream, .form = form };
    if (form == LAB_PAGE_HTML) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
              "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "style-src 'unsafe-inline'\"/>\n<title>",
              stream);
        lab_html_text(stream, title);
        fprintf(stream, "</title>\n<style>\n%s%s%s</style>\n</head>\n<body>\n<main>\n",
                lab_html_colours, lab_html_drawing, lab_html_style);
    }
    fputs(form == LAB_PAGE_HTML ? "<h1>" : "# ", stream);
    put_text(stream, title, form);
    fputs(form == LAB_PAGE_HTML ? "</h1>\n" : "\n\n", stream);
}

bool lab_page_end(lab_page *page)
{
    end_list(page);
    if (page->form == LAB_PAGE_HTML)
        fputs("</main>\n</body>\n</html>\n", page->stream);
    return !page->failed;
}

void lab_page_heading(lab_page *page, int level, const char *format, ...)
{
    va_list list;
    end_list(page);
    static const char *const second[2][2] = { { "<h2>", "</h2>\n" }, { "## ", "\n\n" } };
    static const char *const third[2][2] = { { "<h3>", "</h3>\n" }, { "### ", "\n\n" } };
    va_start(list, format);
    put_block(page, level == 2 ? second : third, format, list);
    va_end(list);
}

void lab_page_paragraph(lab_page *page, const char *format, ...)
{
    va_list list;
    end_list(page);
    static const char *const around[2][2] = { { "<p>", "</p>\n" }, { "", "\n\n" } };
    va_start(list, format);
    put_block(page, around, format, list);
    va_end(list);
}

void lab_page_warning(lab_page *page, const char *format, ...)
{
    va_list list;
    end_list(page);
    static const char *const around[2][2] = { { "<p class=\"note\"><b>Note:</b> ", "</p>\n" },
                                              { "> **Note:** ", "\n\n" } };
    va_start(list, format);
    put_block(page, around, format, list);
    va_end(list);
}

void lab_page_item(lab_page *page, const char *format, ...)
{
    va_list list;
    if (!page->listing && page->form == LAB_PAGE_HTML)
        fputs("<ul>\n", page->stream);
    page->listing = true;
    static const char *const around[2][2] = { { "<li>", "</li>\n" }, { "- ", "\n" } };
    va_start(list, format);
    put_block(page, around, format, list);
    va_end(list);
}

/* Prints lines unchanged, except for control characters. A Markdown fence is longer than any in
 * @text. */
void lab_page_code(lab_page *page, const char *text)
{
    bool html = page->form == LAB_PAGE_HTML;
    int fence = 3, run = 0;
    end_list(page);
    for (const char *at = text; *at; at++) {
        run = *at == '`' ? run + 1 : 0;
        fence = run >= fence ? run + 1 : fence;
    }
    fputs(html ? "<pre>" : "", page->stream);
    for (int i = 0; !html && i < fence; i++)
        fputc('`', page->stream);
    fputs(html ? "" : "\n", page->stream);
    while (*text) {
        int length = lab_html_length(text);
        if (*text == '\n' || *text == '\t')
            fputs(*text++ == '\n' ? "\n" : "    ", page->stream);
        else if (html || length == 0 || lab_control_size(text) > 0)
            text += put_character(page->stream, text, LAB_PAGE_HTML);
        else
            text += fwrite(text, 1, (size_t)length, page->stream) ? length : 1;
    }
    for (int i = 0; !html && i < fence; i++)
        fputc('`', page->stream);
    fputs(html ? "</pre>\n" : "\n\n", page->stream);
}

/* -------------------------------------------------------------------------- */
/* Tables and figures                                                         */
/* -------------------------------------------------------------------------- */

char *lab_page_escape(lab_page *page, const char *text)
{
    bool markdown = page->form == LAB_PAGE_MARKDOWN;
    char *escaped = NULL;
    size_t size;
    FILE *memory = open_memstream(&escaped, &size);
    if (memory) {
        while (*text)
            if (markdown || lab_control_size(text) > 0)
                text += put_character(memory, text, page->form);
            else /* the table escapes HTML */
                fputc(*text++, memory);
        bool bad = ferror(memory) != 0;
        page->failed |= fclose(memory) != 0 || bad;
    }
    page->failed |= !escaped;
    return escaped;
}

bool lab_page_table(lab_page *page, const lab_table *table)
{
    bool html = page->form == LAB_PAGE_HTML;
    end_list(page);
    fputs(html ? "<div class=\"wide\">" : "", page->stream);
    bool printed = lab_table_print(table, page->stream, html ? LAB_HTML : LAB_MARKDOWN);
    page->failed |= !printed;
    fputs(html ? "</div>\n" : "\n", page->stream);
    return printed;
}

bool lab_page_figure(lab_page *page)
{
    if (page->form == LAB_PAGE_HTML)
        end_list(page);
    return page->form == LAB_PAGE_HTML;
}
