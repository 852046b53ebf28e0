/* maps_changed: changes pages of its own file and makes them executable; killed by the filter */
#include <sys/mman.h>

static const unsigned char bytes[8192] = { 1 };

__attribute__((constructor)) static void begin(void)
{
    unsigned char *page = (unsigned char *)(((size_t)bytes + 4095) & ~(size_t)4095);
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
        return;
    *(volatile unsigned char *)page = 0xc3;
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}
