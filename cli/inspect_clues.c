/*
 * inspect_clues.c - what is found in compiled code, for the guide of a search
 */
#include <string.h>

#include "inspect.h"

/* The row of the kernel that is launched; NULL: there is none. */
static const inspect_row *find_row(const inspect_job *job, const char *entry)
{
    for (size_t i = 0; i < job->count; i++)
        if (!entry || strcmp(job->rows[i].code.name, entry) == 0)
            return &job->rows[i];
    return NULL;
}

size_t inspect_clues(const inspect_subject *subject, lab_clue clues[LAB_CODE_FINDINGS_MAX])
{
    inspect_job job = { .args = NULL };
    lab_error error = { "" };
    size_t count = 0;
    if (inspect_try(&job, subject, &error) == HEED_OK && !job.failed) {
        const inspect_row *row = find_row(&job, subject->entry);
        for (; row && count < row->finding_count; count++)
            clues[count] = (lab_clue){ .name = row->findings[count].name,
                                       .value = row->findings[count].figure };
    }
    inspect_job_free(&job);
    return count;
}
