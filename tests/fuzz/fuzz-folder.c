/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-folder.c - the bytes of an input as the files of a directory.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
fuzz_folder_remove(const char *path)
{
    DIR *const folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder)) != NULL;) {
        char inner[2048];
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (unlinkat(dirfd(folder), e->d_name, 0) != 0 && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            fuzz_folder_remove(inner);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

void
fuzz_folder_write(const char *path, const uint8_t *data, size_t size)
{
    static struct fuzz_pieces pieces;
    FILE *file = NULL;
    unsigned number = 0;
    mkdir(path, 0700);
    fuzz_pieces_parse(&pieces, data, size);
    for (size_t i = 0; i < pieces.count; ++i) {
        const struct fuzz_piece *const piece = &pieces.piece[i];
        if (!file || piece->kind == FUZZ_HEADER || piece->kind == FUZZ_RING) {
            char name[4096];
            if (file)
                fclose(file);
            snprintf(name, sizeof(name), "%s/%u.%s", path, number++,
                     piece->kind == FUZZ_RING || piece->kind == FUZZ_RAW ? "ring" : "sqt");
            file = fopen(name, "w");
        }
        if (file && piece->bytes.size)
            fwrite(piece->bytes.data, piece->bytes.size, 1, file);
    }
    if (file)
        fclose(file);
    fuzz_pieces_free(&pieces);
}
