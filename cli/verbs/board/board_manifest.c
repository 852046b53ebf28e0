/*
 * board_manifest.c - `heed board manifest`: every tool and library that a trial was made with
 */
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "cli/verbs/doctor/manifest.h"

/* The manifest with these parts, which have that hash. */
static cli_exit print(const char *text, const char *hash)
{
    json_t *manifest = cli_manifest_of(json_loads(text, 0, NULL));
    cli_exit code = CLI_OK;
    if (!manifest || strcmp(cli_manifest_hash(manifest), hash) != 0) {
        cli_error("the manifest %s is not what was added: see 'heed board check'", hash);
        code = CLI_CORRUPT;
    } else if (json_dumpf(manifest, stdout, JSON_INDENT(2)) != 0 || putchar('\n') < 0) {
        cli_error("the manifest cannot be printed");
        code = CLI_ENVIRONMENT;
    }
    json_decref(manifest);
    return code;
}

/* The manifest of a trial that came as a file is the one that lay beside it. */
static cli_exit answer(lab_record *record, int64_t id)
{
    lab_error error;
    char hash[LAB_RECORD_HASH_SIZE], *source, *text = NULL;
    heed_status status = lab_record_source(record, id, &source, &error); /* is there such a one? */
    free(status == HEED_OK ? source : NULL);
    if (status == HEED_OK)
        status = lab_record_manifest(record, id, hash, &text, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = CLI_FINDING;
    if (text)
        code = print(text, hash);
    else if (*hash)
        cli_error("trial %lld was made with the manifest %s, which did not come with it",
                  (long long)id, hash);
    else
        cli_error("trial %lld does not say with which tools it was made", (long long)id);
    free(text);
    return code;
}

cli_exit cli_board_manifest(const cli_args *args)
{
    return cli_board_tell(args, answer);
}
