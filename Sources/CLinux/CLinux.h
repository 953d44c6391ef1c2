// Linux system calls that Swift's Glibc module leaves out, because it is built without _GNU_SOURCE or without
// their headers. Declared as in their manual pages: accept(2), poll(2), signalfd(2).

#ifndef CLINUX_H
#define CLINUX_H

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>

extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

extern int ppoll(struct pollfd *requests, nfds_t count, const struct timespec *timeout, const sigset_t *mask);

#endif
