/*
 * config_specs.h - problems and devices for which every config is tried
 */
#ifndef CONFIG_SPECS_H
#define CONFIG_SPECS_H

#include <stddef.h>

/* Every head dim that kernels pad to, with a mask, whose code is longer; the largest of each class
 * also without one. Then samples of the other types, of head dims that need padding, and of unequal
 * ones; and of changed logits, hidden keys and sinks. */
#define CONFIG_SPECS 35
extern const char *const config_specs[CONFIG_SPECS];

/* Architectures, as 10 * major + minor. */
#define CONFIG_ARCHS 3
extern const int config_archs[CONFIG_ARCHS];

#endif /* CONFIG_SPECS_H */
