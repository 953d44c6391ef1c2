import Control
import Glibc
import HCIRuntime
import LinuxBluetooth
import PebbleWatch
import WatchStorage

/// A copy of the store that a program reads piece by piece: a file without a name, gone when it is no longer read.
final class BackupSnapshot {
    /// What has a name for a moment, in the state directory.
    private static let fileName = "backup.part"
    /// Bytes of one piece: as hexadecimal digits they fit into a line that any program can be expected to read.
    static let pieceLength = 24 * 1024

    /// What is in the copy.
    let summary: StoreSummary
    private let file: FileDescriptor

    /// Copies a store. That takes its disk and the loop as long as the store is large: about a second for 10 MB on a card.
    init(of store: SQLiteStore) throws(ProgramError) {
        let path = store.directory + "/" + Self.fileName
        // What a process left behind that was killed in the middle.
        unlink(path)
        summary = try StateBackup.explaining { () throws(WatchStoreError) in try store.backUp(to: path) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let error = SystemError.last
        unlink(path)
        guard descriptor >= 0 else { throw StateBackup.failure(path, error) }
        file = FileDescriptor(owning: descriptor)
    }

    /// The bytes from a place on; none at the end.
    func piece(from offset: Int) throws(ProgramError) -> [UInt8] {
        guard offset < summary.size else { return [] }
        var bytes = [UInt8](repeating: 0, count: min(Self.pieceLength, summary.size - offset))
        let count = bytes.withUnsafeMutableBytes { pread(file.number, $0.baseAddress, $0.count, off_t(offset)) }
        guard count >= 0 else { throw StateBackup.failure("the copy", .last) }
        return Array(bytes.prefix(count))
    }
}

extension ControlBackup {
    init(_ summary: StoreSummary) {
        self.init {
            $0.size = summary.size
            $0.schema = summary.schema
            $0.address = summary.address?.description
            $0.phones = summary.phones
            $0.apps = summary.apps
            $0.records = summary.records
            $0.loggedBytes = summary.loggedBytes
        }
    }
}
