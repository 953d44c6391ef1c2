// Counts system calls as allocations are counted: the program's own definitions come before those of the C library, whose
// functions do the work.

#define _GNU_SOURCE
#include "CAllocationCounter.h"

#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static _Thread_local struct system_call_counts counts;

#ifndef CAIRN_COUNTS_NOTHING
// Counts a call and makes it.
#define COUNTED(what, result, name, parameters, arguments)                      \
    result name parameters {                                                    \
        static result(*next) parameters;                                        \
        if (next == NULL) next = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
        counts.what += 1;                                                       \
        return next arguments;                                                  \
    }

COUNTED(reads, ssize_t, read, (int file, void *bytes, size_t size), (file, bytes, size))
COUNTED(reads, ssize_t, recv, (int file, void *bytes, size_t size, int flags), (file, bytes, size, flags))
COUNTED(sends, ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size))
COUNTED(sends, ssize_t, send, (int file, const void *bytes, size_t size, int flags), (file, bytes, size, flags))
COUNTED(options, int, setsockopt, (int file, int level, int name, const void *value, socklen_t size),
        (file, level, name, value, size))
COUNTED(waits, int, ppoll,
        (struct pollfd *requests, nfds_t count, const struct timespec *time, const sigset_t *mask),
        (requests, count, time, mask))
#endif

struct system_call_counts system_call_counts(void) { return counts; }
