import Glibc

/// The time that this thread has had a processor: unlike the time on the wall, it does not pass while others have it.
enum CPUTime {
    static var nanoseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
