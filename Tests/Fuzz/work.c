// How many edges of our rooms an input goes through: work that is exact, the same each time, and needs no clock.
//
// The rooms are compiled with `-sanitize-coverage=edge,trace-pc-guard` besides libFuzzer's own counters, which have eight bits each. This file
// is compiled without, since it would count itself; and libFuzzer, which has functions of these names that only say that they are out of use, is linked
// with `--wrap`.

#include <stdint.h>

static uint64_t edges;

void __wrap___sanitizer_cov_trace_pc_guard(uint32_t *guard) {
    (void)guard;
    edges++;
}

// Guards have no numbers here: nothing asks which edge it was.
void __wrap___sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
    (void)start;
    (void)stop;
}

uint64_t cairn_fuzz_edges(void) { return edges; }

#ifdef COUNTS_NOTHING
// Without AddressSanitizer, whose allocator this is of, nobody counts memory: nothing is left behind.

#include <stddef.h>

size_t __sanitizer_get_current_allocated_bytes(void) { return 0; }
#endif
