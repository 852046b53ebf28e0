/*
 * image.h - the shared object of a candidate as data, before it is loaded
 *
 * Loading runs code: constructors, and functions that choose functions. It takes system calls that
 * a candidate must not have. So heed takes the constructors off the list of the dynamic linker, and
 * the process calls them when it has given up those calls (runner.c). Calls that cannot be put off
 * so are refused.
 */
#ifndef LAB_IMAGE_H
#define LAB_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Entries of the dynamic section that list constructors get this added to their tags, which makes
 * them ones of the range of operating systems that no dynamic linker knows. */
#define LAB_IMAGE_PUT_OFF 0x68656500

/* lab_image_put_off() changes the object of @size bytes so that no code of it runs while it is
 * loaded. NULL if that is done, else a sentence that says why it cannot be. */
const char *lab_image_put_off(unsigned char *data, size_t size);

#endif /* LAB_IMAGE_H */
