/*
 * manifest.h - every tool and library that a figure may depend on, with its version
 *
 * A record contains the manifest's parts and its hash; `heed doctor --check` compares them with the
 * machine of today.
 */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "cli/base/cli.h"
#include "record/record.h"

#define MANIFEST_SCHEMA "heed.manifest/1"

/* cli_manifest_take() looks at this machine and returns an object with "schema", "hash" and
 * "parts": an object by name, each of which has "version", and of those that are a file "file", its
 * name without folders, and for libraries and compilers that are loaded "sha256". A part that is
 * not there is left out. The hash is over the parts. NULL if there is no memory. Takes up to a
 * second: tools are asked for their versions. */
json_t *cli_manifest_take(void);

/* manifest_hash.c: cli_manifest_hash_file() writes the SHA-256 of the file @path; false if it
 * cannot be read. That of a large file is kept in the folder of caches until the file is another
 * one. */
bool cli_manifest_hash_file(const char *path, char hash[LAB_RECORD_HASH_SIZE]);

/* cli_manifest_of() makes a manifest of its @parts, and takes them over; NULL for NULL. */
json_t *cli_manifest_of(json_t *parts);

/* cli_manifest_hash() returns the hash of a manifest; "" if it has none. */
const char *cli_manifest_hash(const json_t *manifest);

/* cli_manifest_text() returns the parts as the text that the hash is of, for the caller to free;
 * NULL if there is no memory. cli_manifest_libraries() writes the libraries among them, with their
 * versions, to @text and returns it: "libc 2.36, sqlite 3.40.1". */
char *cli_manifest_text(const json_t *manifest);
const char *cli_manifest_libraries(const json_t *manifest, char *text, size_t size);

/* cli_manifest_of_record() makes a manifest of the "parts" of a record of `heed bench --record`,
 * read from @path. *@manifest is NULL if it has none. Prints that the parts do not have the hash
 * that the record says, or that one of the two is malformed, and returns CLI_CORRUPT. The caller
 * releases *@manifest. */
cli_exit cli_manifest_of_record(json_t **manifest, const json_t *record, const char *path);

/* cli_manifest_read() reads a manifest from the file @path, or from a record of `heed bench
 * --record`, and makes sure that it is whole. Prints the fault: CLI_ENVIRONMENT if the file cannot
 * be read, CLI_CORRUPT if it is no manifest, of another schema, or changed after it was written.
 * The caller releases *@manifest. */
cli_exit cli_manifest_read(json_t **manifest, const char *path);

/* How two manifests differ in one part. */
typedef struct cli_manifest_difference {
    const char *name;       /* belongs to the manifests, as all texts do */
    const char *then, *now; /* versions; NULL: it was, or is, not there */
    bool content;           /* the versions are equal, the files are not */
} cli_manifest_difference;

/* cli_manifest_compare() writes the differences, at most @room, in the order of names, and returns
 * how many there are. */
size_t cli_manifest_compare(const json_t *then, const json_t *now,
                            cli_manifest_difference *differences, size_t room);

#endif /* CLI_MANIFEST_H */
