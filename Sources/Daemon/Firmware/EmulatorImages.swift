import Glibc
import HCIRuntime
import LinuxBluetooth
import PebbleProtocol

/// The images of a board's firmware for its emulator: those of the newest SDK that the `pebble` tool has installed, or those of a
/// directory.
public struct EmulatorImages: Hashable, Sendable, CustomStringConvertible {
    /// The board.
    let board: AppPlatform
    /// Where the images are; nil for the newest SDK that has them.
    let directory: String?

    /// The text that reads as these images.
    public var description: String { "qemu:\(directory ?? board.rawValue)" }

    /// Reads the name of a board, or the path of a directory whose name, or that of the one above it, is a board's.
    init(parsing text: Substring) throws(FirmwareAddress.Invalid) {
        if let board = AppPlatform(rawValue: String(text)) {
            self.board = board
            directory = nil
            return
        }
        let boards = AppPlatform.allCases.map(\.rawValue).joined(separator: ", ")
        guard text.contains("/") else {
            throw .init(
                description: "“\(text)” is no board; write one of \(boards), or the path of a directory with its images"
            )
        }
        let parts = text.split(separator: "/")
        guard let board = parts.suffix(2).reversed().lazy.compactMap({ AppPlatform(rawValue: String($0)) }).first else {
            throw .init(
                description:
                    "the directory \(text) is of no board that is known by its name; its own name, or that of the one "
                    + "above it, has to be one of \(boards), as in an SDK: sdk-core/pebble/emery/qemu"
            )
        }
        self.board = board
        directory = "\(text.hasPrefix("/") ? "/" : "")\(parts.joined(separator: "/"))"
    }

    /// What an emulator needs, found on this machine.
    struct Found: Sendable {
        let board: AppPlatform
        /// The SDK's version, such as `4.9.169`; nil for images that are in no SDK.
        let version: SDKRelease?
        /// The firmware itself.
        let firmware: String
        /// The contents of the watch's flash as the SDK has them: packed, or as they are.
        let flash: String
        /// The emulator.
        let program: String

        /// What the images' part of a state directory is called: each version has a flash of its own.
        var name: String { version.map { "\(board.rawValue)-\($0)" } ?? board.rawValue }
    }

    private static let firmwareName = "qemu_micro_flash.bin"
    private static let flashName = "qemu_spi_flash.bin"
    private static let programName = "qemu-pebble"

    /// Finds them.
    func find() throws(ProgramError) -> Found {
        let place: String
        if let directory {
            place = Self.isFile("\(directory)/\(Self.firmwareName)") ? directory : "\(directory)/qemu"
        } else {
            place = try newestSDK()
        }
        let firmware = "\(place)/\(Self.firmwareName)"
        guard Self.isFile(firmware) else {
            throw ProgramError(
                .unavailable,
                "there is no firmware for the emulator: \(firmware) is missing",
                advice: "name a directory of an SDK such as sdk-core/pebble/\(board.rawValue)/qemu, or a board"
            )
        }
        let flashes = ["\(place)/\(Self.flashName).bz2", "\(place)/\(Self.flashName)"]
        guard let flash = flashes.first(where: Self.isFile) else {
            throw ProgramError(
                .unavailable,
                "there is no flash for the emulator: neither \(flashes.joined(separator: " nor ")) is there",
                advice: "install the SDK again with the pebble tool"
            )
        }
        let parts = place.components(before: "/sdk-core/")
        let version = parts.flatMap { SDKRelease($0.split(separator: "/").last ?? "") }
        return Found(
            board: board,
            version: version,
            firmware: firmware,
            flash: flash,
            program: try Self.findProgram(sdk: parts)
        )
    }

    /// The images' directory in the newest SDK that has some for the board.
    private func newestSDK() throws(ProgramError) -> String {
        let places = Self.toolDirectories.map { "\($0)/SDKs" }
        for place in places {
            let versions = Self.entries(of: place).compactMap { name in SDKRelease(name[...]).map { ($0, name) } }
            for (_, name) in versions.sorted(by: { $1.0 < $0.0 }) {
                let images = "\(place)/\(name)/sdk-core/pebble/\(board.rawValue)/qemu"
                if Self.isFile("\(images)/\(Self.firmwareName)") { return images }
            }
        }
        throw ProgramError(
            .unavailable,
            "no SDK with an emulator for \(board.rawValue) is installed: there is none in \(places.joined(separator: " or "))",
            advice: "install one with “pebble sdk install latest”, or name the directory of the images: qemu:DIRECTORY"
        )
    }

    private static func findProgram(sdk: String?) throws(ProgramError) -> String {
        if let own = variable("PEBBLE_QEMU_PATH") {
            if let path = BoundProgram.find(own) { return path }
            throw ProgramError(
                .unavailable,
                "there is no program \(own), which PEBBLE_QEMU_PATH names",
                advice: "let the variable name the SDK's qemu-pebble, or unset it"
            )
        }
        let places = (sdk.map { ["\($0)/toolchain/bin/\(programName)"] } ?? []) + [programName]
        guard let path = places.lazy.compactMap(BoundProgram.find).first else {
            throw ProgramError(
                .unavailable,
                "there is no program \(places.joined(separator: " or "))\(places.count > 1 ? " in PATH" : ", in PATH")",
                advice: "install an SDK with the pebble tool, or name the emulator in PEBBLE_QEMU_PATH"
            )
        }
        return path
    }

    /// Where the `pebble` tool keeps its SDKs, the place first where it looks first.
    private static var toolDirectories: [String] {
        let home = variable("HOME") ?? ""
        return ["\(home)/.pebble-sdk", "\(variable("XDG_DATA_HOME") ?? "\(home)/.local/share")/pebble-sdk"]
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            )
        }
        return names
    }
}

/// The version of an SDK: numbers, and what may follow them behind a hyphen.
struct SDKRelease: Comparable, Sendable, CustomStringConvertible {
    private let numbers: [Int]
    let description: String

    init?(_ text: Substring) {
        let parts = text.prefix { $0 != "-" }.split(separator: ".", omittingEmptySubsequences: false)
        numbers = parts.compactMap { Int($0) }
        guard !parts.isEmpty, numbers.count == parts.count else { return nil }
        description = String(text)
    }

    static func < (first: Self, second: Self) -> Bool {
        first.numbers.lexicographicallyPrecedes(second.numbers)
            || first.numbers == second.numbers && first.description < second.description
    }
}

extension String {
    /// What stands before a part; nil if the part is not there.
    fileprivate func components(before part: String) -> String? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) { return String(self[..<start]) }
            start = index(after: start)
        }
        return nil
    }
}
