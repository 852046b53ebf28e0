/*
 * control.h - control characters in texts from outside, which could control a terminal
 */
#ifndef LAB_CONTROL_H
#define LAB_CONTROL_H

/* lab_control_size() returns the size in bytes of the character at @text if it is a control
 * character, else 0. Those of ASCII have one byte. In UTF-8 the others have two (0xc2 and a byte
 * from 0x80 to 0x9f), and line breaks and controls of text direction have three. */
int lab_control_size(const char *text);

/* lab_control_replace() replaces each byte of such characters in @text by @with. */
void lab_control_replace(char *text, char with);

#endif /* LAB_CONTROL_H */
