/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * input.c - see input.h.
 */
#define _GNU_SOURCE /* SEEK_DATA */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

/* Bytes that are read at once, so that small frames do not cost a system call each. */
#define READ_AHEAD (256u << 10)

/* A file that was written to less than so many seconds ago may have been between two looks at its times. */
#define STILL_S 2

void
sqt_input_init(struct sqt_input *input, int fd, int own_fd, uint64_t end)
{
    memset(input, 0, sizeof(*input));
    input->fd = fd;
    input->own_fd = own_fd;
    input->end = end;
    input->size = UINT64_MAX;
}

/* Notes what the file is like before it is read. */
static void
input_look(struct sqt_input *input)
{
    struct stat st;
    if (fstat(input->fd, &st) != 0)
        return;
    input->seen.size = st.st_size;
    input->seen.seconds = st.st_mtim.tv_sec;
    input->seen.ns = st.st_mtim.tv_nsec;
}

int
sqt_input_changed(const struct sqt_input *input)
{
    struct stat st;
    struct timespec now;
    if (fstat(input->fd, &st) != 0)
        return 1;
    clock_gettime(CLOCK_REALTIME, &now);
    return st.st_size != input->seen.size || st.st_mtim.tv_sec != input->seen.seconds ||
           st.st_mtim.tv_nsec != input->seen.ns || llabs((long long)(now.tv_sec - st.st_mtim.tv_sec)) < STILL_S;
}

void
sqt_input_close(struct sqt_input *input)
{
    if (input->own_fd && input->fd >= 0)
        close(input->fd);
    free(input->window);
    sqt_input_init(input, -1, 0, 0);
}

void
sqt_input_refresh(struct sqt_input *input)
{
    input->used = 0;
    input->error = 0;
    input->size = UINT64_MAX;
}

void
sqt_input_rest(struct sqt_input *input)
{
    free(input->window);
    input->window = NULL;
    input->room = 0;
    sqt_input_refresh(input);
}

/* Makes room for size bytes, keeping those that are there. */
static void
input_grow(struct sqt_input *input, size_t size)
{
    if (size <= input->room)
        return;
    input->window = sqt_resized(input->window, size);
    input->room = size;
}

const uint8_t *
sqt_input_at(struct sqt_input *input, uint64_t offset, size_t want, size_t *got)
{
    *got = 0;
    if (input->fd < 0 || offset >= input->end)
        return NULL;
    if (want > input->end - offset)
        want = (size_t)(input->end - offset);
    /* Behind the end nothing is asked for again and again. */
    if (offset >= input->size)
        return NULL;
    if (want > input->size - offset)
        want = (size_t)(input->size - offset);

    if (offset < input->offset || offset > input->offset + input->used) {
        input->offset = offset;
        input->used = 0;
    }
    size_t skip = (size_t)(offset - input->offset);
    if (input->used - skip < want) {
        if (skip) {
            memmove(input->window, input->window + skip, input->used - skip);
            input->used -= skip;
            input->offset = offset;
            skip = 0;
        }
        input_grow(input, want + READ_AHEAD);
        if (!input->used)
            input_look(input);
        while (input->used < want) {
            size_t ask = want + READ_AHEAD - input->used;
            if (ask > input->end - input->offset - input->used)
                ask = (size_t)(input->end - input->offset - input->used);
            const ssize_t n = pread(input->fd, input->window + input->used, ask, (off_t)(input->offset + input->used));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                input->error = errno;
            if (n <= 0) {
                input->size = input->offset + input->used;
                break;
            }
            input->used += (size_t)n;
        }
    }
    *got = input->used - skip;
    return *got ? input->window + skip : NULL;
}

uint64_t
sqt_input_data(const struct sqt_input *input, uint64_t offset)
{
    struct stat st;
    const off_t data = lseek(input->fd, (off_t)offset, SEEK_DATA);
    if (data >= 0)
        return (uint64_t)data;
    if (errno != ENXIO || fstat(input->fd, &st) != 0 || (uint64_t)st.st_size < offset)
        return offset;
    return (uint64_t)st.st_size < input->end ? (uint64_t)st.st_size : input->end;
}

int
sqt_input_has_hole(const struct sqt_input *input, uint64_t offset, uint64_t size)
{
    struct stat st;
    if (fstat(input->fd, &st) != 0 || st.st_blocks * INT64_C(512) >= st.st_size)
        return 0;
    const off_t hole = lseek(input->fd, (off_t)offset, SEEK_HOLE);
    return hole >= 0 && hole < st.st_size && (uint64_t)hole < offset + size; /* the end of the file is no hole */
}
