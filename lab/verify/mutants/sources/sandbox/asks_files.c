/* asks_files: lists files while it is loaded, and remembers it; killed by the
 * filter, which is on before its constructors run */
#include <sys/stat.h>

static struct stat found;

__attribute__((constructor)) static void ask(void)
{
    stat("/etc/passwd", &found);
}
