/* section_code: has a writable and executable section; killed by the filter */
__asm__(".section .both,\"awx\",@progbits\nret\n.text");
