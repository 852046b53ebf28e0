/*
 * fake_peer.h - a pretended child process: a peer that answers with the lines of an input
 *
 * Starting a program for every input would take most of the time. The linker puts these functions
 * in place of those that lab/trial/peer/peer.c starts, feeds and ends a child with; its pipes
 * are real. Requests must be what protocol.md says, whatever the answers were.
 */
#ifndef FAKE_PEER_H
#define FAKE_PEER_H

#include <stddef.h>
#include <stdint.h>

/* fake_peer_load() gives the next peers that are started @size bytes to say. Every request is
 * answered with one line of them. One that begins with '!' goes to stderr, and the next one
 * follows; after one that begins with '+' the next one follows at once, too; one that begins with
 * '-' is said when the peer is stopped, unasked. In all of them byte 1 stands for 4096 blanks. A
 * peer that has nothing more to say ends, and the one that is started after it goes on behind the
 * next byte 2. @data must stay. */
void fake_peer_load(const uint8_t *data, size_t size);

/* The bytes that each prepared peer writes as O. */
#define FAKE_PEER_O_SIZE 32

#endif /* FAKE_PEER_H */
