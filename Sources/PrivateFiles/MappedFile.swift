import CMappings
import Glibc

/// A piece of a file as memory: what is written there outlives the process, however it ends, without a system call.
///
/// The room on the disk is taken before. If the file is lost all the same, because somebody cuts it, or the disk fails, memory of the
/// process's own stands in for it, filled with zeros (`isLost`).
public final class MappedFile {
    /// The memory.
    public let bytes: UnsafeMutableRawBufferPointer
    private let number: Int32

    /// Whether what is written reaches no file any more.
    public var isLost: Bool { mapping_is_lost(number) }

    /// Takes room for a piece of a file, and maps it.
    /// - Parameters:
    ///   - path: the file's name, for errors.
    ///   - descriptor: the file, open for reading and writing; it may be closed afterwards.
    ///   - offset: where the piece begins in the file; a multiple of the size of a page.
    ///   - count: how long the piece is, in bytes; the file is as long afterwards, at least.
    /// - Throws: if there is no room, or what is open is no file that can be mapped.
    public init(_ path: String, _ descriptor: Int32, from offset: Int = 0, count: Int) throws(PrivateFileError) {
        // A page without room on the disk would be lost when it is touched first.
        let failure = posix_fallocate(descriptor, off_t(offset), off_t(count))
        guard failure == 0 else { throw PrivateFileError(path, .system(failure)) }
        let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(offset))
        guard let start, start != MAP_FAILED else { throw .last(path) }
        // Otherwise the kernel makes many pages of zeros ahead of the first that is touched.
        madvise(start, count, MADV_RANDOM)
        number = mapping_register(start, count)
        guard number >= 0 else {
            munmap(start, count)
            throw PrivateFileError(path, .system(ENOMEM))
        }
        bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
    }

    deinit {
        mapping_unregister(number)
        munmap(bytes.baseAddress, bytes.count)
    }

    /// What was written before is in the file before what is written afterwards, also if the process is killed between the two.
    public static func orderWrites() { mapping_order_stores() }
}
