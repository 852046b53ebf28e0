/*
 * internal.h - the types behind heed.h, and the prototypes that files of src/ share
 *
 * problem -> plan -> kernel -> execute: a plan is (problem, kernel, config). A kernel is a row of
 * kernels.def; everything specific to it is reached through that row.
 */
#ifndef HEED_INTERNAL_H
#define HEED_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "heed.h"
#include "message.h"
#include "trace.h"

typedef struct heed_kernel heed_kernel;
typedef struct heed_config heed_config;
typedef struct heed_machine heed_machine;
typedef struct heed_pool heed_pool;
typedef struct heed_wisdom heed_wisdom;
typedef struct heed_gpu heed_gpu;               /* cuda/gpu.h */
typedef struct heed_program heed_program;       /* program.h */
typedef struct heed_append heed_append;         /* append.h */
typedef struct heed_prefix heed_prefix;         /* prefix.h */
typedef struct heed_later heed_later;           /* later.h */
typedef struct heed_turns heed_turns;           /* later.h */
typedef struct heed_cuda heed_cuda;             /* cuda/driver/device.h */
typedef struct heed_cuda_facts heed_cuda_facts; /* cuda/facts.h */

/* heed_element_size() is heed_type_size() for a valid type, and is folded where @type is a
 * constant. */
static inline int64_t heed_element_size(heed_type type)
{
    static const int64_t sizes[HEED_TYPE_COUNT] = {
#define HEED_TYPE(type, data, name, size) [type] = (size),
#include "problem/types.def"
#undef HEED_TYPE
    };
    return sizes[type];
}

/* A backend runs kernels. A context is for one device of one backend. */
typedef enum heed_backend {
    HEED_BACKEND_CPU,
    HEED_BACKEND_CUDA
} heed_backend;

/* CPU features, the bits of a set; cpu/features.c describes each. */
enum {
    HEED_CPU_SCALAR = 0,
    HEED_CPU_AVX2 = 1 << 0,       /* with FMA and F16C */
    HEED_CPU_AVX512 = 1 << 1,     /* F, BW, DQ, VL */
    HEED_CPU_AVX512BF16 = 1 << 2, /* the dot product */
    HEED_CPU_AMX = 1 << 3         /* tile registers, with bfloat16 */
};

#define HEED_FEATURES_SIZE 32 /* the features of a machine as one word */

/* The machine as data: everything that planning may depend on besides the problem. */
struct heed_machine {
    heed_backend backend;
    char device[64];              /* brand string */
    unsigned features;            /* of the CPU, in use: maybe fewer than it has */
    char cpu[HEED_FEATURES_SIZE]; /* the same as a word */
    const heed_gpu *gpu;          /* NULL for a CPU */
    int threads;
    double bf16_speed; /* multiply-adds of the bfloat16 dot product, if present, per float32
                          multiply-add */
};

/* A knob: a parameter of a kernel that changes its speed but never its result. Config names have
 * its letter followed by the value. Values end with 0 or with the array. */
#define HEED_KNOBS_MAX 12
#define HEED_KNOB_VALUES_MAX 16
typedef struct heed_knob {
    char letter;
    const char *name; /* such as "STAGES" */
    int values[HEED_KNOB_VALUES_MAX];
} heed_knob;

/* One value per knob of the kernel, in the order of its knobs. */
struct heed_config {
    int value[HEED_KNOBS_MAX];
};

/* A test of a config for a normalized problem. If it returns false, *why is set to a static
 * text. */
typedef bool heed_config_test(const heed_kernel *kernel, const heed_problem *problem,
                              const heed_machine *machine, const heed_config *config,
                              const char **why);

/* How plans are made and executed: the same for all kernels of a backend. Problems are
 * normalized. */
typedef struct heed_plan_functions {
    /* Bytes of workspace of one execution. */
    size_t (*workspace)(const heed_kernel *kernel, const heed_problem *problem,
                        const heed_machine *machine, const heed_config *config);

    /* Makes plan->code, which execute() needs and which takes time to make, such as compiled code;
     * and frees it. NULL if there is nothing to make. */
    heed_status (*prepare)(heed_plan *plan);
    void (*release)(heed_plan *plan);

    /* Executes the plan. Buffers have been checked. */
    heed_status (*execute)(const heed_plan *plan, const heed_buffers *buffers);
} heed_plan_functions;

/* The parts that all instantiations of an algorithm share. Problems passed to these functions are
 * normalized. */
typedef struct heed_algorithm {
    heed_knob knobs[HEED_KNOBS_MAX]; /* ends with letter 0 */
    unsigned quiet; /* bits of knobs that config names omit where they have their first value, so
                       names from before these knobs existed stay valid */

    /* The configs that planning considers, where all combinations of values would be too many; any
     * legal one can be requested by name. NULL and 0: all combinations. */
    void (*config_at)(int index, heed_config *config);
    int config_count;

    bool modifies; /* it supports operands that change logits, hide keys or add sinks */

    /* True if this config can run the problem on the machine correctly. If not, *why names the
     * limit it exceeds. NULL: every config can. */
    heed_config_test *legal;

    /* True if planning should consider a legal config. If not, *why gives the reason, after "not
     * worthwhile: "; it can still be requested by name. NULL: always true. */
    heed_config_test *worthwhile;

    /* Predicted seconds of one execution. */
    double (*cost)(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config);

    const heed_plan_functions *plans;

    /* For CUDA kernels, how to compile and launch the code of a legal config: fills in the source
     * and macros of @facts, and the entry, threads and block resources of its launch; the other
     * fields are already set (cuda/backend.h). NULL for CPU kernels. */
    heed_status (*facts)(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *facts);
} heed_algorithm;

/* One row of kernels.def. */
struct heed_kernel {
    const char *name;
    const char *summary;
    heed_pass pass;
    heed_backend backend;
    unsigned features; /* CPU features it needs, all of them */
    int arch;          /* compute capability it needs, 10 * major + minor; 0: no GPU */
    unsigned types;    /* element types it takes: bits 1 << heed_type */
    const heed_algorithm *algorithm;
    const void *code; /* the instantiation; only the algorithm reads it */
};

struct heed_plan {
    heed_context *context;
    heed_problem problem; /* the kernel's part, normalized */
    heed_append *append;  /* the step before it; NULL: none */
    heed_prefix *prefix;  /* keys shared by all batch elements; NULL: none */
    int64_t ahead;        /* keys that lengths include but the problem does not: the prefix */
    const heed_kernel *kernel;
    heed_config config;
    heed_program *program; /* changes of logits; NULL: none */
    bool operands;         /* the problem has operands */
    void *code;            /* made by the algorithm's prepare() */
    heed_later *later;     /* kernel, config and code that are still being prepared; NULL: all is
                              ready */
    bool ready;            /* prepare() only uses code that is already compiled */
    char name[HEED_NAME_SIZE];
    size_t workspace_size;
    heed_effort effort; /* how the choice was made */
    bool from_wisdom;
    bool shipped; /* replaces a better one that could not be compiled (plan_ready.c) */
    bool trial; /* it is being measured: once the context is stopped, its output does not matter */
    size_t candidate_count;
    struct heed_considered *candidates; /* plan.h */
};

struct heed_context {
    heed_machine machine;
    pid_t process;   /* that made it: a child after fork() has neither its threads nor its device */
    heed_pool *pool; /* NULL on a CUDA device */
    heed_cuda *cuda; /* NULL on a CPU */
    heed_wisdom *wisdom;
    const heed_trace *trace; /* the profiling tool, or NULL */
    bool (*stop)(void);      /* ends measuring; or NULL */
    bool check;              /* HEED_CHECK: run the checks of check.c on a CUDA device too */
    heed_turns *turns;       /* for background compilations (later.h); NULL: none */
};

/* text.c: append to a fixed buffer as snprintf does, counting what did not fit; heed_text_none()
 * writes nothing at all. */
typedef struct heed_text {
    char *data;
    size_t size;
    size_t length;
} heed_text;
void heed_text_add(heed_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t heed_text_none(char *text, size_t size);

/* Keys from @begin up to but not including @end; none if they are equal. */
typedef struct heed_interval {
    int64_t begin;
    int64_t end;
} heed_interval;

/* check.c: HEED_OK if all lengths, and the pages that they need, are in range; else
 * HEED_ERR_INVALID, with the entry in the message, or the status of reading them. */
heed_status heed_check_execution(const heed_plan *plan, const heed_buffers *buffers);

/* mask.c: the keys that queries see, in one form for all masks. Query i is at position i + first
 * and sees the existing keys from position - left to position + right; where there are chunks, only
 * those of its own chunk. An open side is HEED_OPEN. */
typedef struct heed_view {
    int64_t first;
    int64_t left;
    int64_t right;
    int64_t chunk; /* 0: none */
} heed_view;
#define HEED_OPEN ((int64_t)1 << 33) /* more than any distance of positions and keys */

heed_view heed_problem_view(const heed_problem *problem);
/* True if the number of queries, or of keys, may differ between batch elements. */
bool heed_problem_varies_q(const heed_problem *problem);
bool heed_problem_varies_k(const heed_problem *problem);
/* True if query positions depend on those numbers. Then the view is that of a batch element whose
 * varying numbers are 0: add its keys to positions, and subtract its queries. */
bool heed_problem_follows_lengths(const heed_problem *problem);
/* True if anything besides a causal mask depends on query positions. */
bool heed_problem_aligned(const heed_problem *problem);
/* True if some query does not see all keys. */
bool heed_problem_masked(const heed_problem *problem);
/* True if the mask hides keys before those that a query sees. */
bool heed_problem_hides_first(const heed_problem *problem);
/* Normalizes the mask of a valid problem. */
void heed_mask_normalize(heed_problem *problem);
/* The largest number of keys that a query sees. */
int64_t heed_problem_most_keys(const heed_problem *problem);
/* Visible query-key pairs of one head. */
int64_t heed_problem_pairs(const heed_problem *caller);
/* Their share of all pairs. */
double heed_problem_share(const heed_problem *problem);
/* Queries and keys of a batch element. */
typedef struct heed_lengths {
    int64_t q;
    int64_t k;
} heed_lengths;
/* The lengths of a problem where they do not vary. */
heed_lengths heed_problem_lengths(const heed_problem *problem);
/* A problem with equally long batch elements in place of packed sequences, and of those that share
 * a pool of pages: for predictions. */
heed_problem heed_problem_typical(const heed_problem *problem);
/* The problem for which a kernel and its config are chosen: if @problem, which is normalized, is
 * batch-invariant, a dense one with HEED_INVARIANT_BATCH elements, which have operands of their own
 * where they may, stored in @room; else @problem. */
const heed_problem *heed_problem_planned(const heed_problem *problem, heed_problem *room);
/* The keys that query @i sees in a batch element of these lengths. Neither bound decreases from one
 * query to the next, so the keys of a block of queries lie between the first query's begin and the
 * last one's end, and all of its queries see those between the last one's begin and the first one's
 * end. */
heed_interval heed_problem_keys(const heed_problem *problem, heed_lengths lengths, int64_t i);
bool heed_problem_equal(const heed_problem *a, const heed_problem *b);

/* Query heads that share a key/value head. */
static inline int64_t heed_problem_group(const heed_problem *problem)
{
    return problem->heads_q / problem->heads_kv;
}

/* @a, 0 or more, divided by @b, 1 or more, rounded up. */
static inline int64_t heed_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* config.c: the configs of an algorithm that planning considers are numbered 0 ..
 * heed_config_count() - 1. */
int heed_knob_count(const heed_algorithm *algorithm);
int heed_config_count(const heed_algorithm *algorithm);
void heed_config_at(const heed_algorithm *algorithm, int index, heed_config *config);
size_t heed_config_print(const heed_kernel *kernel, const heed_config *config, char *text,
                         size_t size);
bool heed_config_parse(const heed_algorithm *algorithm, const char *text, heed_config *config);

/* kernel.c: the rows of kernels.def. */
size_t heed_kernel_count(void);
const heed_kernel *heed_kernel_at(size_t index);
/* Finds the kernel by a name with or without a config; *config_text is the part after "__", or
 * NULL. NULL if there is none. */
const heed_kernel *heed_kernel_find(const char *name, const char **config_text);
/* The kernel whose row has this @code; NULL if there is none. */
const heed_kernel *heed_kernel_of(const void *code);
/* Hash of the kernels' sources and the compiler: a change of either makes wisdom stale. */
const char *heed_kernel_build(void);

/* wisdom.c: the choice for a problem. Internally locked. */
typedef struct heed_choice {
    char name[HEED_NAME_SIZE]; /* kernel and config */
    double seconds;            /* measured */
    heed_effort effort;        /* HEED_MEASURE or HEED_PATIENT */
} heed_choice;
heed_status heed_wisdom_create(heed_wisdom **wisdom);
void heed_wisdom_destroy(heed_wisdom *wisdom);
/* Looks up @problem (normalized); true if there is a choice that took at least @effort
 * (HEED_WISDOM_ONLY counts as HEED_ESTIMATE). */
bool heed_wisdom_lookup(heed_wisdom *wisdom, const heed_problem *problem, heed_effort effort,
                        heed_choice *choice);
heed_status heed_wisdom_add(heed_wisdom *wisdom, const heed_problem *problem,
                            const heed_choice *choice);

/* cpu/machine.c: detects the machine, with its CPU features masked by @cpu (NULL: HEED_CPU, else
 * all). */
heed_status heed_machine_detect(heed_machine *machine, const char *cpu, int threads);

/* context.c: heed_context_check() returns HEED_OK if the calling process may lock and change
 * @context, else HEED_ERR_INVALID: it is NULL, or was inherited by fork(), in which case one of its
 * locks may be held forever. */
heed_status heed_context_check(const heed_context *context);

/* context.c: the features in use as one word: "avx512", or "sm_90-driver13.0-nvrtc13.0". */
void heed_machine_features(const heed_machine *machine, char text[HEED_FEATURES_SIZE]);

/* cpu/pool.c: runs body(data, i) for i = 0 on the calling thread and, if the pool is free, for
 * further i below count on other threads at the same time. Each body must take work from a shared
 * queue until there is none left, because only i = 0 is guaranteed to run. count is at most the
 * number of threads. */
heed_status heed_pool_create(heed_pool **pool, int threads, heed_parallel_fn *parallel, void *user);
void heed_pool_destroy(heed_pool *pool);
void heed_pool_run(heed_pool *pool, void (*body)(void *data, int index), void *data, int count);

#endif /* HEED_INTERNAL_H */
