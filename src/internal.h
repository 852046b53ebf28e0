/*
 * internal.h - the types behind heed.h, and the prototypes that files of src/ share
 *
 * problem -> plan -> kernel -> execute: a plan is (problem, kernel, config). A kernel is a row of
 * kernels.def; everything that is specific to it is reached through that row.
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

/* heed_element_size() is heed_type_size() of one in the enum, and folds where @type is a constant.
 */
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

/* CPU features, the bits of a set; cpu/features.c says more of each. */
enum {
    HEED_CPU_SCALAR = 0,
    HEED_CPU_AVX2 = 1 << 0,      /* with FMA and F16C */
    HEED_CPU_AVX512 = 1 << 1,    /* F, BW, DQ, VL */
    HEED_CPU_AVX512BF16 = 1 << 2 /* the dot product */
};

#define HEED_FEATURES_SIZE 32 /* the features of a machine as one word */

/* The machine as data: all that planning may depend on beside the problem. */
struct heed_machine {
    heed_backend backend;
    char device[64];              /* brand string */
    unsigned features;            /* of the CPU, in use, which may be fewer than there are */
    char cpu[HEED_FEATURES_SIZE]; /* the same as a word */
    const heed_gpu *gpu;          /* NULL for a CPU */
    int threads;
    double
        bf16_speed; /* multiply-adds of the bfloat16 dot product, if present, per one of float32 */
};

/* A knob: a parameter of a kernel that changes its speed and never what it computes. It appears in
 * names of configs as its letter followed by the value. Values end with 0 or with the array. */
#define HEED_KNOBS_MAX 12
#define HEED_KNOB_VALUES_MAX 11
typedef struct heed_knob {
    char letter;
    const char *name; /* such as "STAGES" */
    int values[HEED_KNOB_VALUES_MAX];
} heed_knob;

/* One value per knob of the kernel, in the order of its knobs. */
struct heed_config {
    int value[HEED_KNOBS_MAX];
};

/* A question about a config for a normalized problem. If the answer is no, *why becomes a text that
 * is static. */
typedef bool heed_config_test(const heed_kernel *kernel, const heed_problem *problem,
                              const heed_machine *machine, const heed_config *config,
                              const char **why);

/* The parts that all the instantiations of one algorithm share. Problems given to these functions
 * are normalized. */
typedef struct heed_algorithm {
    heed_knob knobs[HEED_KNOBS_MAX]; /* ends with letter 0 */
    unsigned quiet; /* bits of knobs that names of configs have only where they are not the first of
                       their values, so that names from before there were such knobs stay valid */

    /* The configs that planning looks at, where every combination of values would be too many; any
     * legal one can be asked for by name. NULL and 0: all combinations. */
    void (*config_at)(int index, heed_config *config);
    int config_count;

    bool modifies; /* it changes logits, hides keys and adds sinks as a problem's operands say */

    /* Can this config run the problem on the machine correctly? If not, *why says which limit it
     * breaks. NULL: every config can. */
    heed_config_test *legal;

    /* Is a legal config one that planning should look at? If not, *why says so, after "not
     * worthwhile: "; it can still be asked for by name. NULL: every one is. */
    heed_config_test *worthwhile;

    /* Predicted seconds of one execution. */
    double (*cost)(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config);

    /* Bytes of workspace of one execution. */
    size_t (*workspace)(const heed_kernel *kernel, const heed_problem *problem,
                        const heed_machine *machine, const heed_config *config);

    /* Makes plan->code, what execute() needs and takes time to make, such as compiled code; and
     * frees it again. NULL where there is nothing to make. */
    heed_status (*prepare)(heed_plan *plan);
    void (*release)(heed_plan *plan);

    /* Run. Buffers have been checked. */
    heed_status (*execute)(const heed_plan *plan, const heed_buffers *buffers);

    /* Of a CUDA kernel, how the code of a legal config is made and launched: fills in the source
     * and macros of @facts, and of its launch the entry, threads and what a block takes; the rest
     * of it is there (cuda/backend.h). NULL for others. */
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
    unsigned features; /* of the CPU that it needs, all of them */
    int arch;          /* compute capability that it needs, 10 * major + minor; 0: no GPU */
    unsigned types;    /* element types it takes: bits 1 << heed_type */
    const heed_algorithm *algorithm;
    const void *code; /* the instantiation; only the algorithm reads it */
};

struct heed_plan {
    heed_context *context;
    heed_problem problem; /* normalized: the kernel's part */
    heed_append *append;  /* the step ahead of it; NULL: none */
    heed_prefix *prefix;  /* keys common to all batch elements; NULL: none */
    int64_t ahead;        /* keys that lengths count, and that are not among the problem's */
    const heed_kernel *kernel;
    heed_config config;
    heed_program *program; /* changes of logits; NULL: none */
    bool operands;         /* the problem has some */
    void *code;            /* made by the algorithm's prepare() */
    heed_later *later;     /* kernel, config and code are being made ready; NULL: they are */
    bool ready;            /* prepare() takes no code but what is compiled already */
    char name[HEED_NAME_SIZE];
    size_t workspace_size;
    heed_effort effort; /* where the choice comes from */
    bool from_wisdom;
    bool shipped; /* in place of a better one that could not be compiled (plan_ready.c) */
    bool trial; /* it is measured: once the context is stopped, what it computes does not matter */
    size_t candidate_count;
    struct heed_considered *candidates; /* plan.h */
};

struct heed_context {
    heed_machine machine;
    pid_t process;   /* that made it: a child after fork() has neither its threads nor its device */
    heed_pool *pool; /* NULL on a CUDA device */
    heed_cuda *cuda; /* NULL on a CPU */
    heed_wisdom *wisdom;
    const heed_trace *trace; /* the tool that watches, or NULL */
    bool (*stop)(void);      /* ends measuring; or NULL */
    bool check;              /* HEED_CHECK: check.c's checks on a CUDA device too */
    heed_turns *turns;       /* of compilations in the background (later.h); NULL: there are none */
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

/* Keys from @begin on, up to @end and without it; none if they are equal. */
typedef struct heed_interval {
    int64_t begin;
    int64_t end;
} heed_interval;

/* check.c: HEED_OK if all lengths, and the pages that they need, are in range; else
 * HEED_ERR_INVALID, with the entry in the message, or what reading them said. */
heed_status heed_check_execution(const heed_plan *plan, const heed_buffers *buffers);

/* mask.c: which keys queries see, the same for all masks. Query i stands at position i + first and
 * sees the keys from position - left to position + right, as far as they exist; where there are
 * chunks, those of its own alone. An open side is HEED_OPEN. */
typedef struct heed_view {
    int64_t first;
    int64_t left;
    int64_t right;
    int64_t chunk; /* 0: none */
} heed_view;
#define HEED_OPEN ((int64_t)1 << 33) /* more than positions and keys are apart */

heed_view heed_problem_view(const heed_problem *problem);
/* Have batch elements lengths of their own: do the numbers of their queries, or of their keys,
 * differ? */
bool heed_problem_varies_q(const heed_problem *problem);
bool heed_problem_varies_k(const heed_problem *problem);
/* Do those numbers say where queries stand? Then the view is that of a batch element in which those
 * that vary are 0: its keys have to be added to positions, and its queries taken off. */
bool heed_problem_follows_lengths(const heed_problem *problem);
/* Does anything count by the positions of queries, beside a causal mask? */
bool heed_problem_aligned(const heed_problem *problem);
/* Does any query not see all keys? */
bool heed_problem_masked(const heed_problem *problem);
/* Does the mask hide keys ahead of those that a query sees? */
bool heed_problem_hides_first(const heed_problem *problem);
/* Brings the mask of a problem without faults into its normal form. */
void heed_mask_normalize(heed_problem *problem);
/* No query sees more keys. */
int64_t heed_problem_most_keys(const heed_problem *problem);
/* Query-key pairs of one head where the query sees the key. */
int64_t heed_problem_pairs(const heed_problem *caller);
/* Queries and keys of a batch element. */
typedef struct heed_lengths {
    int64_t q;
    int64_t k;
} heed_lengths;
/* Those of a problem where they do not vary. */
heed_lengths heed_problem_lengths(const heed_problem *problem);
/* A problem of batch elements that are equally long, in place of packed sequences: for
 * predictions. */
heed_problem heed_problem_typical(const heed_problem *problem);
/* The problem for which a kernel and its config are chosen: if @problem, which is normalized, is
 * batch-invariant, one of HEED_INVARIANT_BATCH elements, dense, made in @room; else @problem. */
const heed_problem *heed_problem_planned(const heed_problem *problem, heed_problem *room);
/* The keys that query @i sees in a batch element of these lengths. Neither side decreases
 * from one query to the next, so what a block of queries looks at lies between the first one's
 * begin and the last one's end, and all of its queries see what lies between the last one's begin
 * and the first one's end. */
heed_interval heed_problem_keys(const heed_problem *problem, heed_lengths lengths, int64_t i);
bool heed_problem_equal(const heed_problem *a, const heed_problem *b);

/* Query heads that share a key/value head. */
static inline int64_t heed_problem_group(const heed_problem *problem)
{
    return problem->heads_q / problem->heads_kv;
}

/* How many pieces of @b, 1 or more, hold @a, 0 or more. */
static inline int64_t heed_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* config.c: the configs of an algorithm that planning looks at are numbered 0 ..
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
/* The kernel of a name with or without a config; *config_text is what follows "__", or NULL. NULL
 * if there is none. */
const heed_kernel *heed_kernel_find(const char *name, const char **config_text);
/* The kernel whose row has this @code; NULL if there is none. */
const heed_kernel *heed_kernel_of(const void *code);
/* Hash of the sources that the kernels were built from, and the compiler: a change of either makes
 * wisdom stale. */
const char *heed_kernel_build(void);

/* wisdom.c: the choice for a problem. Internally locked. */
typedef struct heed_choice {
    char name[HEED_NAME_SIZE]; /* kernel and config */
    double seconds;            /* measured */
    heed_effort effort;        /* HEED_MEASURE or HEED_PATIENT */
} heed_choice;
heed_status heed_wisdom_create(heed_wisdom **wisdom);
void heed_wisdom_destroy(heed_wisdom *wisdom);
/* Looks for @problem (normalized); true if there is a choice that took at least @effort
 * (HEED_WISDOM_ONLY counts as HEED_ESTIMATE). */
bool heed_wisdom_lookup(heed_wisdom *wisdom, const heed_problem *problem, heed_effort effort,
                        heed_choice *choice);
heed_status heed_wisdom_add(heed_wisdom *wisdom, const heed_problem *problem,
                            const heed_choice *choice);

/* cpu/machine.c: the facts about the machine, masked by @cpu (NULL: HEED_CPU, else all). */
heed_status heed_machine_detect(heed_machine *machine, const char *cpu, int threads);

/* context.c: heed_context_check() returns HEED_OK if the calling process may lock and change
 * @context, else HEED_ERR_INVALID: it is NULL, or another process's, inherited by fork(), in which
 * a lock may have been held that nobody gives back. */
heed_status heed_context_check(const heed_context *context);

/* context.c: the features in use as one word: "avx512", or "sm_90-driver13.0-nvrtc13.0". */
void heed_machine_features(const heed_machine *machine, char text[HEED_FEATURES_SIZE]);

/* cpu/pool.c: body(data, i) for i = 0 on the caller and, where the pool is free, for further i
 * below count on other threads at the same time. Each body must take work from a common store until
 * there is none left, for only i = 0 is sure to run. count is at most the number of threads. */
heed_status heed_pool_create(heed_pool **pool, int threads, heed_parallel_fn *parallel, void *user);
void heed_pool_destroy(heed_pool *pool);
void heed_pool_run(heed_pool *pool, void (*body)(void *data, int index), void *data, int count);

#endif /* HEED_INTERNAL_H */
