/*
 * hash.c - SHA-256 of a sequence of values
 */
#include <string.h>

#include "store.h"

void hasher_start(hasher *h)
{
    SHA256Init(&h->state);
}

/* Each value is preceded by its size, so different splits give different hashes. */
static void add_bytes(hasher *h, const void *data, size_t size)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)size >> 8 * i);
    SHA256Update(&h->state, length, sizeof length);
    if (size)
        SHA256Update(&h->state, data, size);
}

void hasher_text(hasher *h, const char *text)
{
    hasher_integer(h, text != NULL);
    if (text)
        add_bytes(h, text, strlen(text));
}

/* Hashes the 64 bits, with one representation for all NaNs and one for both zeros. */
void hasher_real(hasher *h, double value)
{
    int64_t bits = 0;
    if (value != value)
        bits = -1;
    else if (value != 0)
        memcpy(&bits, &value, sizeof bits);
    hasher_integer(h, bits);
}

void hasher_integer(hasher *h, int64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> 8 * i);
    SHA256Update(&h->state, bytes, sizeof bytes);
}

_Static_assert(LAB_RECORD_HASH_SIZE == SHA256_DIGEST_STRING_LENGTH, "a hash in hexadecimal");

void hasher_end(hasher *h, char hash[LAB_RECORD_HASH_SIZE])
{
    SHA256End(&h->state, hash);
}

void lab_record_hash(const void *data, size_t size, char hash[LAB_RECORD_HASH_SIZE])
{
    SHA256Data(data, size, hash);
}
