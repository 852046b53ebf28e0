/* chooses: lists files in an ifunc resolver, which the dynamic linker calls; refused, as nothing
 * may run while it is loaded */
#include <sys/stat.h>

static struct stat found;

static double plain_half(double x)
{
    return x / 2;
}

static double (*choose(void))(double)
{
    stat("/etc/passwd", &found);
    return plain_half;
}

double half(double x) __attribute__((ifunc("choose")));
