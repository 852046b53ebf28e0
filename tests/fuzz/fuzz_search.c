/*
 * fuzz_search.c - the text files that the search reads: spaces, trials, marked sources
 *
 * The beginning of an input selects its kind: "heed-trials", "//" for a marked source, else a
 * space.
 */
#include <string.h>

#include "lab/search/source.h"
#include "lab/search/trials.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char small[] = "kernel k\nknob a 1 2 3\nknob b 4 5\nrequire a + b != 7\n";

static void try_space(const char *text)
{
    lab_space space;
    lab_error error = { "" };
    heed_status status = lab_space_parse(&space, text, "f.txt", &error);
    if (status != HEED_OK) {
        require(status == HEED_ERR_INVALID, "a bad space is invalid");
        require(strncmp(error.text, "f.txt:", 6) == 0, "a message names the file");
        require(space.lets == NULL && space.knob_count == 0, "a bad space gives none");
        return;
    }
    int64_t count = lab_space_count(&space);
    require(count >= 1 && count <= LAB_SPACE_POINTS, "the number of points is in its range");
    for (int64_t i = 0; i < count; i += count / 7 + 1) {
        lab_point point = lab_space_at(&space, i), back;
        char print[LAB_POINT_TEXT], name[HEED_NAME_SIZE];
        require(lab_space_index(&space, &point) == i, "points have their numbers");
        lab_point_print(&space, &point, print);
        if (strlen(print) < LAB_POINT_TEXT - 1)
            require(lab_point_parse(&space, print, &back, &error) == HEED_OK &&
                        lab_space_index(&space, &back) == i,
                    "a printed point can be read");
        lab_space_allows(&space, &point, &error);
        status = lab_space_name(&space, &point, space.kernels[0], name, &error);
        require(status != HEED_OK || strlen(name) < sizeof name, "a name fits");
    }
    lab_space_free(&space);
}

static void try_trials(const lab_space *space, const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH_SIZE];
    lab_trials trials;
    lab_error error = { "" };
    int file = memory_file_open(data, size, path);
    heed_status status = lab_trials_read(&trials, space, path, &error);
    require(status == HEED_OK || (status == HEED_ERR_CORRUPT && trials.records == NULL),
            "bad trials are corrupt, and none");
    for (size_t i = 0; i < trials.count; i++) {
        const lab_trial_record *one = &trials.records[i];
        require(one->point >= 0 && one->point < lab_space_count(space) && one->shape >= 0 &&
                    one->shape < trials.shape_count,
                "a trial is about a point and a shape");
        require(lab_trials_find(&trials, one->point, one->shape, one->effort) == &one->answer,
                "a trial is found again");
    }
    lab_trials_free(&trials);
    close(file);
}

static void try_source(const char *text)
{
    static const int first[LAB_SOURCE_REGIONS] = { 0 };
    lab_source source, again;
    lab_error error = { "" };
    if (lab_source_parse(&source, text, "s", &error) != HEED_OK) {
        require(source.count == 0 && source.common[0] == NULL, "a bad source gives none");
        return;
    }
    char *rendered = lab_source_render(&source, first);
    require(rendered != NULL, "a source can be rendered");
    require(lab_source_parse(&again, rendered, "s", &error) == HEED_OK, "and read again");
    require(again.count == source.count, "with the same regions");
    for (int i = 0; i < again.count; i++)
        require(again.regions[i].count == 1, "that have one text each");
    free(rendered);
    lab_source_free(&again);
    lab_source_free(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_space space;
    lab_error error;
    char *text = malloc(size + 1);
    require(text && lab_space_parse(&space, small, "small", &error) == HEED_OK, "there is memory");
    memcpy(text, data, size);
    text[size] = '\0';
    if (strncmp(text, "heed-trials", 11) == 0)
        try_trials(&space, data, size);
    else if (strncmp(text, "//", 2) == 0)
        try_source(text);
    else
        try_space(text);
    free(text);
    lab_space_free(&space);
    return 0;
}
