/* softmax_base.c - exponentials of a row with the basic instruction set */
#define SOFTMAX_ROW softmax_row_base
#include "softmax_template.h"
