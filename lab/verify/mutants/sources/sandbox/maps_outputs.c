/* maps_outputs: maps the memory of outputs as code while it is loaded; killed by the filter; traps
 * otherwise */
#include <sys/mman.h>

__attribute__((constructor)) static void begin(void)
{
    if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, 4, 0) != MAP_FAILED)
        __builtin_trap();
}
