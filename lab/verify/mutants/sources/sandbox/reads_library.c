/* reads_library: opens a system library while it is loaded; killed by the filter, which is
 * on before its constructors run */
#include <dlfcn.h>

static void *library;

__attribute__((constructor)) static void load(void)
{
    library = dlopen("libresolv.so.2", RTLD_NOW);
}
