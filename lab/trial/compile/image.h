/*
 * image.h - checks and patches the shared object of a candidate before it is loaded
 *
 * Loading runs code: constructors and ifunc resolvers. It needs system calls that a candidate must
 * not have. So heed removes the constructors from the dynamic linker's list, and the process calls
 * them after it has given up those system calls (runner.c). Code that cannot be deferred is
 * refused.
 */
#ifndef LAB_IMAGE_H
#define LAB_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* This is added to the tags of dynamic entries that list constructors, which makes them OS-specific
 * tags unknown to any dynamic linker. */
#define LAB_IMAGE_PUT_OFF 0x68656500

/* lab_image_put_off() changes the object of @size bytes so none of its code runs while it is
 * loaded. Returns NULL, or a sentence with the reason if that is impossible. */
const char *lab_image_put_off(unsigned char *data, size_t size);

#endif /* LAB_IMAGE_H */
