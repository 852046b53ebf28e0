/* maps_wx: writes memory and makes it executable while it is loaded; killed by the filter */
#include <sys/mman.h>

__attribute__((constructor)) static void begin(void)
{
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 0xc3;
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}
