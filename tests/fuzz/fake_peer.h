/*
 * fake_peer.h - a simulated child process: a peer that answers with the lines of an input
 *
 * Starting a program for every input would take most of the time. The linker replaces the functions
 * with which lab/trial/peer/peer.c starts, feeds and ends a child by these; its pipes are real.
 * Requests must conform to protocol.md, whatever the answers were.
 */
#ifndef FAKE_PEER_H
#define FAKE_PEER_H

#include <stddef.h>
#include <stdint.h>

/* fake_peer_load() sets the @size bytes that the following peers send. Every request is answered
 * with one line. A line that begins with '!' goes to stderr, and the next line follows; after one
 * that begins with '+' the next one also follows at once; one that begins with '-' is sent,
 * unrequested, when the peer is stopped. In all lines byte 1 is expanded to 4096 blanks. A peer
 * without further lines ends, and the peer started after it continues after the next byte 2. @data
 * must stay valid. */
void fake_peer_load(const uint8_t *data, size_t size);

/* The bytes that each prepared peer writes as O. */
#define FAKE_PEER_O_SIZE 32

#endif /* FAKE_PEER_H */
