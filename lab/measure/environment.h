/*
 * environment.h - the machine and software that a result was measured with
 *
 * A figure without its machine is worthless a week later. Everything here is read once, cheaply and
 * without privileges; a fact that the system does not report keeps its "unknown" value.
 */
#ifndef LAB_ENVIRONMENT_H
#define LAB_ENVIRONMENT_H

#include <jansson.h>

typedef struct lab_environment {
    char cpu[96];      /* model name, "unknown" if not readable */
    int cores_online;  /* logical CPUs of the machine */
    int cores_allowed; /* those that this process may use (affinity); 0: unknown */
    char governor[32]; /* frequency governor of the first CPU, "unknown" in most virtual machines */
    double clock_mhz;  /* current clock of the first CPU; 0: unknown */
    double load;       /* load average of the last minute; negative: unknown */
    double memory_gib; /* physical; 0: unknown */
    char kernel[96];   /* operating system kernel and its release */
    char compiler[48]; /* used for this laboratory */
    char heed[24];     /* version of libheed */
    char commit[48];   /* that heed was built from; "unknown" outside a checkout */
    char time[24];     /* UTC, ISO 8601: 2026-01-31T23:59:59Z */
} lab_environment;

/* lab_environment_read() fills @environment. It cannot fail. */
void lab_environment_read(lab_environment *environment);

/* lab_environment_cores() returns the number of cores that this process may use, 1 if unknown. */
int lab_environment_cores(void);

/* lab_environment_json() returns @it as a JSON object with the same field names; unknown
 * facts are null. The caller owns it. NULL if there is no memory. */
json_t *lab_environment_json(const lab_environment *it);

#endif /* LAB_ENVIRONMENT_H */
