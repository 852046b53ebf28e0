/*
 * plan.h - declarations shared by plan.c, plan_measure.c and plan_explain.c
 */
#ifndef HEED_PLAN_H
#define HEED_PLAN_H

#include "internal.h"

/* A kernel that the planner considered. Times are negative where unknown. */
typedef struct heed_considered {
    const heed_kernel *kernel;
    heed_config config;
    char name[HEED_NAME_SIZE]; /* kernel and config; for a rejected kernel only the kernel */
    const char *rejected;      /* static text: why it cannot be chosen or, if it was chosen by name
                                  or by wisdom, why planning would not choose it; or NULL */
    double predicted;          /* for the plan's problem */
    double measured;           /* like @rank, for heed_problem_planned() */
    double rank;               /* the prediction by which candidates are chosen */
    bool chosen;
} heed_considered;

/* plan.c: why @kernel cannot run @problem (normalized) on @machine at all; NULL if it can. */
const char *heed_plan_reject(const heed_kernel *kernel, const heed_problem *problem,
                             const heed_machine *machine);

/* True if @config is legal, if a legal one is worthwhile, and if it is both. If not, *@why is the
 * reason. */
heed_config_test heed_plan_legal, heed_plan_worthwhile, heed_plan_considers;

/* heed_plan_cost() predicts the seconds of one execution of @kernel in @config; heed_plan_rank()
 * does so for heed_problem_planned(). */
double heed_plan_cost(const heed_kernel *kernel, const heed_problem *problem,
                      const heed_machine *machine, const heed_config *config);
double heed_plan_rank(const heed_kernel *kernel, const heed_problem *problem,
                      const heed_machine *machine, const heed_config *config);

/* The config of @kernel that the cost model ranks best among those that are legal and worthwhile;
 * *@rank is its heed_plan_rank(), infinite if there is none: then *@why is the reason for the last
 * one. */
heed_config heed_plan_best_config(const heed_kernel *kernel, const heed_problem *problem,
                                  const heed_machine *machine, double *rank, const char **why);

/* Sets the config of @candidate, and its name and predictions accordingly. */
void heed_plan_configure(heed_considered *candidate, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config);

/* Makes @plan run @kernel in @config, or nothing. On failure it runs nothing. heed_plan_aim()
 * leaves the preparation to the caller. */
heed_status heed_plan_set(heed_plan *plan, const heed_kernel *kernel, const heed_config *config);
void heed_plan_aim(heed_plan *plan, const heed_kernel *kernel, const heed_config *config);
void heed_plan_unset(heed_plan *plan);

/* Makes @plan run @candidate, in its config. */
typedef heed_status heed_choose_fn(heed_plan *plan, heed_considered *candidate);
heed_choose_fn heed_plan_choose;

/* plan_ready.c: makes @plan run the best config whose code is available, and sets *@candidate to
 * that of its kernel, which may have another config; names and candidates are not changed.
 * HEED_ERR_DEVICE if there is none, HEED_ERR_NO_MEMORY. */
heed_status heed_plan_set_ready(heed_plan *plan, heed_considered **candidate);

/* plan_ready.c: after planning failed with @failure because there is no compiler, makes the plan
 * run the best config whose code was shipped with the library. Returns HEED_OK, or @failure and its
 * message. */
heed_status heed_plan_choose_shipped(heed_plan *plan, heed_status failure);

/* Times the candidates of @plan, and at HEED_PATIENT their configs too, and sets *@best to the
 * fastest; the candidates are left in their best config. Allocates temporary tensors. */
heed_status heed_plan_measure(heed_plan *plan, heed_effort effort, heed_considered **best);

/* Makes plan->program from plan->problem, where it has one. HEED_ERR_NO_MEMORY. */
heed_status heed_plan_add_program(heed_plan *plan);

#endif /* HEED_PLAN_H */
