import ByteCoding
import Control
import Glibc
import HCIRuntime
import LinuxBluetooth
import PebbleWatch
import WatchStorage

/// Copies everything that a watch remembers into one file, whether the watch runs or not.
public enum StateBackup {
    /// Copies the state of the watch that a directory belongs to: the running watch is asked for it, else the directory is
    /// read.
    /// - Parameter force: whether a file that is there already is replaced.
    package static func make(
        stateDirectory directory: String,
        path: String,
        force: Bool
    ) throws(ProgramError) -> ControlBackup {
        if PrivateSocket.isAnswered(ControlAddress.path(in: directory)) {
            var client = try ControlClient(ControlAddress(stateDirectory: directory))
            return try fetch(from: &client, path: path, force: force)
        }
        let file = try BackupFile(path: path, force: force)
        let summary = try explaining { () throws(WatchStoreError) in
            try SQLiteStore.backUp(directory: directory, to: file.temporaryPath)
        }
        try file.finish()
        return ControlBackup(summary)
    }

    /// Has a running watch copy its state, and writes that to a file.
    package static func fetch(
        from client: inout ControlClient,
        path: String,
        force: Bool
    ) throws(ProgramError) -> ControlBackup {
        // What can't be written is found out first: the watch has work with it.
        let file = try BackupFile(path: path, force: force)
        let backup = try client.ask(ControlCommands.Backup.blank).content.backup
        let output = try file.create()
        var count = 0
        while count < backup.size {
            let bytes = try client.ask(ControlCommands.BackupPart { $0.offset = count }).content.data
            guard !bytes.isEmpty else { throw noAnswer }
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(output.number, $0.baseAddress, $0.count) }
                guard written >= 0 || errno == EINTR else { throw failure(path, .last) }
                rest = rest.dropFirst(max(0, written))
            }
            count += bytes.count
        }
        guard fsync(output.number) == 0 else { throw failure(path, .last) }
        try file.finish()
        return backup
    }

    private static let noAnswer = ProgramError(
        .inputOutput,
        "the watch answered with something that is no backup",
        advice: "use the same version of cairn for the watch and for this command"
    )

    static func failure(_ path: String, _ error: SystemError) -> ProgramError {
        ProgramError(
            error.code == EACCES || error.code == EPERM ? .notPermitted : .cannotCreate,
            "cannot write the backup to \(path): \(error)",
            advice: "name a file in a directory that you may write to, on a disk with room"
        )
    }

    static func explaining<Value>(
        _ body: () throws(WatchStoreError) -> Value
    ) throws(ProgramError) -> Value {
        do throws(WatchStoreError) {
            return try body()
        } catch {
            switch error {
            case .full(let path): throw failure(path, SystemError(code: ENOSPC))
            case .unusable(let path, let reason):
                throw ProgramError(
                    .inputOutput,
                    "cannot back up the watch's state: \(path) cannot be used: \(reason)",
                    advice: "of a watch that runs, name the socket with --control; as a service, it needs no name"
                )
            case .readOnly:
                throw ProgramError(
                    .inputOutput,
                    "cannot back up the watch's state: \(error)",
                    advice: "copy the whole directory to where you may write, and back up that copy"
                )
            case .refused, .newer, .foreign, .corrupt:
                throw ProgramError(.inputOutput, "cannot back up the watch's state: \(error)", advice: error.advice)
            }
        }
    }
}

/// The file that a backup becomes: it appears whole or not at all.
final class BackupFile {
    private let path: String
    private let force: Bool
    /// Where it is written.
    let temporaryPath: String

    init(path: String, force: Bool) throws(ProgramError) {
        var status = stat()
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT != S_IFDIR else {
                throw ProgramError(.cannotCreate, "\(path) is a directory", advice: "name a file in it")
            }
            guard force else { throw Self.exists(path) }
        }
        self.path = path
        self.force = force
        temporaryPath = "\(path).part-\(getpid())"
    }

    deinit { unlink(temporaryPath) }

    /// Makes the file, for its owner alone.
    func create() throws(ProgramError) -> FileDescriptor {
        let descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StateBackup.failure(path, .last) }
        return FileDescriptor(owning: descriptor)
    }

    /// Gives it its name.
    func finish() throws(ProgramError) {
        if !force {
            // A link, unlike a new name, never takes another file's place.
            if link(temporaryPath, path) == 0 { return }
            guard errno != EEXIST else { throw Self.exists(path) }
        }
        // Some disks know no links.
        guard rename(temporaryPath, path) == 0 else { throw StateBackup.failure(path, .last) }
    }

    private static func exists(_ path: String) -> ProgramError {
        ProgramError(
            .cannotCreate,
            "\(path) exists already",
            advice: "name another file, or replace this one with --force"
        )
    }
}
