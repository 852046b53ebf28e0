/*
 * manifest.h - every tool and library that a figure may depend on, with its version
 *
 * A record contains the manifest's parts and its hash; `heed doctor --check` compares them with the
 * current machine.
 */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "cli/base/cli.h"
#include "record/record.h"

#define MANIFEST_SCHEMA "heed.manifest/1"

/* cli_manifest_take() inspects this machine and returns an object with "schema", "hash" and
 * "parts". Each part has a "version"; a file also has "file", its name without folders, and a
 * loaded library or compiler "sha256". Missing parts are left out. The hash covers the parts. NULL
 * if out of memory. Takes up to a second, as tools are run for their versions. */
json_t *cli_manifest_take(void);

/* cli_manifest_of() makes a manifest of @parts, and takes ownership of them; NULL for NULL. */
json_t *cli_manifest_of(json_t *parts);

/* cli_manifest_hash() returns the hash of a manifest; "" if it has none. */
const char *cli_manifest_hash(const json_t *manifest);

/* cli_manifest_text() returns the hashed text of the parts, for the caller to free; NULL if out of
 * memory. cli_manifest_libraries() writes the libraries among them, with their versions, to @text
 * and returns it: "libc 2.36, sqlite 3.40.1". */
char *cli_manifest_text(const json_t *manifest);
const char *cli_manifest_libraries(const json_t *manifest, char *text, size_t size);

/* cli_manifest_of_record() makes a manifest of the "parts" of a record of `heed bench --record`,
 * read from @path. *@manifest is NULL if it has none. If the parts do not have the hash in the
 * record, or one of the two is malformed, it prints an error and returns CLI_CORRUPT. The caller
 * releases *@manifest. */
cli_exit cli_manifest_of_record(json_t **manifest, const json_t *record, const char *path);

/* cli_manifest_read() reads a manifest from the file @path, or from a record of `heed bench
 * --record`, and checks that it is intact. A failure has been printed: CLI_ENVIRONMENT if the file
 * cannot be read, CLI_CORRUPT if it is not a manifest, has another schema, or was changed after it
 * was written. The caller releases *@manifest. */
cli_exit cli_manifest_read(json_t **manifest, const char *path);

/* The difference of two manifests in one part. */
typedef struct cli_manifest_difference {
    const char *name;       /* owned by the manifests, like all texts here */
    const char *then, *now; /* versions; NULL: the part was, or is, missing */
    bool content;           /* the versions are equal, the files are not */
} cli_manifest_difference;

/* cli_manifest_compare() writes the differences, at most @room, sorted by name, and returns their
 * number. */
size_t cli_manifest_compare(const json_t *then, const json_t *now,
                            cli_manifest_difference *differences, size_t room);

#endif /* CLI_MANIFEST_H */
