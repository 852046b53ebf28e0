/*
 * test_safetensors.c - .safetensors files: strict parsing, and writing back what was read
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lab/tensor/safetensors.h"
#include "scratch.h"

/* Two arrays, 24 bytes of data. */
#define GOOD                                                              \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}," \
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[16,24]}}"

static size_t build(unsigned char *file, const char *header, size_t data_size)
{
    uint64_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> (8 * i));
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < data_size; i++)
        file[8 + length + i] = (unsigned char)i;
    return 8 + (size_t)length + data_size;
}

static heed_status open_bytes(void **state, const void *bytes, size_t size, lab_safetensors **file,
                              lab_error *error)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "x.safetensors", path), bytes, size);
    return lab_safetensors_open(file, path, error);
}

static void reads_arrays(void **state)
{
    unsigned char bytes[512];
    lab_safetensors *file;
    lab_tensor tensor;
    size_t size = build(bytes, GOOD "   ", 24);
    assert_int_equal(open_bytes(state, bytes, size, &file, NULL), HEED_OK);
    assert_int_equal(lab_safetensors_count(file), 2);
    assert_string_equal(lab_safetensors_at(file, 1)->name, "b");
    assert_string_equal(lab_safetensors_at(file, 1)->dtype, "BF16");
    assert_null(lab_safetensors_at(file, 2));
    assert_int_equal(lab_safetensors_read(file, "b", false, &tensor, NULL), HEED_OK);
    assert_int_equal(tensor.type, HEED_BF16);
    assert_int_equal(tensor.rank, 1);
    assert_int_equal(tensor.shape[0], 4);
    assert_memory_equal(tensor.data, bytes + size - 8, 8);
    lab_tensor_free(&tensor);
    assert_int_equal(lab_safetensors_read(file, "a", false, &tensor, NULL), HEED_OK);
    assert_memory_equal(tensor.data, bytes + size - 24, 16);
    lab_tensor_free(&tensor);
    lab_safetensors_close(file);
}

static void reads_the_committed_capture(void **state)
{
    lab_safetensors *file;
    lab_error error = { "" };
    heed_status status = lab_safetensors_open(
        &file, HEED_SOURCE_DIR "/tests/data/minilm.safetensors", &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, HEED_OK);
    assert_true(lab_safetensors_count(file) > 0);
    for (size_t i = 0; i < lab_safetensors_count(file); i++) {
        lab_tensor tensor;
        assert_int_equal(
            lab_safetensors_read(file, lab_safetensors_at(file, i)->name, false, &tensor, &error),
            HEED_OK);
        lab_tensor_free(&tensor);
    }
    lab_safetensors_close(file);
}

/* Listed, but not readable. */
static void knows_what_it_cannot_read(void **state)
{
    static const char header[] =
        "{\"i\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
        "\"new\":{\"dtype\":\"F12\",\"shape\":[2],\"data_offsets\":[16,19]},"
        "\"deep\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[19,23]},"
        "\"none\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775807,8],\"data_offsets\":[19,19]}"
        "}";
    unsigned char bytes[1024];
    lab_safetensors *file;
    lab_tensor tensor;
    lab_error error = { "" };
    size_t size = build(bytes, header, 23);
    assert_int_equal(open_bytes(state, bytes, size, &file, &error), HEED_OK);
    assert_int_equal(lab_safetensors_read(file, "i", false, &tensor, &error), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'i': dtype is I64"));
    assert_null(tensor.data);
    assert_int_equal(lab_safetensors_read(file, "new", false, &tensor, &error),
                     HEED_ERR_UNSUPPORTED);
    assert_int_equal(lab_safetensors_read(file, "deep", false, &tensor, &error),
                     HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "9 dimensions"));
    assert_int_equal(lab_safetensors_read(file, "x", false, &tensor, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "no array 'x'"));
    assert_int_equal(lab_safetensors_read(file, "none", false, &tensor, &error), HEED_OK);
    lab_tensor_free(&tensor);
    lab_safetensors_close(file);
}

#define A(shape, offsets) \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define AB(first, second)                                                  \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" first "}," \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":" second "}}"

/* Invalid headers before 24 bytes of data, and a part of the message. */
static const text_pair bad_headers[] = {
    { AB("[0,8]", "[4,20]"), "overlap" },
    { AB("[0,8]", "[0,16]"), "overlap" },
    { AB("[0,8]", "[9,25]"), "end at 25; the data has 24" },
    { A("[6]", "[1,25]"), "end at 25" },
    { A("[5]", "[4,24]"), "a hole" },
    { A("[5]", "[0,20]"), "the arrays end at 20; the data has 24" },
    { A("[5]", "[0,24]"), "need 20 bytes, data_offsets give 24" },
    { A("[6]", "[24,0]"), "ends before" },
    { A("[6]", "[-1,23]"), "ends before" },
    { A("[6]", "[0,24,0]"), "two integers" },
    { A("[6]", "[0]"), "two integers" },
    { A("[6]", "[0.0,24.0]"), "two integers" },
    { A("[6]", "\"0,24\""), "two integers" },
    { A("[-6]", "[0,24]"), "integers of 0 or more" },
    { A("[6.0]", "[0,24]"), "integers of 0 or more" },
    { A("6", "[0,24]"), "shape is not an array" },
    { A("[4294967296,4294967296]", "[0,24]"), "2^64 elements" },
    { A("[4611686018427387904,2]", "[0,24]"), "2^64 bits" },
    { A("[99999999999999999999]", "[0,24]"), "too big" },
    { "{\"a\":{\"shape\":[6],\"data_offsets\":[0,24]}}", "dtype is missing" },
    { "{\"a\":{\"dtype\":32,\"shape\":[6],\"data_offsets\":[0,24]}}", "dtype is missing" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24],\"x\":1}}", "nothing else" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"shape\":[6],\"data_offsets\":[0,24]}}",
      "duplicate" },
    { "{\"a\":1,\"a\":2}", "duplicate" },
    { "{\"a\":[]}", "dtype is missing" },
    { "{\"__metadata__\":[]}", "__metadata__ is not an object" },
    { "{\"__metadata__\":{\"k\":1}}", "'k' is not a string" },
    { "{}", "the arrays end at 0" },
    { "{", "header, byte" },
    { "{\"a\\u0000\":1}", "a name has the character \\u0000" },
    { "{\"__metadata__\":{\"a\":\"\\u0000\"}}", "a string has the character \\u0000" },
    { "[]", "not a .safetensors file" },
    { " {}", "not a .safetensors file" },
    { "", "not a .safetensors file" },
};

static void refuses_bad_headers(void **state)
{
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        unsigned char bytes[1024];
        lab_safetensors *file;
        lab_error error = { "" };
        size_t size = build(bytes, bad_headers[i].given, 24);
        assert_int_equal(open_bytes(state, bytes, size, &file, &error), HEED_ERR_CORRUPT);
        if (!strstr(error.text, bad_headers[i].wanted) || !strstr(error.text, "x.safetensors"))
            fail_msg("%s\n gave: %s", bad_headers[i].given, error.text);
        assert_null(file);
    }
}

static void refuses_a_file_cut_at_any_byte(void **state)
{
    unsigned char bytes[512];
    lab_safetensors *file;
    size_t size = build(bytes, GOOD, 24);
    for (size_t cut = 0; cut < size; cut++) {
        lab_error error = { "" };
        assert_int_equal(open_bytes(state, bytes, cut, &file, &error), HEED_ERR_CORRUPT);
        assert_non_null(strstr(error.text, "x.safetensors"));
    }
    bytes[size] = 0;
    assert_int_equal(open_bytes(state, bytes, size + 1, &file, NULL), HEED_ERR_CORRUPT);
}

static void survives_any_flipped_bit(void **state)
{
    unsigned char bytes[512];
    size_t size = build(bytes, GOOD, 24);
    for (size_t bit = 0; bit < 8 * (size - 24); bit++) {
        lab_safetensors *file;
        lab_error error = { "" };
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        heed_status status = open_bytes(state, bytes, size, &file, &error);
        for (size_t i = 0; status == HEED_OK && i < lab_safetensors_count(file); i++) {
            lab_tensor tensor;
            lab_safetensors_read(file, lab_safetensors_at(file, i)->name, false, &tensor, &error);
            lab_tensor_free(&tensor);
        }
        if (status != HEED_OK)
            assert_string_not_equal(error.text, "");
        lab_safetensors_close(file);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void refuses_long_headers_without_reading_them(void **state)
{
    unsigned char bytes[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}' };
    char path[SCRATCH_PATH_SIZE];
    lab_safetensors *file;
    lab_error error;
    assert_int_equal(open_bytes(state, bytes, sizeof bytes, &file, &error), HEED_ERR_CORRUPT);
    assert_non_null(strstr(error.text, "length is 18446744073709551615; at most 100000000"));
    memcpy(bytes, "\x01\xe1\xf5\x05\0\0\0\0", 8); /* exactly one byte above the limit */
    scratch_write(scratch_path(state, "long.safetensors", path), bytes, sizeof bytes);
    assert_int_equal(truncate(path, 8 + LAB_SAFETENSORS_HEADER_MAX + 1), 0);
    assert_int_equal(lab_safetensors_open(&file, path, &error), HEED_ERR_CORRUPT);
    assert_non_null(strstr(error.text, "length is 100000001; at most 100000000"));
    assert_int_equal(lab_safetensors_open(&file, "/dev/null", &error), HEED_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "/dev/null: not a regular file"));
    assert_int_equal(lab_safetensors_open(&file, "/nonexistent", &error), HEED_ERR_SYSTEM);
}

static void writes_what_it_reads(void **state)
{
    static const char *const names[] = { "q", "layer0.\"k\"", "", "none" };
    static const int64_t shapes[][3] = { { 2, 3, 4 }, { 5, 1, 1 }, { 1, 1, 1 }, { 0, 2, 2 } };
    lab_tensor tensors[4];
    lab_safetensors *file;
    char path[SCRATCH_PATH_SIZE];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(lab_tensor_create(&tensors[i], (heed_type)(i % 3), shapes[i], 3, NULL),
                         HEED_OK);
        memset(tensors[i].data, i + 1, lab_tensor_bytes(&tensors[i]));
    }
    assert_int_equal(lab_safetensors_write(scratch_path(state, "out.safetensors", path), names,
                                           tensors, 4, NULL),
                     HEED_OK);
    assert_int_equal(lab_safetensors_open(&file, path, NULL), HEED_OK);
    assert_int_equal(lab_safetensors_count(file), 4);
    for (int i = 0; i < 4; i++) {
        lab_tensor again;
        assert_int_equal(lab_safetensors_read(file, names[i], false, &again, NULL), HEED_OK);
        assert_int_equal(again.type, tensors[i].type);
        assert_memory_equal(again.shape, tensors[i].shape, sizeof again.shape);
        assert_memory_equal(again.data, tensors[i].data, lab_tensor_bytes(&again));
        lab_tensor_free(&again);
        lab_tensor_free(&tensors[i]);
    }
    lab_safetensors_close(file);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, reads_arrays, reads_the_committed_capture,
                 knows_what_it_cannot_read, refuses_bad_headers, refuses_a_file_cut_at_any_byte,
                 survives_any_flipped_bit, refuses_long_headers_without_reading_them,
                 writes_what_it_reads)
