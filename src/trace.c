/*
 * trace.c - the NVTX version 3 protocol, as tools expect it, without NVIDIA's header
 *
 * The protocol: a tool's library exports InitializeInjectionNvtx2(get_table). It calls get_table
 * for the table of callbacks, and one of these for the functions of a module, which returns an
 * array of slots. The tool writes its functions to the slots; one that stays NULL is a function
 * that it does not implement.
 */
#include "trace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 3

/* Tables that can be requested. */
enum {
    TABLE_CALLBACKS = 1,
    TABLE_VERSION = 3
};

/* Modules, and the functions of the fifth one that are used here. The others only exist because
 * tools may write to them. */
enum {
    MODULES = 7, /* numbers 1 to 6 */
    MODULE_DOMAINS = 5,
    DOMAIN_PUSH = 4,
    DOMAIN_POP = 5,
    DOMAIN_NAME_CATEGORY = 8,
    DOMAIN_CREATE = 12,
    FUNCTIONS_MAX = 16
};

/* Number of slots of each module, including slot 0, which has no function. */
static const unsigned function_counts[MODULES] = { 0, 16, 9, 15, 7, 16, 7 };

typedef void any_fn(void);

/* Attributes of a range; 48 bytes on 64-bit machines. */
typedef struct attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type; /* 1: alpha, red, green, blue */
    uint32_t color;
    int32_t payload_type; /* 0: none */
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /* 1: text */
    const char *message;
} attributes;

_Static_assert(sizeof(void *) != 8 || sizeof(attributes) == 48, "as tools expect it");

typedef void *create_fn(const char *name);
typedef void name_category_fn(void *domain, uint32_t category, const char *name);
typedef int push_fn(void *domain, const attributes *range);
typedef int pop_fn(void *domain);

struct heed_trace {
    void *domain;
    push_fn *push;
    pop_fn *pop;
};

typedef struct callbacks {
    size_t size;
    int (*functions)(unsigned module, any_fn ****table, unsigned *count);
} callbacks;

typedef struct version_info {
    size_t size;
    uint32_t version;
    uint32_t reserved;
    void (*tell)(uint32_t version);
} version_info;

typedef const void *get_table_fn(uint32_t table);
typedef int initialize_fn(get_table_fn *get_table);

static const struct {
    const char *name;
    uint32_t color;
} kinds[HEED_TRACE_KINDS] = {
    [HEED_TRACE_PLAN] = { "plan", 0xff4e79a7 },
    [HEED_TRACE_COMPILE] = { "compile", 0xfff28e2b },
    [HEED_TRACE_EXECUTE] = { "execute", 0xff59a14f },
};

/* The table that a tool writes to, one per process: the tool's library is never unloaded. */
static struct {
    pthread_once_t once;
    bool watched;
    heed_trace trace;
    any_fn *functions[MODULES][FUNCTIONS_MAX];
    any_fn **places[MODULES][FUNCTIONS_MAX + 1]; /* slots of functions; the first and the last are
                                                    NULL */
} process = { .once = PTHREAD_ONCE_INIT };

static int get_functions(unsigned module, any_fn ****table, unsigned *count)
{
    if (module == 0 || module >= MODULES)
        return 0;
    if (table)
        *table = process.places[module];
    if (count)
        *count = function_counts[module];
    return 1;
}

static void take_version(uint32_t version)
{
    (void)version;
}

static const void *get_table(uint32_t table)
{
    static const callbacks functions = { sizeof functions, get_functions };
    static const version_info version = { sizeof version, VERSION, 0, take_version };
    return table == TABLE_CALLBACKS ? (const void *)&functions
           : table == TABLE_VERSION ? (const void *)&version
                                    : NULL;
}

/* Gets the tool's function @number, stored to a pointer of another type; false: it has none. */
static bool find(unsigned number, void *function)
{
    memcpy(function, &process.functions[MODULE_DOMAINS][number], sizeof(any_fn *));
    return process.functions[MODULE_DOMAINS][number] != NULL;
}

static bool make_domain(heed_trace *trace)
{
    create_fn *create;
    name_category_fn *name_category;
    if (!find(DOMAIN_PUSH, &trace->push) || !find(DOMAIN_POP, &trace->pop) ||
        !find(DOMAIN_CREATE, &create))
        return false;
    trace->domain = create("heed");
    for (uint32_t i = 0; i < HEED_TRACE_KINDS && find(DOMAIN_NAME_CATEGORY, &name_category); i++)
        name_category(trace->domain, i + 1, kinds[i].name);
    return true;
}

static void look_once(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH"), *wish = getenv("HEED_NVTX");
    initialize_fn *initialize = NULL;
    if (!path || !*path || (wish && strcmp(wish, "0") == 0))
        return;
    void *library = dlopen(path, RTLD_LAZY);
    void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (!symbol)
        return;
    for (unsigned module = 1; module < MODULES; module++)
        for (unsigned i = 1; i < function_counts[module]; i++)
            process.places[module][i] = &process.functions[module][i];
    memcpy(&initialize, &symbol, sizeof symbol);
    process.watched = initialize(get_table) != 0 && make_domain(&process.trace);
}

const heed_trace *heed_trace_get(void)
{
    pthread_once(&process.once, look_once);
    return process.watched ? &process.trace : NULL;
}

void heed_trace_begin(const heed_trace *trace, heed_trace_kind kind, const char *name)
{
    const attributes range = { .version = VERSION,
                               .size = sizeof range,
                               .category = kind + 1,
                               .color_type = 1,
                               .color = kinds[kind].color,
                               .message_type = 1,
                               .message = name };
    if (trace)
        trace->push(trace->domain, &range);
}

void heed_trace_begin_plan(const heed_trace *trace, const heed_problem *problem)
{
    char name[HEED_SPEC_SIZE + 8] = "plan ";
    if (!trace)
        return;
    if (problem)
        heed_problem_print(problem, name + 5, sizeof name - 5);
    heed_trace_begin(trace, HEED_TRACE_PLAN, name);
}

void heed_trace_end(const heed_trace *trace)
{
    if (trace)
        trace->pop(trace->domain);
}
