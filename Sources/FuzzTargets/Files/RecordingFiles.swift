import BluetoothCryptography
import BluetoothHCI
import FlightRecorder
import PebbleWatch

/// Recordings: the file is read, told as a story, and replayed on a watch.
enum RecordingFiles {
    /// Magic and version.
    private static let prefix = 10

    /// The first byte says whether the checksums of the frames are made right: a change in an entry comes as far as the watch
    /// then.
    static func recording(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var bytes = Array(input.dropFirst())
        if input.first.map({ $0 & 1 == 1 }) == true { repairChecksums(&bytes) }
        var digest = FuzzDigest()
        let recording: Recording
        do throws(RecordingError) {
            recording = try Recording(bytes)
        } catch {
            try expect(0...bytes.count ~= error.offset, "\(error) is said of \(bytes.count) bytes")
            digest.add("\(error)")
            return digest.value
        }
        var told = 0
        var story = RecordedStory(recording)
        while let step = story.next() {
            told = max(told, step.input)
            digest.add(step.words)
        }
        try expect(told == recording.inputCount, "\(told) inputs are told of \(recording.inputCount)")
        guard !recording.hasLostBeginning else { return digest.value }
        let circumstances = recording.header.circumstances
        let address = LEAddress(
            type: AddressType(rawValue: circumstances.addressType) ?? .random,
            address: DeviceAddress(circumstances.address)
        )
        // The settings are the program's: a recording of a watch with others parts where they show.
        var configuration = WatchConfiguration(identity: WatchIdentity(address: address))
        configuration.startTime = circumstances.startTime
        configuration.wallClock = circumstances.wallClock
        var replay = try Replay(recording, configuration, cryptography: .swiftCrypto) { "\($0)" }
        var steps = 0
        while let step = replay.step() {
            steps += 1
            digest.add(step.sent.count)
            digest.add(step.events.count)
        }
        try expect(
            replay.divergence != nil || replay.inputCount == recording.inputCount,
            "a replay ends after \(replay.inputCount) of \(recording.inputCount) inputs and does not say why"
        )
        // One step may come before the first input.
        try expect(steps <= recording.inputCount + 1, "\(steps) steps of \(recording.inputCount) inputs")
        digest.add("\(replay.divergence.map(\.description) ?? "the same")")
        return digest.value
    }

    private static func repairChecksums(_ bytes: inout [UInt8]) {
        var place = prefix
        while place + 8 <= bytes.count {
            let length = (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
            guard length > 0, place + 8 + length <= bytes.count else { return }
            // Of the length, and of the content; not of the place between them, which the checksum has.
            let sum = BundleFiles.checksum(bytes[place..<(place + 4)] + bytes[(place + 8)..<(place + 8 + length)])
            for index in 0..<4 { bytes[place + 4 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
            place += 8 + length
        }
    }
}
