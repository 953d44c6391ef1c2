import CLinux
import Glibc

/// The memory that the files take which this process runs: the program's and its libraries'.
package enum ProgramMemory {
    /// Gives back what only a beginning has needed: of the start, the command line's parser, the board file's, the database's migrations;
    /// later, the controller's commands and the making of services; of a phone's session, pairing and discovery.
    ///
    /// The kernel maps code and constants sixteen pages at a time, wherever one of them is touched, and a start touches nearly
    /// everything: three quarters of a watch's resident memory would be code that runs once. What is used again comes back by
    /// itself, from the page cache. madvise(2), MADV_DONTNEED: pages of a file that have not been written to are only unmapped.
    package static func release() {
        _ = dl_iterate_phdr(
            { object, _, _ in
                if let object { ProgramMemory.releaseConstantParts(of: object.pointee) }
                return 0
            },
            nil
        )
    }

    /// - Parameter object: the program, or one of its libraries, as the dynamic linker knows it (dl_iterate_phdr(3)).
    private static func releaseConstantParts(of object: dl_phdr_info) {
        let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
        for part in UnsafeBufferPointer(start: object.dlpi_phdr, count: Int(object.dlpi_phnum))
        where part.p_type == PT_LOAD && part.p_flags & UInt32(PF_W) == 0 {
            // Only whole pages, and none that the linker has written addresses into: those are in parts that may be written to.
            let start = (UInt(object.dlpi_addr) &+ UInt(part.p_vaddr) &+ page &- 1) / page &* page
            let end = (UInt(object.dlpi_addr) &+ UInt(part.p_vaddr) &+ UInt(part.p_memsz)) / page &* page
            if start < end { madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED) }
        }
    }
}
