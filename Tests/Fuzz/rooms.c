// Which code guides the search: that of the target's rooms.
//
// libFuzzer looks at every counter of the program after each input. Of a quarter of a million counters a decoder reaches a thousand, and looking
// takes four fifths of its time. So only the counters of some rooms are made known to it. Counters stand in the order in which objects are linked,
// and `Tests/Fuzz/run` links a mark (`mark.c`) in front of each room's object: a room's counters are those from its mark to the next.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rooms.h"

extern const struct room __start_cairn_rooms[], __stop_cairn_rooms[];

void __real___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __real___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);

// Whether CAIRN_FUZZ_ROOMS has the room: names, with a space before and after each.
static int is_wanted(const char *names, const char *room) {
    size_t length = strlen(room);
    for (const char *at = names; (at = strstr(at, room)); at += length)
        if (at > names && at[-1] == ' ' && at[length] == ' ') return 1;
    return 0;
}

// Every object's constructor calls both, with the same whole each time.
void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop) {
    static int is_done;
    if (is_done++) return;
    const char *names = getenv("CAIRN_FUZZ_ROOMS");
    if (!names) {
        __real___sanitizer_cov_8bit_counters_init(start, stop);
        return;
    }
    for (const struct room *room = __start_cairn_rooms; room < __stop_cairn_rooms; room++) {
        uint8_t *end = room + 1 < __stop_cairn_rooms ? room[1].counter : stop;
        if (is_wanted(names, room->name)) __real___sanitizer_cov_8bit_counters_init(room->counter, end);
    }
}

void __wrap___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop) {
    static int is_done;
    if (is_done++) return;
    const char *names = getenv("CAIRN_FUZZ_ROOMS");
    if (!names) {
        __real___sanitizer_cov_pcs_init(start, stop);
        return;
    }
    for (const struct room *room = __start_cairn_rooms; room < __stop_cairn_rooms; room++) {
        const uintptr_t *end = room + 1 < __stop_cairn_rooms ? room[1].place : stop;
        if (is_wanted(names, room->name)) __real___sanitizer_cov_pcs_init(room->place, end);
    }
}
