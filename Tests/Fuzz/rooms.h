#include <stdint.h>

/// A room's name, and where its counters begin, and the places in the code that they count.
struct room {
    const char *name;
    uint8_t *counter;
    const uintptr_t *place;
};
