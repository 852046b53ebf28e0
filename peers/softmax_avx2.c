/* softmax_avx2.c - exponentials of a row with AVX2 and FMA */
#define SOFTMAX_ROW softmax_row_avx2
#include "softmax_template.h"
