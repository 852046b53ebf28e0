/*
 * trial_scene.c - candidates from tests/data/trial, and a small problem to run them on
 */
#include "trial_scene.h"
#include "problems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>
enum {
    SEQ = 8,
    DIM = 8,
    AROUND = 16
};

static const char *const knob_names[] = { "ID", "PORT", "KIB", "MIB" };
#define KNOBS (sizeof knob_names / sizeof *knob_names)

void trial_scene_open(trial_scene *scene)
{
    memset(scene, 0, sizeof *scene);
    assert_int_equal(heed_problem_parse(&scene->problem, "b1 h1 s8 d8 f32"), HEED_OK);
    for (int i = 0; i < SCENE_ELEMENTS; i++) {
        scene->q[i] = sinf((float)i);
        scene->k[i] = cosf((float)i * 0.7f);
        scene->v[i] = sinf((float)i * 1.3f);
    }
    scene->o = scene->room + AROUND;
    scene_poison(scene);
}

void scene_poison(trial_scene *scene)
{
    for (size_t i = 0; i < sizeof scene->room / sizeof *scene->room; i++)
        scene->room[i] = SCENE_POISON;
}

lab_candidate scene_candidate(trial_scene *scene, const char *name, long long value)
{
    static lab_knob knobs[KNOBS];
    char path[512];

    snprintf(path, sizeof path, "%s/tests/data/trial/%s.c", HEED_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(scene->source, 1, sizeof scene->source, file);
    fclose(file);
    for (size_t i = 0; i < KNOBS; i++)
        knobs[i] = (lab_knob){ knob_names[i], value };
    return (lab_candidate){ .name = name,
                            .language = LAB_LANGUAGE_C,
                            .source = scene->source,
                            .source_size = size,
                            .knobs = knobs,
                            .knob_count = KNOBS };
}

lab_set scene_set(trial_scene *scene, void *workspace, size_t size)
{
    heed_buffers buffers = plain_buffers(scene->q, scene->k, scene->v, scene->o);
    buffers.lse = scene->lse;
    buffers.workspace = workspace;
    buffers.workspace_size = size;
    lab_set set = lab_set_of(&scene->problem, &buffers);

    set.span[LAB_O] = (lab_span){ .room = scene->room,
                                  .room_size = sizeof scene->room,
                                  .start = AROUND * sizeof(float),
                                  .size = SCENE_ELEMENTS * sizeof(float) };
    return set;
}

bool scene_try(trial_scene *scene, const char *name, long long value, const lab_limits *limits,
               lab_trial_outcome *outcome)
{
    const lab_candidate candidate = scene_candidate(scene, name, value);
    lab_trial *trial;
    size_t size = 0;
    void *workspace = NULL;

    scene_poison(scene);
    bool well = lab_trial_open(&trial, &candidate, limits, outcome) &&
                lab_trial_prepare(trial, &scene->problem, &size, outcome);
    if (well && size > 0) {
        workspace = aligned_alloc(64, (size + 63) / 64 * 64);
        assert_non_null(workspace);
        memset(workspace, 0xa5, size);
    }
    const lab_set set = scene_set(scene, workspace, size);
    well = well && lab_trial_run(trial, &set, 1, 0, outcome);
    lab_trial_close(trial);
    free(workspace);
    return well;
}

static bool row_is_right(const trial_scene *scene, int i)
{
    double weights[SEQ], sum = 0;

    for (int j = 0; j < SEQ; j++) {
        double logit = 0;
        for (int d = 0; d < DIM; d++)
            logit += (double)scene->q[i * DIM + d] * scene->k[j * DIM + d];
        weights[j] = exp(logit / sqrt(DIM));
        sum += weights[j];
    }
    for (int d = 0; d < DIM; d++) {
        double value = 0;
        for (int j = 0; j < SEQ; j++)
            value += weights[j] / sum * scene->v[j * DIM + d];
        if (!(fabs(value - scene->o[i * DIM + d]) < 1e-5))
            return false;
    }
    return fabs(log(sum) - scene->lse[i]) < 1e-5;
}

bool scene_is_right(const trial_scene *scene)
{
    for (int i = 0; i < SEQ; i++)
        if (!row_is_right(scene, i))
            return false;
    return true;
}

pid_t scene_only_child(void)
{
    char path[64];
    int pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return pid;
}

int scene_listen(int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}
