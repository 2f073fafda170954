/* Logs, in order, what a process does to the files below TORTURE_ROOT: for LD_PRELOAD.

   A record in the file TORTURE_LOG is a header of six numbers (64 bits each: kind, inode, offset,
   and the lengths of a path, a second path and the data), then these three. torture/power.py reads
   it. A call is logged after it succeeded, under a lock, so the order is that of the effects. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int log_fd = -2;
static const char *root;
static size_t root_length;

static void begin(void) {
    if (log_fd != -2) return;
    root = getenv("TORTURE_ROOT");
    root_length = root ? strlen(root) : 0;
    const char *log = getenv("TORTURE_LOG");
    log_fd = root && log ? syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
}

static int is_ours(const char *path) {
    begin();
    return log_fd >= 0 && path && strncmp(path, root, root_length) == 0;
}

/* The inode of an open file below the root; 0 for any other. */
static uint64_t ours(int fd) {
    int saved = errno;
    uint64_t inode = 0;
    char link[64], path[PATH_MAX];
    begin();
    if (log_fd >= 0 && fd != log_fd) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        struct stat st;
        if (n > 0 && (path[n] = 0, is_ours(path)) && fstat(fd, &st) == 0 &&
            (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            inode = st.st_ino;
    }
    errno = saved;
    return inode;
}

static void append(uint64_t kind, uint64_t inode, uint64_t offset, const char *path,
                   const char *second, const struct iovec *data, int n) {
    int saved = errno;
    uint64_t size = 0;
    struct iovec parts[19];
    if (n > 16) abort();
    for (int i = 0; i < n; i++) size += data[i].iov_len;
    uint64_t head[6] = {kind, inode, offset, path ? strlen(path) : 0, second ? strlen(second) : 0, size};
    parts[0] = (struct iovec){head, sizeof head};
    parts[1] = (struct iovec){(void *)path, head[3]};
    parts[2] = (struct iovec){(void *)second, head[4]};
    for (int i = 0; i < n; i++) parts[3 + i] = data[i];
    uint64_t whole = sizeof head + head[3] + head[4] + size;
    if ((uint64_t)syscall(SYS_writev, log_fd, parts, 3 + n) != whole) abort();
    errno = saved;
}

/* The search index renames its temporary files by a system call of its own, which no library sees.
   So before each record we look whether one has got another name. */
static struct { uint64_t inode; char path[PATH_MAX]; } temporary[64];

static void notice_renames(void) {
    struct stat st;
    for (int i = 0; i < 64; i++) {
        if (!temporary[i].inode || lstat(temporary[i].path, &st) == 0) continue;
        char folder[PATH_MAX], path[PATH_MAX];
        snprintf(folder, sizeof folder, "%s", temporary[i].path);
        *strrchr(folder, '/') = 0;
        DIR *open_folder = opendir(folder);
        for (struct dirent *e; open_folder && (e = readdir(open_folder));)
            if (e->d_ino == temporary[i].inode) {
                snprintf(path, sizeof path, "%.3000s/%s", folder, e->d_name);
                append(RENAME, 0, 0, temporary[i].path, path, NULL, 0);
            }
        if (open_folder) closedir(open_folder);
        temporary[i].inode = 0;
    }
}

__attribute__((destructor)) static void finish(void) {
    if (log_fd >= 0) notice_renames();
}

static void record(uint64_t kind, uint64_t inode, uint64_t offset, const char *path,
                   const char *second, const struct iovec *data, int n) {
    int saved = errno;
    if (kind == UNLINK || kind == RENAME) {
        for (int i = 0; i < 64; i++)
            if (!strcmp(temporary[i].path, path)) temporary[i].inode = 0;
    }
    notice_renames();
    append(kind, inode, offset, path, second, data, n);
    if (kind == CREATE && !strncmp(strrchr(path, '/'), "/.tmp", 5)) {
        int i = 0;
        while (i < 63 && temporary[i].inode) i++;
        temporary[i].inode = inode;
        snprintf(temporary[i].path, PATH_MAX, "%s", path);
    }
    errno = saved;
}

static void absolute(int folder, const char *path, char *out) {
    char link[64], base[PATH_MAX];
    if (path[0] == '/') { snprintf(out, PATH_MAX, "%s", path); return; }
    if (folder == AT_FDCWD) { if (!getcwd(base, sizeof base)) abort(); }
    else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t n = readlink(link, base, sizeof base - 1);
        base[n > 0 ? n : 0] = 0;
    }
    snprintf(out, PATH_MAX, "%.2000s/%.2000s", base, path);
}

static int open_logged(int folder, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    struct stat before, after;
    absolute(folder, path, full);
    if (!is_ours(full) || !(flags & (O_CREAT | O_TRUNC)))
        return syscall(SYS_openat, folder, path, flags, mode);
    pthread_mutex_lock(&lock);
    int saved = errno, existed = stat(full, &before) == 0;
    errno = saved;
    int fd = syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && fstat(fd, &after) == 0) {
        if (!existed) record(CREATE, after.st_ino, 0, full, NULL, NULL, 0);
        else if (flags & O_TRUNC) record(TRUNCATE, after.st_ino, 0, NULL, NULL, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE(flags) mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); \
        mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) return open_logged(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_logged(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_logged(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_logged(at, path, flags, mode); }

/* offset -1: where the file stands */
static ssize_t write_logged(int fd, const struct iovec *data, int n, off_t offset) {
    uint64_t inode = ours(fd);
    pthread_mutex_lock(&lock);
    off_t at = offset;
    ssize_t done = offset < 0 ? syscall(SYS_writev, fd, data, n) : syscall(SYS_pwritev, fd, data, n, offset, 0);
    if (done > 0 && inode) {
        if (offset < 0) at = lseek(fd, 0, SEEK_CUR) - done;
        struct iovec copy[16];
        int used = 0;
        for (ssize_t left = done; left > 0 && used < 16; used++) {
            copy[used] = data[used];
            if ((ssize_t)copy[used].iov_len > left) copy[used].iov_len = left;
            left -= copy[used].iov_len;
        }
        record(WRITE, inode, at, NULL, NULL, copy, used);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int fd, const void *data, size_t size) {
    struct iovec one = {(void *)data, size};
    return ours(fd) ? write_logged(fd, &one, 1, -1) : syscall(SYS_write, fd, data, size);
}
ssize_t writev(int fd, const struct iovec *data, int n) {
    return ours(fd) ? write_logged(fd, data, n < 16 ? n : 16, -1) : syscall(SYS_writev, fd, data, n);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    struct iovec one = {(void *)data, size};
    return ours(fd) ? write_logged(fd, &one, 1, offset) : syscall(SYS_pwrite64, fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return pwrite(fd, data, size, offset); }

static int logged(int result, uint64_t kind, uint64_t inode, uint64_t offset, const char *path, const char *second) {
    if (result == 0) record(kind, inode, offset, path, second, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

#define SYNCED(name, number) int name(int fd) { \
    uint64_t inode = ours(fd); \
    if (!inode) return syscall(number, fd); \
    pthread_mutex_lock(&lock); \
    return logged(syscall(number, fd), SYNC, inode, 0, NULL, NULL); }
SYNCED(fsync, SYS_fsync)
SYNCED(fdatasync, SYS_fdatasync)

int ftruncate(int fd, off_t size) {
    uint64_t inode = ours(fd);
    if (!inode) return syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    return logged(syscall(SYS_ftruncate, fd, size), TRUNCATE, inode, size, NULL, NULL);
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

static int rename_logged(int from, const char *old, int to, const char *new, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    absolute(from, old, one);
    absolute(to, new, two);
    if (!is_ours(two)) return syscall(SYS_renameat2, from, old, to, new, flags);
    pthread_mutex_lock(&lock);
    return logged(syscall(SYS_renameat2, from, old, to, new, flags), RENAME, 0, 0, one, two);
}
int rename(const char *old, const char *new) { return rename_logged(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return rename_logged(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return rename_logged(from, old, to, new, flags);
}

int unlinkat(int at, const char *path, int flags) {
    char full[PATH_MAX];
    absolute(at, path, full);
    if (!is_ours(full)) return syscall(SYS_unlinkat, at, path, flags);
    pthread_mutex_lock(&lock);
    return logged(syscall(SYS_unlinkat, at, path, flags), UNLINK, 0, 0, full, NULL);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path);
}

int mkdirat(int at, const char *path, mode_t mode) {
    char full[PATH_MAX];
    absolute(at, path, full);
    if (!is_ours(full)) return syscall(SYS_mkdirat, at, path, mode);
    pthread_mutex_lock(&lock);
    return logged(syscall(SYS_mkdirat, at, path, mode), MKDIR, 0, 0, full, NULL);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
