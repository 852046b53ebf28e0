/* maps_code: maps its own code to be written while it is loaded; killed by the seal, and traps if
 * it is not */
#include <sys/mman.h>

__attribute__((constructor)) static void begin(void)
{
    if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 5, 0) != MAP_FAILED)
        __builtin_trap();
}
