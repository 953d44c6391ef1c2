// Files that are mapped into memory, for processes that must outlive the loss of one.
//
// The kernel sends SIGBUS to a process that touches a page of a mapped file which is not there any more: somebody has cut the file,
// or the disk has no room or fails. For the mappings that are registered here, memory of the process's own takes the page's place,
// and the process goes on. See mmap(2), sigaction(2).

#ifndef CMAPPINGS_H
#define CMAPPINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/// Registers a mapping.
/// - Returns: its number, or -1 if there are 32 already, or the kernel refuses a handler for SIGBUS.
int mapping_register(void *start, size_t length);

/// Whether the file of a mapping was lost: what is written into the mapping reaches no file any more.
bool mapping_is_lost(int number);

/// Gives a number back. The mapping itself is the caller's to undo, before or after.
void mapping_unregister(int number);

/// Everything that was stored before it is in memory before everything that is stored after it, also for a process that is killed
/// between the two.
static inline void mapping_order_stores(void) { atomic_signal_fence(memory_order_acq_rel); }

#endif
