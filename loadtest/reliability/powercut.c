/* Notes what a process writes to files and what it has synced, so that a power cut can be played afterwards.
 *
 * Preloaded into the process. WARP_CUT_DIR names the directory whose files are watched, WARP_CUT_LOG the file that
 * notes are appended to; several processes may share both. One note, in host order:
 *
 *   u8 kind: 'w' write, 't' truncate, 's' sync     u64 inode
 *   u64 offset: of the write; the new length; the length of this log when the sync began
 *   u64 length of the file before     u32 bytes overwritten or cut off     u32 bytes written
 *   those two runs of bytes
 *
 * A write is noted once it is done: what a kill leaves unnoted just survives.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct note {
    char kind;
    uint64_t inode, offset, size;
    uint32_t old_bytes, new_bytes;
} __attribute__((packed));

static const char *directory;
static int notes = -1;

static ssize_t (*libc_write)(int, const void *, size_t);
static ssize_t (*libc_pwrite)(int, const void *, size_t, off64_t);
static int (*libc_ftruncate)(int, off64_t), (*libc_fsync)(int), (*libc_fdatasync)(int);

/* Find what stands behind our functions; other libraries may call them before `begin`. */
static void resolve(void) {
    if (libc_write) return;
    libc_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    libc_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    libc_fsync = dlsym(RTLD_NEXT, "fsync");
    libc_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    libc_write = dlsym(RTLD_NEXT, "write");
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("WARP_CUT_LOG");
    directory = getenv("WARP_CUT_DIR");
    if (!file || !directory) return;
    int opened = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    notes = fcntl(opened, F_DUPFD_CLOEXEC, 200);
    close(opened);
}

/* Whether this is a regular file below the directory. */
static int watched(int fd, struct stat *status) {
    char link[64], path[PATH_MAX];
    resolve();
    if (notes < 0 || fstat(fd, status) || !S_ISREG(status->st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 0 && !strncmp(path, directory, strlen(directory));
}

static void put(struct note *note, const void *old, const void *new) {
    struct iovec parts[] = {
        {note, sizeof *note}, {(void *)old, note->old_bytes}, {(void *)new, note->new_bytes}};
    int before = errno;
    if (writev(notes, parts, 3) < 0) abort(); /* a gap in the notes would be taken for durable writes */
    errno = before;
}

/* What lies between offset and the file's end, at most n bytes; the caller frees it. */
static void *present(int fd, off64_t offset, size_t n, const struct stat *status, struct note *note) {
    if (offset >= status->st_size) return NULL;
    if (n > (size_t)(status->st_size - offset)) n = status->st_size - offset;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int readable = open(path, O_RDONLY | O_CLOEXEC); /* fd may be open for writing only */
    void *bytes = malloc(n);
    ssize_t got = pread64(readable, bytes, n, offset);
    close(readable);
    note->old_bytes = got > 0 ? got : 0;
    return bytes;
}

/* Write at an offset, or with -1 where the file is. */
static ssize_t written(int fd, const void *bytes, size_t n, off64_t offset) {
    struct stat status = {0};
    int known = watched(fd, &status);
    off64_t at = offset;
    if (known && offset < 0) at = fcntl(fd, F_GETFL) & O_APPEND ? status.st_size : lseek64(fd, 0, SEEK_CUR);
    struct note note = {'w', status.st_ino, at, status.st_size, 0, 0};
    void *old = known ? present(fd, at, n, &status, &note) : NULL;
    ssize_t done = offset < 0 ? libc_write(fd, bytes, n) : libc_pwrite(fd, bytes, n, offset);
    if (known && done > 0) {
        note.new_bytes = done;
        put(&note, old, bytes);
    }
    free(old);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t n) { return written(fd, bytes, n, -1); }
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t offset) { return written(fd, bytes, n, offset); }
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset) { return written(fd, bytes, n, offset); }

int ftruncate64(int fd, off64_t length) {
    struct stat status = {0};
    int known = watched(fd, &status);
    struct note note = {'t', status.st_ino, length, status.st_size, 0, 0};
    void *old = known ? present(fd, length, SIZE_MAX, &status, &note) : NULL;
    int failed = libc_ftruncate(fd, length);
    if (known && !failed) put(&note, old, NULL);
    free(old);
    return failed;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int synced(int fd, int metadata) {
    struct stat status, log;
    int known = watched(fd, &status) && !fstat(notes, &log);
    int failed = metadata ? libc_fsync(fd) : libc_fdatasync(fd);
    if (known && !failed) {
        struct note note = {'s', status.st_ino, log.st_size, status.st_size, 0, 0};
        put(&note, NULL, NULL);
    }
    return failed;
}

int fsync(int fd) { return synced(fd, 1); }
int fdatasync(int fd) { return synced(fd, 0); }
