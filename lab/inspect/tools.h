/*
 * tools.h - finds NVIDIA's tools
 */
#ifndef LAB_TOOLS_H
#define LAB_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* lab_tool_find() writes the path of one of NVIDIA's tools, such as "ncu", to @path; false: not
 * found. */
bool lab_tool_find(const char *name, char *path, size_t size);

#endif /* LAB_TOOLS_H */
