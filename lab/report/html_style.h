/*
 * html_style.h - how a page looks: light or dark as its reader has it, and on paper
 */
#ifndef LAB_HTML_STYLE_H
#define LAB_HTML_STYLE_H

extern const char lab_html_style[];

#endif /* LAB_HTML_STYLE_H */
