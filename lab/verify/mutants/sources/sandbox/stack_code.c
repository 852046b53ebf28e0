/* stack_code: requests an executable stack; killed by the filter */
__asm__(".section .note.GNU-stack,\"x\",@progbits");
