/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * file.c - see file.h.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"

#define MAGIC "PAR1"
#define MAGIC_SIZE 4

/* Numbers of Parquet. */
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { REPETITION_OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0, CONVERTED_DECIMAL = 5 };
enum { LOGICAL_STRING = 1, LOGICAL_DECIMAL = 5 };
#define DECIMAL_DIGITS 18 /* of a DECIMAL in an INT64 */

void
sqt_parquet_file_begin(struct sqt_parquet_file *f, int directory, const char *name, mode_t mode,
                       const struct sqt_parquet_field *fields, unsigned field_count, void **codec)
{
    memset(f, 0, sizeof(*f));
    f->directory = directory;
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->mode = mode;
    f->fields = fields;
    f->field_count = field_count;
    f->columns = sqt_zeroed(field_count, sizeof(*f->columns));
    f->values = sqt_zeroed(field_count, sizeof(*f->values));
    f->codec = codec;
}

/* The name until the file is whole. */
static const char *
file_part_name(const struct sqt_parquet_file *f, char name[96])
{
    snprintf(name, 96, ".%s.part", f->name);
    return name;
}

/* ---- rows ---- */

static void
file_take(struct sqt_parquet_file *f)
{
    for (unsigned i = 0; i < f->field_count && f->waiting; ++i)
        sqt_parquet_column_take(&f->columns[i], &f->fields[i], f->values[i], f->waiting, f->codec);
    f->rows += f->waiting;
    f->waiting = 0;
}

void
sqt_parquet_file_row(struct sqt_parquet_file *f, const union sqt_cell *row)
{
    for (unsigned i = 0; i < f->field_count; ++i)
        f->values[i][f->waiting] = sqt_parquet_column_value(&f->columns[i], &f->fields[i], row);
    if (++f->waiting == SQT_COLUMN_ROWS)
        file_take(f);
}

int
sqt_parquet_file_group_full(const struct sqt_parquet_file *f)
{
    if (f->rows + f->waiting >= SQT_GROUP_ROWS)
        return 1;
    for (unsigned i = 0; i < f->field_count; ++i)
        if (f->fields[i].text && sqt_texts_full(&f->columns[i].texts))
            return 1;
    return 0;
}

/* ---- row groups ---- */

/* Makes the file.  Returns a descriptor, or -1 with errno. */
static int
file_make(struct sqt_parquet_file *f, const char *name)
{
    struct stat st;
    const int fd = openat(f->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, f->mode);
    if (fd < 0 || fstat(fd, &st) != 0)
        return fd;
    f->device = st.st_dev;
    f->inode = st.st_ino;
    return fd;
}

/* Opens what was made and written so far, and nothing that somebody else put there.  Returns the same. */
static int
file_open_again(const struct sqt_parquet_file *f, const char *name)
{
    struct stat st;
    const int fd = sqt_open_regular(f->directory, name, O_WRONLY | O_APPEND | O_NOFOLLOW, &st);
    if (fd < 0 || (st.st_dev == f->device && st.st_ino == f->inode && st.st_size == (off_t)f->written))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

static int
file_write(struct sqt_parquet_file *f, const struct sqt_bytes *bytes)
{
    char name[96];
    const int fd = f->written ? file_open_again(f, file_part_name(f, name)) : file_make(f, file_part_name(f, name));
    size_t done = 0;
    while (fd >= 0 && done < bytes->used) {
        const ssize_t n = write(fd, bytes->data + done, bytes->used - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n < 0 ? 0 : (size_t)n;
    }
    const int cause = errno;
    f->written += done;
    if (fd < 0 || (close(fd) != 0 && done == bytes->used))
        return -1;
    errno = cause;
    return done == bytes->used ? 0 : -1;
}

/* Appends the magic number if nothing was written yet. */
static void
file_put_magic(const struct sqt_parquet_file *f, struct sqt_bytes *to)
{
    if (!f->written)
        sqt_bytes_put(to, MAGIC, MAGIC_SIZE);
}

int
sqt_parquet_file_end_group(struct sqt_parquet_file *f)
{
    struct sqt_bytes chunks = {0};
    struct sqt_thrift t = {.to = &f->groups};
    file_take(f);
    if (!f->rows)
        return 0;
    file_put_magic(f, &chunks);
    const size_t before = chunks.used;
    size_t plain_size = 0;
    sqt_thrift_begin(&t);
    sqt_thrift_list(&t, 1, SQT_THRIFT_STRUCT, f->field_count);
    for (unsigned i = 0; i < f->field_count; ++i) {
        struct sqt_parquet_column *const c = &f->columns[i];
        sqt_parquet_column_finish(c, &f->fields[i], &chunks, f->written + chunks.used, &t, &plain_size, f->codec);
    }
    sqt_thrift_number(&t, 2, SQT_THRIFT_I64, (int64_t)plain_size);
    sqt_thrift_number(&t, 3, SQT_THRIFT_I64, (int64_t)f->rows);
    sqt_thrift_number(&t, 5, SQT_THRIFT_I64, (int64_t)(f->written + before));
    sqt_thrift_number(&t, 6, SQT_THRIFT_I64, (int64_t)(chunks.used - before));
    sqt_thrift_end(&t);
    ++f->group_count;
    f->rows_written += f->rows;
    f->rows = 0;
    const int result = file_write(f, &chunks);
    sqt_bytes_free(&chunks);
    return result;
}

/* ---- the end ---- */

static void
file_put_logical(struct sqt_thrift *t, const struct sqt_parquet_field *field)
{
    sqt_thrift_struct(t, 10);
    sqt_thrift_struct(t, field->text ? LOGICAL_STRING : LOGICAL_DECIMAL);
    if (!field->text) {
        sqt_thrift_number(t, 1, SQT_THRIFT_I32, field->scale);
        sqt_thrift_number(t, 2, SQT_THRIFT_I32, DECIMAL_DIGITS);
    }
    sqt_thrift_end(t);
    sqt_thrift_end(t);
}

static void
file_put_field(struct sqt_thrift *t, const struct sqt_parquet_field *field)
{
    sqt_thrift_begin(t);
    sqt_thrift_number(t, 1, SQT_THRIFT_I32, field->text ? TYPE_BYTE_ARRAY : TYPE_INT64);
    sqt_thrift_number(t, 3, SQT_THRIFT_I32, REPETITION_OPTIONAL);
    sqt_thrift_text(t, 4, field->name);
    if (field->text || field->scale)
        sqt_thrift_number(t, 6, SQT_THRIFT_I32, field->text ? CONVERTED_UTF8 : CONVERTED_DECIMAL);
    if (field->scale) {
        sqt_thrift_number(t, 7, SQT_THRIFT_I32, field->scale);
        sqt_thrift_number(t, 8, SQT_THRIFT_I32, DECIMAL_DIGITS);
    }
    if (field->text || field->scale)
        file_put_logical(t, field);
    sqt_thrift_end(t);
}

static void
file_put_schema(const struct sqt_parquet_file *f, struct sqt_thrift *t)
{
    sqt_thrift_list(t, 2, SQT_THRIFT_STRUCT, f->field_count + 1);
    sqt_thrift_begin(t);
    sqt_thrift_text(t, 4, "schema");
    sqt_thrift_number(t, 5, SQT_THRIFT_I32, f->field_count);
    sqt_thrift_end(t);
    for (unsigned i = 0; i < f->field_count; ++i)
        file_put_field(t, &f->fields[i]);
}

static void
file_put_notes(struct sqt_thrift *t, const struct sqt_parquet_note *notes, unsigned count)
{
    sqt_thrift_list(t, 5, SQT_THRIFT_STRUCT, count);
    for (unsigned i = 0; i < count; ++i) {
        sqt_thrift_begin(t);
        sqt_thrift_text(t, 1, notes[i].key);
        sqt_thrift_text(t, 2, notes[i].text);
        sqt_thrift_end(t);
    }
}

/* Readers trust statistics only if the file says how it orders values. */
static void
file_put_orders(const struct sqt_parquet_file *f, struct sqt_thrift *t)
{
    sqt_thrift_list(t, 7, SQT_THRIFT_STRUCT, f->field_count);
    for (unsigned i = 0; i < f->field_count; ++i) {
        sqt_thrift_begin(t);
        sqt_thrift_struct(t, 1);
        sqt_thrift_end(t);
        sqt_thrift_end(t);
    }
}

int
sqt_parquet_file_finish(struct sqt_parquet_file *f, const struct sqt_parquet_note *notes, unsigned note_count)
{
    struct sqt_bytes footer = {0};
    struct sqt_thrift t = {.to = &footer};
    char part[96];
    if (sqt_parquet_file_end_group(f) != 0)
        return -1;
    file_put_magic(f, &footer);
    const size_t before = footer.used;
    sqt_thrift_begin(&t);
    sqt_thrift_number(&t, 1, SQT_THRIFT_I32, 2);
    file_put_schema(f, &t);
    sqt_thrift_number(&t, 3, SQT_THRIFT_I64, (int64_t)f->rows_written);
    sqt_thrift_list(&t, 4, SQT_THRIFT_STRUCT, f->group_count);
    sqt_bytes_put(&footer, f->groups.data, f->groups.used);
    file_put_notes(&t, notes, note_count);
    sqt_thrift_text(&t, 6, "sqtrace-dump " PACKAGE_VERSION);
    file_put_orders(f, &t);
    sqt_thrift_end(&t);
    sqt_bytes_four(&footer, (uint32_t)(footer.used - before));
    sqt_bytes_put(&footer, MAGIC, MAGIC_SIZE);
    const int result = file_write(f, &footer);
    sqt_bytes_free(&footer);
    return result != 0 ? -1 : renameat(f->directory, file_part_name(f, part), f->directory, f->name);
}

size_t
sqt_parquet_file_size(const struct sqt_parquet_file *f)
{
    size_t size = f->field_count * (sizeof(*f->columns) + sizeof(*f->values)) + f->groups.room;
    for (unsigned i = 0; i < f->field_count; ++i)
        size += sqt_parquet_column_size(&f->columns[i]);
    return size;
}

void
sqt_parquet_file_free(struct sqt_parquet_file *f, int remove)
{
    char name[96];
    if (remove && f->written)
        unlinkat(f->directory, file_part_name(f, name), 0);
    for (unsigned i = 0; i < f->field_count; ++i)
        sqt_parquet_column_free(&f->columns[i]);
    free(f->columns);
    free(f->values);
    sqt_bytes_free(&f->groups);
    memset(f, 0, sizeof(*f));
}
