/* softmax_avx512.c - exponentials of a row with AVX-512 */
#define SOFTMAX_ROW softmax_row_avx512
#include "softmax_template.h"
