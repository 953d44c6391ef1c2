// Counts what a process asks the C library for: memory, and the calls that move bytes and wait for them. It is preloaded
// (LD_PRELOAD) into the process that is measured, and counts in a file that CAIRN_COUNTERS names, where counting.py reads.
//
// The functions behind malloc's public names are exported by glibc for this purpose. A program that counts its allocations itself
// keeps its own malloc. Calls of the dynamic linker and inside of the C library are not seen: there are none on a loop's way.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ALLOCATIONS, READS, WAITS, SENDS, OPTIONS, COUNT };

static _Atomic uint64_t before_start[COUNT];
static _Atomic uint64_t *counts = before_start;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CAIRN_COUNTERS");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *place = mmap(NULL, sizeof before_start, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    // Programs that the measured one starts are not it.
    unsetenv("CAIRN_COUNTERS");
    if (place != MAP_FAILED) counts = place;
}

static inline void note(int what) { __atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED); }

// Counts a call and makes it.
#define COUNTED(what, result, name, parameters, arguments)                            \
    result name parameters {                                                          \
        static result(*next) parameters;                                              \
        if (next == NULL) next = (result(*) parameters)dlsym(RTLD_NEXT, #name);       \
        note(what);                                                                   \
        return next arguments;                                                        \
    }

COUNTED(READS, ssize_t, read, (int file, void *bytes, size_t size), (file, bytes, size))
COUNTED(READS, ssize_t, readv, (int file, const struct iovec *parts, int count), (file, parts, count))
COUNTED(READS, ssize_t, recv, (int file, void *bytes, size_t size, int flags), (file, bytes, size, flags))
COUNTED(READS, ssize_t, recvfrom,
        (int file, void *restrict bytes, size_t size, int flags, struct sockaddr *restrict from, socklen_t *restrict length),
        (file, bytes, size, flags, from, length))
COUNTED(READS, ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))
COUNTED(SENDS, ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size))
COUNTED(SENDS, ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count))
COUNTED(SENDS, ssize_t, send, (int file, const void *bytes, size_t size, int flags), (file, bytes, size, flags))
COUNTED(SENDS, ssize_t, sendto,
        (int file, const void *bytes, size_t size, int flags, const struct sockaddr *to, socklen_t length),
        (file, bytes, size, flags, to, length))
COUNTED(SENDS, ssize_t, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags))
COUNTED(OPTIONS, int, setsockopt, (int file, int level, int name, const void *value, socklen_t size),
        (file, level, name, value, size))
COUNTED(WAITS, int, poll, (struct pollfd *requests, nfds_t count, int time), (requests, count, time))
COUNTED(WAITS, int, ppoll,
        (struct pollfd *requests, nfds_t count, const struct timespec *time, const sigset_t *mask),
        (requests, count, time, mask))
COUNTED(WAITS, int, epoll_wait, (int file, struct epoll_event *events, int count, int time), (file, events, count, time))
COUNTED(WAITS, int, epoll_pwait,
        (int file, struct epoll_event *events, int count, int time, const sigset_t *mask),
        (file, events, count, time, mask))
COUNTED(WAITS, int, select, (int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *time), (count, r, w, e, time))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    note(ALLOCATIONS);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note(ALLOCATIONS);
    return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
    note(ALLOCATIONS);
    return __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
    note(ALLOCATIONS);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(ALLOCATIONS);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    note(ALLOCATIONS);
    void *pointer = __libc_memalign(alignment, size);
    if (pointer == NULL) return ENOMEM;
    *result = pointer;
    return 0;
}
