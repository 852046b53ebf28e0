/*
 * tools.h - where NVIDIA's tools are
 */
#ifndef LAB_TOOLS_H
#define LAB_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* lab_tool_find() writes where one of NVIDIA's tools is, such as "ncu", to @path; false: it is not
 * here. */
bool lab_tool_find(const char *name, char *path, size_t size);

#endif /* LAB_TOOLS_H */
