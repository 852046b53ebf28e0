/*
 * xla.h - the part of XLA's foreign function interface that heed_jax.so needs
 *
 * Types of XLA's C interface (xla/ffi/api/c_api.h of jaxlib), declared by hand: fields have its
 * order and types, but heed's names. Structs begin with their size and grow at the end; unused
 * fields at the end are omitted.
 */
#ifndef HEED_XLA_H
#define HEED_XLA_H

#include <stddef.h>
#include <stdint.h>

typedef struct xla_error xla_error;
typedef struct xla_context xla_context;

/* With this node in its list of extensions, a call only requests metadata. */
enum {
    XLA_EXTENSION_METADATA = 1
};

typedef struct xla_extension {
    size_t size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

/* Calls may be captured into a CUDA graph and replayed. */
enum {
    XLA_TRAIT_CAPTURES = 1
};

typedef struct xla_metadata {
    size_t size;
    xla_version version;
    uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

/* Codes of errors. */
enum {
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_INTERNAL = 13
};

typedef struct xla_error_args {
    size_t size;
    xla_extension *extensions;
    const char *message;
    int code;
} xla_error_args;

typedef struct xla_stream_args {
    size_t size;
    xla_extension *extensions;
    xla_context *context;
    void *stream; /* out */
} xla_stream_args;

typedef struct xla_ordinal_args {
    size_t size;
    xla_extension *extensions;
    xla_context *context;
    int32_t ordinal; /* out */
} xla_ordinal_args;

typedef void xla_unused(void);

/* The functions that XLA offers. */
typedef struct xla_api {
    size_t size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*error_create)(xla_error_args *args);
    xla_unused *error_message;
    void *error_destroy;
    xla_unused *handler_register;
    xla_error *(*stream_get)(xla_stream_args *args);
    xla_unused *others[12];
    xla_error *(*ordinal_get)(xla_ordinal_args *args);
} xla_api;

typedef struct xla_buffer {
    size_t size;
    xla_extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer;

/* Arguments, and results. */
typedef struct xla_buffers {
    size_t size;
    xla_extension *extensions;
    int64_t count;
    int *types;
    void **items;
} xla_buffers;

typedef struct xla_text {
    const char *data;
    size_t length;
} xla_text;

typedef struct xla_array {
    int type;
    size_t count;
    void *data;
} xla_array;

/* Kinds of attributes, and of the elements of an array. */
enum {
    XLA_ATTRIBUTE_ARRAY = 1,
    XLA_ATTRIBUTE_TEXT = 4,
    XLA_S64 = 5
};

typedef struct xla_attributes {
    size_t size;
    xla_extension *extensions;
    int64_t count;
    int *types;
    xla_text **names;
    void **items;
} xla_attributes;

/* Stages of a call. */
enum {
    XLA_STAGE_EXECUTE = 3
};

typedef struct xla_call {
    size_t size;
    xla_extension *extensions;
    const xla_api *api;
    xla_context *context;
    int stage;
    xla_buffers arguments;
    xla_buffers results;
    xla_attributes attributes;
} xla_call;

#endif /* HEED_XLA_H */
