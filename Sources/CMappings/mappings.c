#include "CMappings.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PLACE_COUNT = 32 };

// What the handler looks at; all of it is changed under the lock, the start last when one is taken and first when it is given back.
static struct {
    atomic_uintptr_t start;
    atomic_size_t length;
    atomic_bool is_lost;
} places[PLACE_COUNT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_installed;
static struct sigaction previous;

static void handle_bus_error(int signal, siginfo_t *info, void *context) {
    (void)context;
    int error = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    // Numbers above zero are the kernel's: a signal that a process sends has no address.
    for (int number = 0; info->si_code > 0 && number < PLACE_COUNT; number++) {
        uintptr_t start = atomic_load(&places[number].start);
        size_t length = atomic_load(&places[number].length);
        if (start == 0 || address < start || address - start >= length) continue;
        void *page = mmap((void *)start, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (page == MAP_FAILED) break;
        atomic_store(&places[number].is_lost, true);
        errno = error;
        return;
    }
    // It is another's: the handler before gets it, as the faulting instruction runs again, or as it is sent again.
    sigaction(SIGBUS, &previous, NULL);
    if (info->si_code <= 0) raise(signal);
    errno = error;
}

int mapping_register(void *start, size_t length) {
    int number = -1;
    pthread_mutex_lock(&lock);
    if (!is_installed) {
        struct sigaction action = { .sa_sigaction = handle_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigemptyset(&action.sa_mask);
        is_installed = sigaction(SIGBUS, &action, &previous) == 0;
    }
    for (int place = 0; is_installed && number < 0 && place < PLACE_COUNT; place++) {
        if (atomic_load(&places[place].start) != 0) continue;
        atomic_store(&places[place].is_lost, false);
        atomic_store(&places[place].length, length);
        atomic_store(&places[place].start, (uintptr_t)start);
        number = place;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

bool mapping_is_lost(int number) { return atomic_load(&places[number].is_lost); }

void mapping_unregister(int number) {
    pthread_mutex_lock(&lock);
    atomic_store(&places[number].start, 0);
    pthread_mutex_unlock(&lock);
}
