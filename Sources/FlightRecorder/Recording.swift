import BluetoothHost
import ByteCoding
import PebbleWatch

// The file format, version 1:
//
//   magic      8 bytes: "CAIRNREC"
//   version    2 bytes: 1
//   frames     each: length of the content (4), CRC-32 of length and content (4), content
//
// The content of the first frame is the header, that of all others entries. A long recording has parts, each such a file; the
// header of a later part has little more than its number. A frame is written at once, its length last, so that a process that ends
// in the middle leaves a torn one at most, at the end. Zeros may follow the last frame: room that a process had taken before it was
// killed.

/// Everything about a watch that is decided before its first input.
public struct RecordingHeader: Sendable, Equatable {
    /// The version of the program that recorded.
    public var program: String
    /// What the watch was configured with, as names and values in the owner's words: `advertising.policy` and `apple`.
    public var settings: [Setting]
    /// The watch's address, time at the start and seconds since 1970 that its clock began at, which no setting has.
    public var circumstances: Circumstances
    /// What its store remembered.
    public var memory: WatchMemory
    /// The apps that it was installed with.
    public var apps: [AppPackage]
    /// What the apps do whose behaviour is not the usual: the settings name files, and these are their contents.
    public var files: [File]
    /// The numbers that were drawn while the watch was made.
    public var drawn: [UInt64]
    /// Whether keys, bonds and random numbers are left out.
    public var isWithoutSecrets: Bool
    /// Which part of a recording it begins, from 0 on. Without part 0, the first input is missing: the recording grew longer
    /// than it may be, and shows its end only.
    public var part: Int
    /// When the last input of the part before was, since the watch's clock began.
    public var origin: Duration

    /// A value of one setting.
    public struct Setting: Sendable, Equatable {
        /// The name, as a board file has it.
        public var name: String
        /// The value, as a person would write it.
        public var value: String

        /// A setting by its name.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A file that a setting names.
    public struct File: Sendable, Equatable {
        /// The path, as the setting has it.
        public var path: String
        /// What was in it.
        public var content: [UInt8]

        /// A file by its path.
        public init(path: String, content: [UInt8]) {
            self.path = path
            self.content = content
        }
    }

    /// What a watch finds when it is started.
    public struct Circumstances: Sendable, Equatable {
        /// The watch's address: its type as HCI numbers it, and 48 bits.
        public var addressType: UInt8
        /// The 48 bits.
        public var address: UInt64
        /// `WatchConfiguration.startTime`: seconds since 1970 of local time.
        public var startTime: UInt32
        /// `WatchConfiguration.wallClock`.
        public var wallClock: Duration

        /// Circumstances by their parts.
        public init(addressType: UInt8, address: UInt64, startTime: UInt32, wallClock: Duration) {
            self.addressType = addressType
            self.address = address
            self.startTime = startTime
            self.wallClock = wallClock
        }

        /// Those of a watch.
        public init(_ watch: WatchConfiguration) {
            self.init(
                addressType: watch.identity.address.type.rawValue,
                address: watch.identity.address.address.value,
                startTime: watch.startTime,
                wallClock: watch.wallClock
            )
        }
    }

    /// A header of what is known before the watch is made.
    public init(
        program: String,
        settings: [Setting] = [],
        circumstances: Circumstances,
        memory: WatchMemory = WatchMemory(),
        apps: [AppPackage] = [],
        files: [File] = []
    ) {
        self.program = program
        self.settings = settings
        self.circumstances = circumstances
        self.memory = memory
        self.apps = apps
        self.files = files
        drawn = []
        isWithoutSecrets = false
        part = 0
        origin = .zero
    }

    /// The same without bonds and keys.
    func withoutSecrets() -> RecordingHeader {
        var header = self
        header.isWithoutSecrets = true
        header.memory.phones = []
        if header.memory.identity == nil {
            // The first that a watch without an identity draws is its Identity Resolving Key: two numbers of 64 bits.
            for index in header.drawn.indices.prefix(2) { header.drawn[index] = Self.noSecret }
        } else {
            header.memory.identity?.identityResolvingKey = IdentityResolvingKey(UInt128(Self.noSecret))
        }
        return header
    }

    /// Stands where a secret was. It is not zero, since a generator would draw again after that.
    private static let noSecret: UInt64 = 1

    /// The header of a later part: what part 0 says is not said again.
    func beginning(part: Int, at origin: Duration) -> RecordingHeader {
        guard part > 0 else { return self }
        var header = RecordingHeader(program: program, circumstances: circumstances)
        header.isWithoutSecrets = isWithoutSecrets
        header.part = part
        header.origin = origin
        return header
    }
}

extension RecordingHeader: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        bytes.appendText(program)
        bytes.appendFlag(isWithoutSecrets)
        bytes.appendCount(part)
        bytes.appendSpan(origin)
        bytes.appendList(settings) { setting, bytes in
            bytes.appendText(setting.name)
            bytes.appendText(setting.value)
        }
        bytes.append(circumstances.addressType)
        bytes.appendLittleEndian(circumstances.address)
        bytes.appendLittleEndian(circumstances.startTime)
        bytes.appendSpan(circumstances.wallClock)
        // Behind its length, so that a version with another memory still finds what follows.
        var stored: [UInt8] = []
        memory.encode(into: &stored)
        bytes.appendCounted(stored)
        bytes.appendList(apps) { $0.encode(into: &$1) }
        bytes.appendList(files) { file, bytes in
            bytes.appendText(file.path)
            bytes.appendCounted(file.content)
        }
        bytes.appendList(drawn) { $1.appendLittleEndian($0) }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        program = try reader.readText("header.program")
        isWithoutSecrets = try reader.readFlag("header.is_without_secrets")
        part = try reader.readInt("header.part")
        origin = try reader.readSpan("header.origin")
        guard origin >= .zero, origin <= RecordingLimit.time else {
            throw ByteDecodingError("header.origin", .invalidValue(UInt64(bitPattern: origin.components.seconds)))
        }
        settings = try reader.readList("header.settings") { reader throws(ByteDecodingError) in
            let name = try reader.readText("setting.name")
            return Setting(name: name, value: try reader.readText("setting.value"))
        }
        let type = try reader.readUInt8("header.address_type")
        let address: UInt64 = try reader.readLittleEndian("header.address")
        let startTime: UInt32 = try reader.readLittleEndian("header.start_time")
        let wallClock = try reader.readSpan("header.wall_clock")
        // 2554 is the year in which nanoseconds since 1970 fill 64 bits.
        guard wallClock >= .zero, wallClock < .seconds(1 << 34) else {
            throw ByteDecodingError(
                "header.wall_clock",
                .invalidValue(UInt64(bitPattern: wallClock.components.seconds))
            )
        }
        circumstances = Circumstances(addressType: type, address: address, startTime: startTime, wallClock: wallClock)
        var stored = ByteReader(try reader.readCounted("header.memory"))
        memory = try WatchMemory(recorded: &stored)
        try stored.expectEnd("header.memory")
        apps = try reader.readList("header.apps") { reader throws(ByteDecodingError) in
            try AppPackage(recorded: &reader)
        }
        files = try reader.readList("header.files") { reader throws(ByteDecodingError) in
            let path = try reader.readText("file.path")
            return File(path: path, content: Array(try reader.readCounted("file.content")))
        }
        drawn = try reader.readList("header.drawn") { reader throws(ByteDecodingError) in
            try reader.readLittleEndian("header.drawn")
        }
    }
}

/// Why some bytes are no recording; the offset is that of the first byte that is wrong.
public struct RecordingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// In which part, from 0 on, as they were given.
    public var part = 0
    /// Where, in bytes from the beginning of the part.
    public let offset: Int
    /// What is wrong there.
    public let reason: String

    public var description: String { "at byte \(offset): \(reason)" }
}

/// A recording that has been read: its header, and its entries.
public struct Recording: Sendable {
    /// What every part begins with.
    public static let magic: [UInt8] = Array("CAIRNREC".utf8)
    /// The version of the format.
    public static let version: UInt16 = 1

    /// What was decided before the first input.
    public let header: RecordingHeader
    /// Where in the bytes of the last part the torn end begins that was cut off; nil if the last frame is whole.
    public let tornEnd: Int?
    /// How many inputs there are.
    public let inputCount: Int
    /// When the last input was, since the watch's clock began.
    public let end: Duration
    /// The contents of the frames, in the bytes as they were read.
    private let frames: [ArraySlice<UInt8>]

    /// Whether the first input is missing: what is left can be read and shown, but no watch can be given it.
    public var hasLostBeginning: Bool { header.part > 0 }

    /// Reads a recording of one part.
    public init(_ bytes: [UInt8]) throws(RecordingError) { try self.init(parts: [bytes]) }

    /// Reads a recording. An end that was torn off, as by a process that was killed, is cut.
    /// - Parameter parts: the bytes of each part, in the order of their numbers, none left out.
    /// - Throws: `RecordingError`, if the bytes are no recording, a frame in the middle is damaged, or an entry makes no sense.
    public init(parts: [[UInt8]]) throws(RecordingError) {
        var header: RecordingHeader?
        var frames: [ArraySlice<UInt8>] = []
        var tornEnd: Int?
        var count = 0
        var time: Duration = .zero
        for (index, bytes) in parts.enumerated() {
            do throws(RecordingError) {
                if let tornEnd {
                    throw RecordingError(offset: tornEnd, reason: "the part before this one is torn there")
                }
                let part = try PartReader(bytes)
                let expected = header.map { $0.part + index } ?? part.header.part
                guard part.header.part == expected else {
                    throw RecordingError(
                        offset: PartReader.prefix,
                        reason: "this is part \(part.header.part), where part \(expected) belongs"
                    )
                }
                if header == nil {
                    header = part.header
                    time = part.header.origin
                }
                frames += part.frames
                tornEnd = part.tornEnd
                count += try part.check(from: &time)
            } catch {
                var error = error
                error.part = index
                throw error
            }
        }
        guard let header else { throw RecordingError(offset: 0, reason: "there is nothing in it") }
        self.header = header
        self.frames = frames
        self.tornEnd = tornEnd
        inputCount = count
        end = time
    }

    /// Everything that it says, in order.
    func entries() -> EntryCursor { EntryCursor(frames, from: header.origin) }

    /// What every part with this header begins with.
    static func beginning(_ header: RecordingHeader) -> [UInt8] {
        var bytes = magic
        bytes.appendLittleEndian(version)
        var content: [UInt8] = []
        header.encode(into: &content)
        append(frame: content, to: &bytes)
        return bytes
    }

    /// Reads what every part begins with.
    static func header(of beginning: [UInt8]) throws(RecordingError) -> RecordingHeader {
        let part = try PartReader(beginning)
        guard part.frames.isEmpty, part.tornEnd == nil else {
            throw RecordingError(offset: PartReader.prefix, reason: "its header has no end")
        }
        return part.header
    }

    /// Length and checksum, four bytes each, which stand in front of a frame's content.
    static let frameHeadSize = 8

    /// Gives a frame its head, for which there is room in front of the content.
    static func closeFrame(_ frame: inout [UInt8]) {
        let length = UInt32(clamping: frame.count - frameHeadSize)
        let checksum = checksum(of: frame[frameHeadSize...])
        for place in 0..<4 {
            frame[place] = UInt8(truncatingIfNeeded: length >> UInt32(8 * place))
            frame[4 + place] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * place))
        }
    }

    static func append(frame content: [UInt8], to bytes: inout [UInt8]) {
        bytes.appendLittleEndian(UInt32(clamping: content.count))
        bytes.appendLittleEndian(checksum(of: content))
        bytes += content
    }

    static func checksum(of content: some Collection<UInt8>) -> UInt32 {
        var sum = CRC32()
        sum.add(UInt32(clamping: content.count))
        sum.add(content)
        return sum.checksum
    }
}

/// A place in a recording, as a value: a copy goes on from the same place.
struct EntryCursor: Sequence, IteratorProtocol, Sendable {
    private let frames: [ArraySlice<UInt8>]
    private var index = 0
    private var reader = ByteReader(ArraySlice<UInt8>())
    private var time: Duration

    init(_ frames: [ArraySlice<UInt8>], from time: Duration) {
        self.frames = frames
        self.time = time
    }

    /// Whether nothing follows.
    var isAtEnd: Bool { reader.isEmpty && index >= frames.endIndex }

    /// All of it has been read once already, so that nothing fails here.
    mutating func next() -> RecordingEntry? {
        while reader.isEmpty {
            guard index < frames.endIndex else { return nil }
            reader = ByteReader(frames[index])
            index += 1
        }
        return try? RecordingEntry(reading: &reader, time: &time)
    }
}

/// Reads one part.
private struct PartReader {
    /// Magic and version.
    static let prefix = Recording.magic.count + 2

    let header: RecordingHeader
    let frames: [ArraySlice<UInt8>]
    let tornEnd: Int?

    init(_ bytes: [UInt8]) throws(RecordingError) {
        let magic = Recording.magic
        guard bytes.starts(with: magic) else {
            let place = zip(bytes, magic).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            throw RecordingError(
                offset: place ?? bytes.count,
                reason: bytes.isEmpty ? "there is nothing in it" : "this is no recording of a watch"
            )
        }
        var reader = ByteReader(bytes[magic.count...])
        guard let version = try? reader.readLittleEndian("version", as: UInt16.self) else {
            throw RecordingError(offset: bytes.count, reason: "it ends in its beginning")
        }
        guard version == Recording.version else {
            throw RecordingError(
                offset: magic.count,
                reason: "its format is version \(version), and this program reads version \(Recording.version)"
            )
        }
        var (frames, tornEnd) = try Self.frames(of: reader)
        guard let first = frames.first else {
            throw RecordingError(offset: Self.prefix, reason: "its header is missing or torn")
        }
        frames.removeFirst()
        var headerReader = ByteReader(first)
        do throws(ByteDecodingError) {
            header = try RecordingHeader(recorded: &headerReader)
            try headerReader.expectEnd("header")
        } catch {
            throw RecordingError(offset: first.endIndex - headerReader.count, reason: "\(error)")
        }
        self.frames = frames
        self.tornEnd = tornEnd
    }

    private static func frames(
        of rest: ByteReader
    ) throws(RecordingError) -> ([ArraySlice<UInt8>], tornEnd: Int?) {
        var frames: [ArraySlice<UInt8>] = []
        var reader = rest
        while !reader.isEmpty {
            let offset = reader.remaining.startIndex
            guard let length = try? reader.readLittleEndian("frame", as: UInt32.self) else { return (frames, offset) }
            // A frame that was not whole when the process ended, or none.
            if length == 0 { return (frames, reader.remaining.isZero ? nil : offset) }
            guard let checksum = try? reader.readLittleEndian("frame", as: UInt32.self) else { return (frames, offset) }
            guard length <= RecordingLimit.frame else {
                throw RecordingError(offset: offset, reason: "a frame of \(length) bytes is longer than any can be")
            }
            guard let content = try? reader.readBytes(Int(length), "frame") else { return (frames, offset) }
            guard checksum == Recording.checksum(of: content) else {
                // A disk may have kept the length of the last frame and not its content; in the middle it is no accident of
                // that kind.
                guard reader.remaining.isZero else {
                    throw RecordingError(offset: offset, reason: "the checksum of a frame is wrong")
                }
                return (frames, offset)
            }
            frames.append(content)
        }
        return (frames, nil)
    }

    /// Reads every entry.
    /// - Returns: how many inputs there are.
    func check(from time: inout Duration) throws(RecordingError) -> Int {
        var count = 0
        for frame in frames {
            var reader = ByteReader(frame)
            while !reader.isEmpty {
                let offset = reader.remaining.startIndex
                do throws(ByteDecodingError) {
                    if case .input = try RecordingEntry(reading: &reader, time: &time) { count += 1 }
                } catch {
                    throw RecordingError(offset: offset, reason: "\(error)")
                }
            }
        }
        return count
    }
}

extension Collection<UInt8> {
    /// Whether it is empty, or nothing but zeros.
    fileprivate var isZero: Bool { allSatisfy { $0 == 0 } }
}
