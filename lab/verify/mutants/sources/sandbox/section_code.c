/* section_code: has a section that can be written and executed; killed by the filter */
__asm__(".section .both,\"awx\",@progbits\nret\n.text");
