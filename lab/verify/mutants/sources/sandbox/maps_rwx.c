/* maps_rwx: maps writable and executable memory while it is loaded; killed by the filter
 */
#include <sys/mman.h>

__attribute__((constructor)) static void begin(void)
{
    mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
