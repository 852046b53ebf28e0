/* maps_code: tries to map its code as writable while it is loaded; the seal prevents that, else it
 * traps */
#include <sys/mman.h>

__attribute__((constructor)) static void begin(void)
{
    if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 5, 0) != MAP_FAILED)
        __builtin_trap();
}
