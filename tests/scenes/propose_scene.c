/*
 * propose_scene.c - requests to a proposer
 */
#include "propose_scene.h"

static const char origin[] = "/* heed:region a */\none\n/* heed:or\ntwo\n*/\n/* heed:end */\n"
                             "/* heed:region b */\nred\n/* heed:or\nblue\n*/\n/* heed:or\ngreen\n"
                             "*/\n/* heed:end */\n";

lab_brief propose_scene_brief(lab_way way)
{
    static const char *const problems[] = { "b1 h1 s8 d8 f32" };
    static const char *const insights[] = { "it spills" };
    static const char *const findings[] = { "spills", "exp_bound" };
    static const lab_clue counters[] = { { "local", 4096 }, { "exp", 0.75 } };
    static const lab_clue effects[] = { { "no-exp", 0.125 } };
    static lab_tried history[] = {
        { .name = "first",
          .source = "int one;",
          .thought = "begin",
          .verdict = "ok",
          .seconds = 2 },
        { .name = "second", .source = "int two;", .verdict = "compile", .log = "an error" },
    };
    return (lab_brief){ .way = way,
                        .task = "make it faster",
                        .language = "c",
                        .header = "int header;",
                        .problems = problems,
                        .problem_count = 1,
                        .device = "a machine",
                        .origin = origin,
                        .current = { .name = "best", .source = origin, .seconds = 1 },
                        .history = history,
                        .history_count = 2,
                        .insights = insights,
                        .insight_count = 1,
                        .findings = findings,
                        .finding_count = 2,
                        .counters = counters,
                        .counter_count = 2,
                        .effects = effects,
                        .effect_count = 1,
                        .seed = 1,
                        .number = 2 };
}
