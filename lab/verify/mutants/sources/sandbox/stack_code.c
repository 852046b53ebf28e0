/* stack_code: asks for a stack that can be executed; killed by the filter */
__asm__(".section .note.GNU-stack,\"x\",@progbits");
