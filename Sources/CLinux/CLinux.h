// Linux system calls that Swift's Glibc module leaves out, because it is built without _GNU_SOURCE or without
// their headers. Declared as in their manual pages: accept(2), eventfd(2), poll(2), signalfd(2), posix_openpt(3), grantpt(3), unlockpt(3),
// ptsname(3), dl_iterate_phdr(3).

#ifndef CLINUX_H
#define CLINUX_H

// What the headers below share with Swift's own module of the C library is declared there and nowhere else: otherwise files
// that import only that would miss it, depending on which module is loaded first.
#pragma clang module import SwiftGlibc

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sock_diag.h>
#include <linux/gpio.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

#ifndef POLLRDHUP
// poll(2): the other side of a stream has closed its half. Linux has this number on every processor but SPARC.
#define POLLRDHUP 0x2000
#endif

extern int ppoll(struct pollfd *requests, nfds_t count, const struct timespec *timeout, const sigset_t *mask);

extern int posix_openpt(int flags);

extern int grantpt(int descriptor);

extern int unlockpt(int descriptor);

extern int pipe2(int descriptors[2], int flags);

extern int prctl(int option, ...);

// Starts a program that ends when this process does, however that ends: prctl(2), PR_SET_PDEATHSIG. posix_spawn(3) cannot do it,
// and Swift must not call fork(2); between fork and execve there are only calls of signal-safety(7).
//
// The program is in a process group of its own, in the directory, with nothing to read, and writes to one descriptor. Returns its
// process number, or an error's number, negative.
static inline pid_t start_bound_program(
    const char *path, char *const words[], char *const environment[], int directory, int output) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) { return -errno; }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        const int nothing = open("/dev/null", O_RDONLY);
        // A parent that has ended already sends no signal any more.
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && setpgid(0, 0) == 0 && fchdir(directory) == 0
            && nothing >= 0 && dup2(nothing, 0) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2) {
            if (nothing > 2) { close(nothing); }
            execve(path, words, environment);
        }
        const int error = errno;
        if (write(report[1], &error, sizeof error) < 0) { _exit(126); }
        _exit(127);
    }
    const int failure = errno;
    close(report[1]);
    int error = 0;
    ssize_t count = 0;
    if (child < 0) {
        error = failure;
    } else {
        do { count = read(report[0], &error, sizeof error); } while (count < 0 && errno == EINTR);
        if (count <= 0) { error = 0; }
    }
    close(report[0]);
    return error != 0 ? -error : child;
}

extern int ptsname_r(int descriptor, char *name, size_t size);

#ifndef __USE_GNU
struct dl_phdr_info {
    ElfW(Addr) dlpi_addr;
    const char *dlpi_name;
    const ElfW(Phdr) *dlpi_phdr;
    ElfW(Half) dlpi_phnum;
    // More follows, which nothing here reads.
};

extern int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *object, size_t size, void *data), void *data);
#endif

// Requests of ioctl(2) that are made by macros with arguments, which Swift cannot import: linux/gpio.h.
static const unsigned long gpio_get_chip_info_request = GPIO_GET_CHIPINFO_IOCTL;
static const unsigned long gpio_get_line_info_request = GPIO_V2_GET_LINEINFO_IOCTL;
static const unsigned long gpio_get_lines_request = GPIO_V2_GET_LINE_IOCTL;
static const unsigned long gpio_get_values_request = GPIO_V2_LINE_GET_VALUES_IOCTL;
static const unsigned long gpio_set_values_request = GPIO_V2_LINE_SET_VALUES_IOCTL;

#endif
