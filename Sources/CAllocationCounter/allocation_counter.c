// Counts allocations by taking the place of the C library's functions. The dynamic linker finds the program's own
// definitions before those of any shared library, so the Swift runtime and Foundation are counted too.

#include "CAllocationCounter.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// The functions behind the public names, which glibc exports for this purpose.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *pointer);

static _Thread_local struct allocation_counts counts;

#ifndef CAIRN_COUNTS_NOTHING
static inline void note(size_t size) {
    counts.calls += 1;
    counts.bytes += size;
}

static inline void *gained(void *pointer) {
    if (pointer == NULL) return NULL;
    counts.live_blocks += 1;
    counts.live_bytes += malloc_usable_size(pointer);
    return pointer;
}

static inline void lose(void *pointer) {
    if (pointer == NULL) return;
    counts.live_blocks -= 1;
    counts.live_bytes -= malloc_usable_size(pointer);
}

void *malloc(size_t size) {
    note(size);
    return gained(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    note(count * size);
    return gained(__libc_calloc(count, size));
}

void *realloc(void *pointer, size_t size) {
    note(size);
    size_t old_size = pointer == NULL ? 0 : malloc_usable_size(pointer);
    void *moved = __libc_realloc(pointer, size);
    // Without a new block the old one stays, but for a size of zero, which frees it.
    if (moved == NULL && size != 0) return NULL;
    if (pointer != NULL) {
        counts.live_blocks -= 1;
        counts.live_bytes -= old_size;
    }
    return gained(moved);
}

void *memalign(size_t alignment, size_t size) {
    note(size);
    return gained(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(size);
    return gained(__libc_memalign(alignment, size));
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    int is_power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!is_power_of_two || alignment % sizeof(void *) != 0) return EINVAL;
    note(size);
    void *pointer = __libc_memalign(alignment, size);
    if (pointer == NULL) return ENOMEM;
    *result = gained(pointer);
    return 0;
}

void free(void *pointer) {
    lose(pointer);
    __libc_free(pointer);
}
#endif

struct allocation_counts allocation_counts(void) { return counts; }

uint64_t allocation_counter_exercise(uint64_t size) {
    // Through volatile pointers: a compiler knows these functions and would leave out calls without an effect.
    void *(*volatile call_malloc)(size_t) = malloc;
    void *(*volatile call_calloc)(size_t, size_t) = calloc;
    void *(*volatile call_realloc)(void *, size_t) = realloc;
    void *(*volatile call_memalign)(size_t, size_t) = memalign;
    void *(*volatile call_aligned_alloc)(size_t, size_t) = aligned_alloc;
    int (*volatile call_posix_memalign)(void **, size_t, size_t) = posix_memalign;
    void *pointer = NULL;
    free(call_malloc(size));
    free(call_calloc(1, size));
    free(call_realloc(NULL, size));
    free(call_memalign(64, size));
    free(call_aligned_alloc(64, size));
    if (call_posix_memalign(&pointer, 64, size) == 0) free(pointer);
    return 6;
}
