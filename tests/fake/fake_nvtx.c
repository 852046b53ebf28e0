/*
 * fake_nvtx.c - an NVTX tool that records events
 *
 * FAKE_NVTX selects the kind of tool: "refuse" declines, "deaf" has no functions; any other
 * records. To read its events, load the library once more and call fake_nvtx_event().
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_nvtx.h"

typedef void any_fn(void);
typedef const void *get_table_fn(uint32_t table);

/* As tools see them. */
typedef struct callbacks {
    size_t size;
    int (*functions)(unsigned module, any_fn ****table, unsigned *count);
} callbacks;

typedef struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
} attributes;

#define EVENTS_MAX 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fake_nvtx_record events[EVENTS_MAX];
static int event_count;
static char domain_name[32];
static int categories;

static void add(const char *kind, uint32_t category, const char *text)
{
    pthread_mutex_lock(&lock);
    if (event_count < EVENTS_MAX) {
        fake_nvtx_record *it = &events[event_count++];
        it->kind = *kind;
        it->thread = pthread_self();
        it->category = category;
        snprintf(it->text, sizeof it->text, "%s", text);
    }
    pthread_mutex_unlock(&lock);
}

static void *create(const char *name)
{
    snprintf(domain_name, sizeof domain_name, "%s", name);
    return domain_name;
}

static void name_category(void *domain, uint32_t category, const char *name)
{
    categories += domain == domain_name && category > 0 && *name;
}

static int push(void *domain, const attributes *range)
{
    int sound = domain == domain_name && range->version == 3 && range->size == sizeof *range &&
                range->message_type == 1 && range->payload_type == 0 && range->reserved == 0;
    add(sound ? "push" : "bad", range->category, range->message);
    return 0;
}

static int pop(void *domain)
{
    add(domain == domain_name ? "leave" : "bad", 0, "");
    return 0;
}

int InitializeInjectionNvtx2(get_table_fn *get_table);

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(get_table_fn *get_table)
{
    const char *mood = getenv("FAKE_NVTX");
    const callbacks *table = get_table(1);
    any_fn ***functions = NULL;
    unsigned count = 0;
    if (!table || table->size < sizeof *table || !get_table(3) || get_table(2) ||
        table->functions(0, &functions, &count) || table->functions(7, &functions, &count))
        return 0;
    if (mood && strcmp(mood, "deaf") == 0)
        return 1;
    for (unsigned module = 1; module < 7; module++) { /* every slot can be written to */
        if (!table->functions(module, &functions, &count) || functions[0] || functions[count])
            return 0;
        for (unsigned i = 1; i < count; i++)
            *functions[i] = NULL;
    }
    if (!table->functions(5, &functions, &count) || count != 16)
        return 0;
    *functions[4] = (any_fn *)push;
    *functions[5] = (any_fn *)pop;
    *functions[8] = (any_fn *)name_category;
    *functions[12] = (any_fn *)create;
    return !mood || strcmp(mood, "refuse") != 0;
}

__attribute__((visibility("default"))) int fake_nvtx_event(int index, fake_nvtx_record *record)
{
    pthread_mutex_lock(&lock);
    int there = index < event_count;
    if (there)
        *record = events[index];
    pthread_mutex_unlock(&lock);
    return there;
}

__attribute__((visibility("default"))) const char *fake_nvtx_domain(int *named)
{
    *named = categories;
    return domain_name;
}
