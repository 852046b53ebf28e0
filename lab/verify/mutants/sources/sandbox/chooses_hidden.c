/* chooses_hidden: like chooses, but without a symbol; refused for its relocation */
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

static double half(double x) __attribute__((ifunc("choose")));
double (*volatile kept)(double) = half;
