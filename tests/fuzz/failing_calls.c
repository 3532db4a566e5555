/* Preloaded into the process that runs commands: counts their calls that touch files below one folder, and lets the
   n-th of them fail, or kills the process there. A write that is cut short by the kill has written half.

   What a library maps into memory is not seen, nor what the C library opens for itself (opendir). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX], told[PATH_MAX];
static size_t length; /* of the folder; 0: nothing is counted */
static atomic_long count;
static long wanted;
static int error; /* what the wanted call fails with; 0: it is killed */

void failing_calls_begin(const char *below, const char *tell_in, long nth, int with) {
    strncpy(told, tell_in, sizeof told - 1);
    strncpy(folder, below, sizeof folder - 1);
    wanted = nth;
    error = with;
    atomic_store(&count, 0);
    length = strlen(folder);
}

long failing_calls_end(void) {
    length = 0;
    return atomic_load(&count);
}

static const char *of_descriptor(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
    return path;
}

static const char *at(int descriptor, const char *name, char *path) {
    if (name[0] == '/') return name;
    if (descriptor != AT_FDCWD)
        of_descriptor(descriptor, path);
    else if (getcwd(path, PATH_MAX) == NULL)
        path[0] = 0;
    size_t n = strlen(path);
    snprintf(path + n, PATH_MAX - n, "/%s", name);
    return path;
}

/* Whether this call is the one; its name and path are told first. */
static int is_it(const char *call, const char *path) {
    if (length == 0 || strncmp(path, folder, length) != 0 || path[length] != '/') return 0;
    if (atomic_fetch_add(&count, 1) + 1 != wanted) return 0;
    int note = syscall(SYS_openat, AT_FDCWD, told, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dprintf(note, "%s %s", call, path + length + 1);
    syscall(SYS_close, note);
    return 1;
}

static int fails(const char *call, const char *path, int with) {
    if (!is_it(call, path)) return 0;
    if (error == 0) syscall(SYS_kill, getpid(), SIGKILL);
    errno = with;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define BY_NAME(call, descriptor, name) (length && fails(call, at(descriptor, name, (char[PATH_MAX]){0}), error))
/* rights are asked when a file is opened, not when it is written */
#define BY_DESCRIPTOR(call, descriptor) \
    (length && fails(call, of_descriptor(descriptor, (char[PATH_MAX]){0}), error == EACCES ? EIO : error))

#define OPENING(name, declared, descriptor, given)                              \
    int name declared {                                                         \
        mode_t mode = 0;                                                        \
        if (flags & (O_CREAT | O_TMPFILE)) {                                    \
            va_list more;                                                       \
            va_start(more, flags);                                              \
            mode = va_arg(more, mode_t);                                        \
            va_end(more);                                                       \
        }                                                                       \
        const char *call = flags & (O_WRONLY | O_RDWR) ? "open to write" : "open"; \
        return BY_NAME(call, descriptor, path) ? -1 : NEXT(name) given;         \
    }
OPENING(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENING(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENING(openat, (int folder_of, const char *path, int flags, ...), folder_of, (folder_of, path, flags, mode))
OPENING(openat64, (int folder_of, const char *path, int flags, ...), folder_of, (folder_of, path, flags, mode))

#define NAMED(name, declared, descriptor, path, given) \
    int name declared { return BY_NAME(#name, descriptor, path) ? -1 : NEXT(name) given; }
NAMED(rename, (const char *from, const char *to), AT_FDCWD, to, (from, to))
NAMED(renameat, (int a, const char *from, int b, const char *to), b, to, (a, from, b, to))
NAMED(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), b, to, (a, from, b, to, flags))
NAMED(link, (const char *from, const char *to), AT_FDCWD, to, (from, to))
NAMED(linkat, (int a, const char *from, int b, const char *to, int flags), b, to, (a, from, b, to, flags))
NAMED(symlink, (const char *from, const char *to), AT_FDCWD, to, (from, to))
NAMED(unlink, (const char *path), AT_FDCWD, path, (path))
NAMED(unlinkat, (int a, const char *path, int flags), a, path, (a, path, flags))
NAMED(rmdir, (const char *path), AT_FDCWD, path, (path))
NAMED(mkdir, (const char *path, mode_t mode), AT_FDCWD, path, (path, mode))
NAMED(mkdirat, (int a, const char *path, mode_t mode), a, path, (a, path, mode))

#define DESCRIBED(type, name, declared, given) \
    type name declared { return BY_DESCRIPTOR(#name, descriptor) ? -1 : NEXT(name) given; }
DESCRIBED(int, fsync, (int descriptor), (descriptor))
DESCRIBED(int, fdatasync, (int descriptor), (descriptor))
DESCRIBED(int, ftruncate, (int descriptor, off_t size), (descriptor, size))
DESCRIBED(int, ftruncate64, (int descriptor, off64_t size), (descriptor, size))
DESCRIBED(ssize_t, writev, (int descriptor, const struct iovec *parts, int n), (descriptor, parts, n))
DESCRIBED(ssize_t, pwrite, (int descriptor, const void *data, size_t n, off_t at_), (descriptor, data, n, at_))
DESCRIBED(ssize_t, pwrite64, (int descriptor, const void *data, size_t n, off64_t at_), (descriptor, data, n, at_))
DESCRIBED(ssize_t, sendfile, (int descriptor, int from, off_t *at_, size_t n), (descriptor, from, at_, n))
DESCRIBED(ssize_t, sendfile64, (int descriptor, int from, off64_t *at_, size_t n), (descriptor, from, at_, n))

ssize_t write(int descriptor, const void *data, size_t n) {
    char path[PATH_MAX];
    if (length && is_it("write", of_descriptor(descriptor, path))) {
        if (error == 0) {
            syscall(SYS_write, descriptor, data, n / 2);
            syscall(SYS_kill, getpid(), SIGKILL);
        }
        errno = error == EACCES ? EIO : error;
        return -1;
    }
    return NEXT(write)(descriptor, data, n);
}
