/*
 * test_search_source.c - sources with marked regions
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "lab/search/source.h"
#include "landscapes.h"

static void test_source(void **state)
{
    lab_source source, again;
    lab_error error;
    assert_int_equal(lab_source_parse(&source, landscape_source, "k.cu", &error), HEED_OK);
    assert_int_equal(source.count, 2);
    assert_int_equal(source.regions[0].count, 3);
    assert_int_equal(source.regions[1].count, 1);
    assert_string_equal(source.regions[0].texts[1], "    x = 2;\n    x++;\n");
    assert_string_equal(source.regions[0].texts[2], "");
    assert_int_equal(lab_source_find(&source, "two"), 1);
    assert_int_equal(lab_source_find(&source, "three"), -1);
    char *text = lab_source_render(&source, (int[]){ 1, 0 });
    assert_non_null(text);
    assert_string_equal(text, "int a;\n/* heed:region one */\n    x = 2;\n    x++;\n"
                              "/* heed:end */\nint b; /* heed:not a mark */\n"
                              "/* heed:region two */\ny();\n/* heed:end */\n");
    assert_int_equal(lab_source_parse(&again, text, "again", &error), HEED_OK);
    assert_int_equal(again.count, 2);
    assert_int_equal(again.regions[0].count, 1);
    free(text);
    lab_source_free(&again);
    lab_source_free(&source);
    assert_int_equal(lab_source_parse(&source, "", "empty", &error), HEED_OK);
    text = lab_source_render(&source, NULL);
    assert_string_equal(text, "");
    free(text);
    lab_source_free(&source);
}

static void test_bad_sources(void **state)
{
    static const text_pair rows[] = {
        { "/* heed:end */\n", "k:1: outside of a region" },
        { "\n/* heed:or\n*/\n", "k:2: outside of a region" },
        { "/* heed:region a */\nx\n", "heed:or or heed:end expected" },
        { "/* heed:region a */\n/* heed:region b */\n", "k:2: heed:or or heed:end expected" },
        { "/* heed:region a */\n/* heed:end */\n/* heed:region a */\n/* heed:end */\n",
          "k:3: there is a region of that name" },
        { "/* heed:region 1 */\n/* heed:end */\n", "k:1: a name" },
        { "/* heed:region a*/\n/* heed:end */\n", "k:1: a name" },
        { "/* heed:region a */\n/* heed:or\nx\n/* heed:end */\n", "no end of its comment" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_source source;
        lab_error error;
        assert_int_equal(lab_source_parse(&source, rows[i].given, "k", &error), HEED_ERR_INVALID);
        if (!strstr(error.text, rows[i].wanted))
            fail_msg("\"%s\": %s", rows[i].given, error.text);
        assert_int_equal(source.count, 0);
    }
}

RUN_TESTS(test_source, test_bad_sources)
