#ifndef CAIRN_ALLOCATION_COUNTER_H
#define CAIRN_ALLOCATION_COUNTER_H

#include <stdint.h>

// A sanitizer takes the place of the same functions of the C library.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAIRN_COUNTS_NOTHING
#endif
#endif

/// What one thread has asked the heap for since it started.
struct allocation_counts {
    /// Calls of malloc, calloc, realloc, memalign, aligned_alloc and posix_memalign.
    uint64_t calls;
    /// The bytes that those calls asked for.
    uint64_t bytes;
    /// The blocks that are in use: those that this thread got, less those that it gave back.
    int64_t live_blocks;
    /// How many bytes those blocks have, which are often a few more than were asked for.
    int64_t live_bytes;
};

/// The counts of the calling thread.
///
/// A program that links this library has the C library's allocation functions replaced by ones that count and then
/// call the C library's own, for everything in the process: Swift objects and array buffers included. Built with a
/// sanitizer, which puts its own functions there, it counts nothing.
struct allocation_counts allocation_counts(void);

/// Calls each of the counted functions once, with `size` bytes each, and frees what it got: so that the counter can
/// be tried. Returns how many calls that was.
uint64_t allocation_counter_exercise(uint64_t size);

/// How often one thread has had the kernel move bytes, or waited for it, since it started.
struct system_call_counts {
    /// Calls of read and recv.
    uint64_t reads;
    /// Calls of ppoll.
    uint64_t waits;
    /// Calls of write and send.
    uint64_t sends;
    /// Calls of setsockopt.
    uint64_t options;
};

/// The counts of the calling thread, under the same condition as those of allocations.
struct system_call_counts system_call_counts(void);

#endif
