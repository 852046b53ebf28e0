/*
 * fuzz_problem.c - arbitrary specs, and arbitrary problems as structs
 *
 * An input is a spec; one that begins with a null byte has the fields of a problem.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A message about a spec has the form: reason, spec, caret, with the caret below the spec or just
 * after it. */
static void check_message(void)
{
    const char *spec = strchr(heed_message(), '\n');
    require(spec && spec > heed_message(), "a message has a reason");
    const char *caret = strchr(spec + 1, '\n');
    require(caret != NULL, "a message shows the spec");
    size_t width = (size_t)(caret - spec - 1), column = strlen(caret + 1) - 1;
    require(caret[column + 1] == '^', "a message ends with a caret");
    require(strspn(caret + 1, " ") == column, "blanks lead to the caret");
    require(column >= 2 && column <= width && width <= 70, "the caret is below the spec");
}

/* Properties of every problem that has passed the check. */
static void check_valid(const heed_problem *problem)
{
    heed_problem normal, again, back;
    char text[HEED_SPEC_SIZE], other[HEED_SPEC_SIZE];
    require(heed_problem_check(problem) == HEED_OK, "a problem passes the check again");
    require(heed_problem_normalize(&normal, problem) == HEED_OK,
            "a checked problem has a normal form");
    require(heed_problem_normalize(&again, &normal) == HEED_OK &&
                heed_problem_equal(&again, &normal),
            "the normal form is its own normal form");
    require(heed_problem_print(problem, text, sizeof text) < sizeof text, "a spec fits its buffer");
    require(heed_problem_parse(&back, text) == HEED_OK, "a printed spec can be read");
    require(heed_problem_equal(&back, &normal), "a printed spec gives the same problem");
    heed_problem_print(&back, other, sizeof other);
    require(strcmp(text, other) == 0, "equal problems print the same");

    double flops = heed_problem_flops(problem), bytes = heed_problem_bytes(problem);
    require(isfinite(flops) && flops >= 0 && isfinite(bytes) && bytes > 0, "work is finite");
    const int64_t queries[] = { 0, normal.seq_q / 2, normal.seq_q - 1 };
    for (int i = 0; i < 3; i++) {
        heed_interval keys = heed_problem_keys(&normal, heed_problem_lengths(&normal), queries[i]);
        require(keys.begin >= 0 && keys.begin <= keys.end && keys.end <= normal.seq_k,
                "no more keys are visible than there are");
    }
}

static void try_spec(const uint8_t *data, size_t size)
{
    char *spec = malloc(size + 1);
    if (!spec)
        return;
    memcpy(spec, data, size);
    spec[size] = '\0';
    heed_problem problem, before;
    memset(&problem, 0x5a, sizeof problem);
    memcpy(&before, &problem, sizeof before);
    heed_status status = heed_problem_parse(&problem, spec);
    free(spec);
    if (status == HEED_OK) {
        check_valid(&problem);
        return;
    }
    require(status == HEED_ERR_INVALID, "a bad spec is invalid");
    require(memcmp(&problem, &before, sizeof before) == 0, "a bad spec changes nothing");
    check_message();
}

static void try_struct(const uint8_t *data, size_t size)
{
    heed_problem problem;
    char text[2 * HEED_SPEC_SIZE];
    memset(&problem, 0, sizeof problem);
    memcpy(&problem, data, size < sizeof problem ? size : sizeof problem);
    problem.size = sizeof problem; /* a smaller one would hide fields, a larger one is a lie */
    if (heed_problem_check(&problem) == HEED_OK)
        check_valid(&problem);
    else
        require(heed_problem_print(&problem, text, sizeof text) < sizeof text,
                "a bad problem can be shown");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == 0)
        try_struct(data + 1, size - 1);
    else
        try_spec(data, size);
    return 0;
}
