import CLinux
import Glibc

/// The memory that the program's own file takes.
enum ProgramMemory {
    /// Gives back what only the start has needed: the command line's parser, the board file's, the database's migrations.
    ///
    /// The kernel maps code and constants sixteen pages at a time, wherever one of them is touched, and a start touches nearly
    /// everything: two thirds of a watch's resident memory would be code that runs once. What is used again comes back by itself,
    /// from the page cache. madvise(2), MADV_DONTNEED: pages of a file that nobody has written to are only unmapped.
    static func releaseStartUp() {
        guard let start = program_start(), let end = program_end(), start < end else { return }
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        // Only whole pages: what follows the code may be data.
        let length = (end - start) / page * page
        madvise(UnsafeMutableRawPointer(mutating: start), length, MADV_DONTNEED)
    }
}
