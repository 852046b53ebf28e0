/*
 * well_formed.c - checks a page like an XML parser, with lists of what it may contain
 */
#include "well_formed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32
#define NAME_MAX_SIZE 24

typedef struct page {
    const char *text, *at;
    char open[DEPTH_MAX][NAME_MAX_SIZE];
    int depth;
    const char *fault;
} page;

static const char *const elements[] = {
    "html",  "head",  "meta", "title", "style", "body",   "main",   "h1",
    "h2",    "h3",    "p",    "b",     "ul",    "li",     "div",    "table",
    "thead", "tbody", "tr",   "th",    "td",    "span",   "figure", "figcaption",
    "svg",   "line",  "text", "rect",  "path",  "circle", "pre",    NULL,
};
static const char *const attributes[] = {
    "lang",   "charset", "name",  "content",   "http-equiv",  "class",
    "xmlns",  "role",    "width", "height",    "viewBox",     "x",
    "y",      "x1",      "x2",    "y1",        "y2",          "cx",
    "cy",     "r",       "d",     "transform", "text-anchor", "stroke-dasharray",
    "data-h", NULL,
};
static const char *const entities[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;", NULL };

static void fail(page *p, const char *fault)
{
    if (!p->fault)
        p->fault = fault;
}

static bool is_listed(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

static void read_name(page *p, char name[NAME_MAX_SIZE])
{
    size_t length = strspn(p->at,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:");
    if (length == 0 || length >= NAME_MAX_SIZE)
        fail(p, "a name");
    length = length < NAME_MAX_SIZE ? length : NAME_MAX_SIZE - 1;
    memcpy(name, p->at, length);
    name[length] = '\0';
    p->at += length;
}

/* One character of text: an entity, or something that is neither markup nor a control character. */
static void read_character(page *p)
{
    const unsigned char *byte = (const unsigned char *)p->at;
    if (*byte == '&') {
        for (int i = 0; entities[i]; i++)
            if (strncmp(p->at, entities[i], strlen(entities[i])) == 0) {
                p->at += strlen(entities[i]);
                return;
            }
        fail(p, "an & that begins no entity");
    }
    if (*byte < ' ' && *byte != '\n')
        fail(p, "a control character");
    int more = *byte < 0x80 ? 0 : *byte < 0xc2 ? -1 : *byte < 0xe0 ? 1 : *byte < 0xf0 ? 2 : 3;
    if (more < 0 || *byte > 0xf4)
        fail(p, "not UTF-8");
    for (p->at++; more > 0; more--, p->at++)
        if ((*p->at & 0xc0) != 0x80) {
            fail(p, "not UTF-8");
            return;
        }
}

static void read_attribute(page *p)
{
    char name[NAME_MAX_SIZE];
    read_name(p, name);
    if (!is_listed(attributes, name))
        fail(p, "an attribute that no page may have");
    if (strncmp(p->at, "=\"", 2) != 0) {
        fail(p, "an attribute without a value in quotes");
        return;
    }
    for (p->at += 2; *p->at && *p->at != '"' && !p->fault;) {
        if (*p->at == '<')
            fail(p, "a < in a value");
        read_character(p);
    }
    p->at += *p->at == '"';
}

static void read_end(page *p)
{
    char name[NAME_MAX_SIZE];
    p->at += 2;
    read_name(p, name);
    if (p->depth == 0 || strcmp(p->open[p->depth - 1], name) != 0)
        fail(p, "an end of something else");
    else
        p->depth--;
    if (*p->at++ != '>')
        fail(p, "an end tag with more in it");
}

static void read_tag(page *p)
{
    char name[NAME_MAX_SIZE];
    p->at++;
    read_name(p, name);
    if (!is_listed(elements, name))
        fail(p, "an element that no page may have");
    while (*p->at == ' ' && !p->fault) {
        p->at++;
        read_attribute(p);
    }
    bool empty = *p->at == '/';
    p->at += empty;
    if (*p->at != '>' || p->depth == DEPTH_MAX) {
        fail(p, "a tag that does not end, or too many");
        return;
    }
    p->at++;
    if (!empty)
        snprintf(p->open[p->depth++], NAME_MAX_SIZE, "%s", name);
}

const char *well_formed(const char *text)
{
    static const char head[] = "<!DOCTYPE html>\n";
    static char said[256];
    page p = { .text = text, .at = text };
    if (strncmp(text, head, strlen(head)) == 0)
        p.at += strlen(head);
    while (*p.at && !p.fault)
        if (p.at[0] == '<' && p.at[1] == '/')
            read_end(&p);
        else if (*p.at == '<')
            read_tag(&p);
        else
            read_character(&p);
    if (!p.fault && p.depth > 0)
        fail(&p, "an end that is missing");
    if (!p.fault)
        return NULL;
    size_t behind = (size_t)(p.at - text);
    snprintf(said, sizeof said, "%s near byte %zu: %.80s", p.fault, behind,
             text + (behind > 40 ? behind - 40 : 0));
    return said;
}
