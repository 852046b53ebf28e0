/*
 * config.c - configs, one value per knob: enumerate, print, parse
 */
#include <limits.h>
#include <string.h>

#include "internal.h"

static int knob_values(const heed_knob *knob)
{
    int count = 0;
    while (count < HEED_KNOB_VALUES_MAX && knob->values[count])
        count++;
    return count;
}

static bool knob_has(const heed_knob *knob, int value)
{
    for (int i = 0; i < knob_values(knob); i++)
        if (knob->values[i] == value)
            return true;
    return false;
}

int heed_knob_count(const heed_algorithm *algorithm)
{
    int count = 0;
    while (count < HEED_KNOBS_MAX && algorithm->knobs[count].letter)
        count++;
    return count;
}

int heed_config_count(const heed_algorithm *algorithm)
{
    int count = 1;
    if (algorithm->config_at)
        return algorithm->config_count;
    for (int i = 0; i < heed_knob_count(algorithm); i++)
        count *= knob_values(&algorithm->knobs[i]);
    return count;
}

void heed_config_at(const heed_algorithm *algorithm, int index, heed_config *config)
{
    memset(config, 0, sizeof *config);
    if (algorithm->config_at) {
        algorithm->config_at(index, config);
        return;
    }
    for (int i = 0; i < heed_knob_count(algorithm); i++) {
        int values = knob_values(&algorithm->knobs[i]);
        config->value[i] = algorithm->knobs[i].values[index % values];
        index /= values;
    }
}

static bool is_quiet(const heed_algorithm *algorithm, int knob)
{
    return algorithm->quiet & 1u << knob;
}

size_t heed_config_print(const heed_kernel *kernel, const heed_config *config, char *text,
                         size_t size)
{
    heed_text out = { .data = text, .size = size };
    int count = heed_knob_count(kernel->algorithm);
    heed_text_add(&out, "%s%s", kernel->name, count ? "__" : "");
    for (int i = 0; i < count; i++) {
        const heed_knob *knob = &kernel->algorithm->knobs[i];
        if (!is_quiet(kernel->algorithm, i) || config->value[i] != knob->values[0])
            heed_text_add(&out, "%c%d", knob->letter, config->value[i]);
    }
    return out.length;
}

/* A positive decimal number without sign or leading zero; -1 if there is none at *text. */
static int parse_number(const char **text)
{
    int value = 0;
    if (**text < '1' || **text > '9')
        return -1;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        int digit = **text - '0';
        if (value > (INT_MAX - digit) / 10)
            return -1;
        value = value * 10 + digit;
    }
    return value;
}

bool heed_config_parse(const heed_algorithm *algorithm, const char *text, heed_config *config)
{
    memset(config, 0, sizeof *config);
    for (int i = 0; i < heed_knob_count(algorithm); i++) {
        const heed_knob *knob = &algorithm->knobs[i];
        config->value[i] = knob->values[0];
        if (is_quiet(algorithm, i) && *text != knob->letter)
            continue;
        if (*text++ != knob->letter)
            return false;
        config->value[i] = parse_number(&text);
        if (!knob_has(knob, config->value[i]) ||
            (is_quiet(algorithm, i) && config->value[i] == knob->values[0]))
            return false;
    }
    return *text == '\0';
}
