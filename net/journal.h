/* journal.h - the file in which a front-end keeps its records (PROTOCOL 23.3).
 *
 *     magic, then records:  head: length, kind, checksum of these
 *                           body
 *                           checksum of the body
 *
 * The first record is the front-end's bootstrap, the second the addresses where
 * it listens; all others are frames, as on a link. The file has the session's
 * key: its mode is 0600. It survives its process, not its host: nothing waits for
 * a disk.
 *
 * One network of one process at a time has a journal: it holds a lock of fcntl() on
 * PATH.lock until it ends. That file is left behind only by a process that was
 * killed. */
#pragma once

#include <coppice/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/bootstrap.h"
#include "wire/frame.h"

struct journal; /* opaque */

/* Create the journal at `path`, of a network that is about to be launched.
 * `address`: where the front-end listens. Returns 0, or with a sentence: -EEXIST
 * if there is one, -EBUSY if a front-end holds it, -ENOMEM and others. */
int journal_create(struct journal **out,
                   const char *path,
                   const struct bootstrap *bootstrap,
                   const char *address,
                   struct cop_error *error);

/* Open the journal of a front-end that has ended. A last record that is not
 * complete is cut off. `*bootstrap` is the caller's to free; its ports are the one
 * where the front-end listened. Returns 0, or with a sentence: -EBUSY if its
 * front-end still runs, -EBADMSG if the file is damaged, -EPERM if it is not a
 * regular file of this user that no one else may read, -ENOENT if there is none or
 * its launch was not finished (then it is removed), -ENOMEM and others. */
int journal_open(struct journal **out,
                 struct bootstrap **bootstrap,
                 const char *path,
                 struct cop_error *error);

/* Read the next frame of an opened journal; its payload is the caller's. `*at`:
 * where it is in the file. Returns 1; 0 after the last one; -EBADMSG or
 * -ENOMEM. */
int journal_next(struct journal *journal, struct frame *frame, uint64_t *at);

/* Write `frame`, which is borrowed, behind the last record. After an error the
 * file is not of use: remove it. Returns 0 or a negative errno: -ENOENT if the
 * file was removed, -EIO if it has another length than was written. */
int journal_write(struct journal *journal, const struct frame *frame);

/* Remove the file: nobody is to take over. */
void journal_remove(struct journal *journal);

/* Close the file, give up the lock, and remove the lock's file. NULL is fine. */
void journal_free(struct journal *journal);

/* In a forked child: close the descriptors, and do nothing else. The lock stays
 * the parent's. */
void journal_abandon(struct journal *journal);

/* ---- the bytes of such a file ---- */

/* A place in untrusted bytes; caller's storage. */
struct journal_reader {
    const unsigned char *bytes;
    size_t len;
    size_t at; /* behind the last whole record */
};

/* Begin to read `bytes`, which are kept. Returns 0, or -EBADMSG if they are not
 * those of a journal. */
int journal_reader_begin(struct journal_reader *reader,
                         const unsigned char *bytes,
                         size_t len);

/* The next record: its kind, and its body, which is borrowed from the bytes.
 * Returns 1; 0 if there is none, or one that is not complete; -EBADMSG. */
int journal_reader_next(struct journal_reader *reader,
                        uint32_t *kind,
                        const unsigned char **body,
                        size_t *len);

/* Read one frame from the body of a record. Returns 0, -EBADMSG or -ENOMEM. */
int journal_frame(const unsigned char *body, size_t len, struct frame *out);
