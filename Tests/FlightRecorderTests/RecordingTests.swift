import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import FlightRecorder

/// What is written down can be read again, and what cannot be read is refused with its place.
@Suite struct RecordingTests {
    /// A recording with a pairing and a conversation in it.
    private static func bytes(seed: UInt64 = 5, leavesOutSecrets: Bool = false) throws -> [UInt8] {
        var air = try RecordedAir(RecordedHost(seed: seed, leavesOutSecrets: leavesOutSecrets), seed: seed)
        air.acquaint()
        let recorded = air.recorded()
        return try #require(recorded).bytes
    }

    // MARK: Replaying

    @Test func aReplayHasEveryPacketOfTheRun() throws {
        var air = try RecordedAir(RecordedHost(seed: 5), seed: 5)
        let controller = air.watch.controller
        // What crosses the boundary at the moment itself is what a capture would have.
        let packets = PacketList()
        air.simulation.observer = { packet in
            if packet.controller == controller { packets.list.append(Array(packet.bytes)) }
        }
        air.acquaint()
        let recorded = air.recorded()
        var replay = try Replay(
            try Recording(try #require(recorded).bytes),
            RecordedHost.configuration(),
            cryptography: .swiftCrypto,
            describe: RecordedHost.describe
        )
        var replayed: [[UInt8]] = []
        while let step = replay.step() {
            if let packet = step.received { replayed.append(Array(packet)) }
            replayed += step.sent.map { Array($0) }
        }
        #expect(replay.divergence == nil)
        #expect(replay.watch.bondedPhones.count == 1)
        #expect(packets.list.count > 100)
        #expect(replayed == packets.list)
    }

    @Test func anotherWatchPartsFromTheRecordingAndSaysWhere() throws {
        var configuration = RecordedHost.configuration()
        configuration.identity.name = "Another"
        let replay = try Replay.all(of: try Self.bytes(), configuration)
        let divergence = try #require(replay.divergence)
        guard case .packet(let recorded?, let replayed?) = divergence.difference else {
            Issue.record("\(divergence)")
            return
        }
        #expect(recorded != replayed)
        #expect(divergence.input > 0)
        #expect(replay.inputCount == divergence.input)
        #expect(divergence.description.contains(recorded.hexadecimal))
        #expect(divergence.description.contains(replayed.hexadecimal))
    }

    @Test func aChangedPacketOfTheRecordingIsFound() throws {
        let bytes = try Self.bytes()
        let recording = try Recording(bytes)
        // The last packet that the watch sent is another one.
        var writer = EntryWriter()
        var entries = Array(recording.entries())
        let last = try #require(entries.lastIndex { if case .packet = $0 { true } else { false } })
        guard case .packet(var packet) = entries[last] else { return }
        packet[packet.endIndex - 1] ^= 1
        entries[last] = .packet(packet)
        for entry in entries { writer.append(entry) }
        var changed = Recording.beginning(recording.header)
        Recording.append(frame: writer.bytes, to: &changed)
        let replay = try Replay.all(of: changed)
        let divergence = try #require(replay.divergence)
        guard case .packet(let recorded?, let replayed?) = divergence.difference else {
            Issue.record("\(divergence)")
            return
        }
        #expect(recorded == Array(packet))
        #expect(replayed.dropLast() == recorded.dropLast())
    }

    @Test func aCopyOfAReplayGoesOnFromTheSamePlace() throws {
        let recording = try Recording(try Self.bytes())
        var replay = try Replay(
            recording,
            RecordedHost.configuration(),
            cryptography: .swiftCrypto,
            describe: RecordedHost.describe
        )
        replay.run(until: .seconds(8))
        var snapshot = replay
        replay.run()
        snapshot.run()
        #expect(replay.divergence == nil)
        #expect(snapshot.divergence == nil)
        #expect(snapshot.inputCount == recording.inputCount)
    }

    @Test func aRecordingWithoutSecretsReplaysUpToThePairing() throws {
        let secret = try Self.bytes()
        let bytes = try Self.bytes(leavesOutSecrets: true)
        let recording = try Recording(bytes)
        #expect(recording.header.isWithoutSecrets)
        // The Identity Resolving Key is not among the numbers that were drawn while the watch was made.
        let drawn = try Recording(secret).header.drawn
        #expect(recording.header.drawn.dropFirst(2) == drawn.dropFirst(2))
        #expect(Set(recording.header.drawn).isDisjoint(with: drawn.prefix(2)))
        // The key that encrypts the link is in the one and not in the other.
        let keys = try Recording(secret).entries().compactMap { entry -> ArraySlice<UInt8>? in
            guard case .packet(let packet) = entry, packet.starts(with: [0x01, 0x1A, 0x20]) else { return nil }
            return packet.suffix(16)
        }
        let key = try #require(keys.first)
        #expect(secret.contains(key))
        #expect(!bytes.contains(key))
        let replay = try Replay.all(of: bytes)
        #expect(replay.inputCount > 50)
        #expect(
            replay.time > .seconds(1),
            "it parts before the phone has connected: \(String(describing: replay.divergence))"
        )
    }

    @Test func theMemoryKeepsTheEndOfALongRun() throws {
        var air = try RecordedAir(RecordedHost(seed: 9, limit: 1), seed: 9)
        air.acquaint()
        for number in 0..<40 {
            air.tell(.upload([UInt8](repeating: UInt8(number), count: 8000), name: "file"))
            air.run(for: .seconds(20))
        }
        let recorded = air.recorded()
        let recording = try Recording(try #require(recorded).bytes)
        #expect(recording.hasLostBeginning)
        #expect(recording.header.origin > .seconds(10))
        #expect(recording.end <= air.simulation.now)
        #expect(recording.end > air.simulation.now - .seconds(60))
        // It can still be read.
        let story = RecordedStory(recording).reduce(into: 0) { $0 += $1.sent.count }
        #expect(story > 10)
    }

    @Test func aSinkIsGivenWhatTheMemoryHas() throws {
        let host = try RecordedHost(seed: 3)
        let sink = ByteSink()
        host.recorder.sink = sink
        let beginning = Recording.beginning(host.recorder.header)
        var air = try RecordedAir(host, seed: 3)
        air.acquaint()
        let recorded = air.recorded()
        #expect(try #require(recorded).bytes == beginning + sink.bytes)
    }

    @Test func timeThatPassesInVainCostsNothing() throws {
        var host = try RecordedHost(seed: 2)
        host.start(at: .zero)
        var buffer: [UInt8] = []
        while host.nextPacket(into: &buffer) {}
        let size = host.recorder.recording().count
        let due = try #require(host.nextDeadline)
        for number in 1...1000 {
            host.advance(to: due * number / 1001)
            let hasMore = host.nextPacket(into: &buffer)
            #expect(!hasMore)
        }
        #expect(host.recorder.recording().count == size)
        host.advance(to: due)
        #expect(host.recorder.recording().count > size)
    }

    // MARK: Bad input

    @Test func aTornEndIsCut() throws {
        let bytes = try Self.bytes()
        let whole = try Recording(bytes)
        for count in [1, 7, 100, 1000] {
            let recording = try Recording(Array(bytes.dropLast(count)))
            #expect(recording.tornEnd != nil)
            #expect(recording.inputCount <= whole.inputCount)
            let replay = try Replay.all(of: Array(bytes.dropLast(count)))
            #expect(replay.divergence == nil)
        }
    }

    /// Room that the process had taken in its file before it was killed.
    @Test func zerosAtTheEndAreNoFrame() throws {
        let bytes = try Self.bytes()
        let whole = try Recording(bytes)
        for count in [1, 3, 4, 7, 8, 9, 65536] {
            let recording = try Recording(bytes + [UInt8](repeating: 0, count: count))
            // Fewer than a length could be what is left of one.
            #expect((recording.tornEnd == nil) == (count >= 4))
            #expect(recording.inputCount == whole.inputCount)
        }
    }

    /// The process was killed while it wrote a frame into its file: the length is written last.
    @Test func aFrameThatIsHalfThereIsCut() throws {
        let bytes = try Self.bytes()
        let whole = try Recording(bytes)
        var frame: [UInt8] = []
        Recording.append(frame: [1, 2, 3, 4, 5, 6, 7, 8, 9], to: &frame)
        let room = [UInt8](repeating: 0, count: 1000)
        for count in 5...frame.count {
            let recording = try Recording(bytes + [0, 0, 0, 0] + frame[4..<count] + room)
            #expect(recording.tornEnd == bytes.count)
            #expect(recording.inputCount == whole.inputCount)
        }
        // A disk kept the length, and not all of the rest.
        for count in 4..<frame.count {
            let recording = try Recording(bytes + frame[..<count] + room)
            #expect(recording.tornEnd == bytes.count)
            #expect(recording.inputCount == whole.inputCount)
        }
        // With another frame behind it, it is damage.
        #expect(throws: RecordingError(offset: bytes.count, reason: "the checksum of a frame is wrong")) {
            try Recording(bytes + frame[..<12] + [0, 0, 0, 0, 0] + frame + room)
        }
    }

    @Test(
        arguments: [
            ([], 0, "there is nothing in it"), (Array("CAIRN".utf8), 5, "this is no recording of a watch"),
            (Array("btsnoop".utf8) + [0, 0, 0, 0], 0, "this is no recording of a watch"),
            (Recording.magic + [1], 9, "it ends in its beginning"),
            (Recording.magic + [2, 0], 8, "its format is version 2, and this program reads version 1"),
            (Recording.magic + [1, 0], 10, "its header is missing or torn"),
            (
                Recording.magic + [1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], 10,
                "a frame of 4294967295 bytes is longer than any can be"
            ),
        ] as [([UInt8], Int, String)]
    )
    func whatIsNoRecordingIsRefused(_ bytes: [UInt8], _ offset: Int, _ reason: String) {
        #expect(throws: RecordingError(offset: offset, reason: reason)) { try Recording(bytes) }
    }

    @Test func aForgedByteInTheMiddleIsRefusedWithItsFrame() throws {
        var bytes = try Self.bytes()
        let place = bytes.count / 2
        bytes[place] ^= 0x10
        do {
            _ = try Recording(bytes)
            Issue.record("the forged byte was not found")
        } catch {
            #expect(error.offset <= place)
            #expect(error.offset >= place - 4096)
        }
    }

    @Test func partsMustFollowEachOther() throws {
        let bytes = try Self.bytes()
        let recording = try Recording(bytes)
        let second = Recording.beginning(recording.header.beginning(part: 1, at: recording.end))
        #expect(try Recording(parts: [bytes, second]).inputCount == recording.inputCount)
        #expect(throws: RecordingError.self) { try Recording(parts: [bytes, bytes]) }
        #expect(throws: RecordingError.self) { try Recording(parts: [Array(bytes.dropLast()), second]) }
        #expect(try Recording(parts: [second]).hasLostBeginning)
    }

    /// Entries that nothing checks any more, since their checksums are right: whatever they say, nothing traps.
    @Test func mutatedEntriesNeverTrap() throws {
        let recording = try Recording(try Self.bytes(seed: 12))
        var writer = EntryWriter()
        for entry in recording.entries().prefix(600) { writer.append(entry) }
        let original = writer.bytes
        var chance = SplitMix64(seed: 0x0F1E)
        var readable = 0
        for _ in 0..<400 {
            var content = original
            for _ in 0...Int.random(in: 0..<3, using: &chance) {
                let place = Int.random(in: content.indices, using: &chance)
                switch Int.random(in: 0..<4, using: &chance) {
                case 0: content[place] = UInt8(truncatingIfNeeded: chance.next())
                case 1: content[place] ^= 1 << UInt8(chance.next() % 8)
                case 2: content.remove(at: place)
                default: content.insert(UInt8(truncatingIfNeeded: chance.next()), at: place)
                }
            }
            var bytes = Recording.beginning(recording.header)
            Recording.append(frame: content, to: &bytes)
            guard let mutated = try? Recording(bytes) else { continue }
            readable += 1
            var replay = try Replay(
                mutated,
                RecordedHost.configuration(),
                cryptography: .swiftCrypto,
                describe: RecordedHost.describe
            )
            replay.run()
        }
        // A mutation inside of a packet leaves the entries readable.
        #expect(readable > 20)
    }

    @Test func mutatedHeadersNeverTrap() throws {
        let recording = try Recording(try Self.bytes(seed: 13))
        var header: [UInt8] = []
        recording.header.encode(into: &header)
        var chance = SplitMix64(seed: 0x4EAD)
        for _ in 0..<4000 {
            var content = header
            let place = Int.random(in: content.indices, using: &chance)
            content[place] = UInt8(truncatingIfNeeded: chance.next())
            var reader = ByteReader(content)
            guard let mutated = try? RecordingHeader(recorded: &reader) else { continue }
            _ = try? Replay(
                try Recording(Recording.beginning(mutated)),
                RecordedHost.configuration(),
                cryptography: .swiftCrypto,
                describe: RecordedHost.describe
            )
        }
    }

    // MARK: Values

    @Test(arguments: [
        .zero, .nanoseconds(1), .nanoseconds(-1), .seconds(1), .seconds(-7), .seconds(1 << 30), .seconds(1 << 36),
        Duration(secondsComponent: 0, attosecondsComponent: 1), .seconds(0.1), .microseconds(1250),
    ])
    func spansOfTimeAreKeptExactly(_ span: Duration) throws {
        var bytes: [UInt8] = []
        bytes.appendSpan(span)
        var reader = ByteReader(bytes)
        #expect(try reader.readSpan("span") == span)
        #expect(reader.isEmpty)
    }

    @Test(arguments: [0, 1, 127, 128, 300, 1 << 32, UInt64.max])
    func countsAreKept(_ count: UInt64) throws {
        var bytes: [UInt8] = []
        bytes.appendCount(count)
        var reader = ByteReader(bytes)
        #expect(try reader.readCount("count") == count)
        #expect(reader.isEmpty)
    }

    @Test func theChecksumIsThatOfIEEE8023() {
        // The check value of CRC-32/ISO-HDLC.
        #expect(CRC32.checksum(of: Array("123456789".utf8)) == 0xCBF4_3926)
    }

    @Test func everyCommandIsKept() throws {
        let app = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let metadata = AppMetadata(
            uuid: app,
            flags: [],
            majorVersion: 1,
            minorVersion: 2,
            sdk: SDKVersion(major: 5, minor: 86),
            name: "App"
        )
        let session = DataLoggingMessage.Session(
            application: app,
            timestamp: 3,
            tag: 4,
            itemType: .unsigned,
            itemSize: 2
        )
        let passkey = try #require(Passkey(digits: "012345"))
        var commands: [WatchCommand] = [
            .press(.back, .long), .hold([.up, .down], since: .milliseconds(5)), .hold([]), .launchApp(app), .stopApp,
            .installApp(AppPackage(metadata: metadata, binary: [1, 2], resources: [3], worker: nil), launches: true),
            .removeApp(app), .sendAppMessage(.empty), .openPairing(for: .seconds(0.3)), .closePairing, .confirmPairing,
            .refusePairing, .enterPasskey(passkey), .makeOutOfBandData, .forget(DeviceAddress(0xC0FF_EE00_0001)),
            .forgetAll, .disconnect, .advertise, .offerBattery(true), .publish(.pebble, false),
            .setTime(seconds: 7, offsetMinutes: -90, zone: "Here"), .setTime(seconds: 7, offsetMinutes: nil, zone: nil),
        ]
        let block = OutOfBandBlock(
            device: .random(DeviceAddress(0xC0FF_EE00_0001)),
            data: PeerOutOfBandData(temporaryKey: TemporaryKey(9))
        )
        commands.append(.takeOutOfBandData(block))
        let readings: [SensorReading] = [
            .battery(percent: 3, isCharging: true), .tap(.z, direction: -1), .compass(heading: 9, .refining),
            .accelerometer([AccelerometerSample(x: -1, y: 2, z: -3)]), .phoneConnection(isConnected: false),
            .timeFormat(is24Hour: true), .timelinePeek(isShown: true), .contentSize(2), .health(.steps, value: -4),
            .heartRate(beatsPerMinute: 60, quality: -1),
        ]
        commands += readings.map { .sense($0) }
        let services: [ServiceCommand] = [
            .music(.next), .answerCall, .endCall, .act(on: app, action: 3, text: "yes"),
            .act(on: app, action: 0, text: nil),
            .set("key", to: [1]), .log([1, 2], as: session), .finishLogging(LoggingSessionID(rawValue: -5)),
            .restart(.reboot), .restart(.coreDump), .restart(.factoryReset), .restart(.recovery),
            .restart(.firmwareUpdate),
        ]
        commands += services.map { .service($0) }
        for command in commands {
            var bytes: [UInt8] = []
            command.encode(into: &bytes)
            var reader = ByteReader(bytes)
            #expect(try WatchCommand(recorded: &reader) == command)
            #expect(reader.isEmpty, "\(command)")
        }
    }

    @Test func aWholeMemoryIsKept() throws {
        let app = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let session = DataLoggingMessage.Session(application: app, timestamp: 1, tag: 2, itemType: .bytes, itemSize: 4)
        var air = try RecordedAir(RecordedHost(seed: 21), seed: 21)
        let bonds = BondList()
        air.acquaint()
        _ = air.simulation.withHost(air.phone) { bonds.list = $0.phone.bonds }
        var memory = WatchMemory(
            identity: LocalIdentity(
                address: .random(RecordedHost.address),
                identityResolvingKey: IdentityResolvingKey(0x1234)
            )
        )
        memory.phones = bonds.list.map {
            RememberedPhone(
                bond: $0,
                client: GATTClientState(
                    subscriptions: [AttributeHandle(rawValue: 3): .notifications],
                    supportedFeatures: 1,
                    isChangeAware: false
                ),
                seenDatabaseHash: [UInt8](repeating: 7, count: 16)
            )
        }
        #expect(!memory.phones.isEmpty)
        memory.services.update[.firmware] = StoredFirmwareImage(bytes: [1, 2], progress: .committed)
        memory.services.appParts[AppPart(of: app, .binary)] = StoredObject(size: 900, head: [4, 5])
        memory.services.files["lang"] = StoredObject(size: 1, head: [6])
        memory.services.records = [
            StoredRecord(
                database: .pins,
                key: [1],
                record: BlobDatabases.Record(value: [2, 3], timestamp: 4, isDirty: true)
            )
        ]
        memory.services.isFaithful = true
        memory.services.appOrder = [app]
        memory.services.logging[LoggingSessionID(rawValue: 8)] = LoggingSpool(
            session: session,
            bytes: [1, 2, 3, 4],
            start: 4,
            isFinished: true
        )
        memory.services.isDataLoggingEnabled = false
        memory.services.coreDump = CoreDump(bytes: [9], isRead: true)
        var bytes: [UInt8] = []
        memory.encode(into: &bytes)
        var reader = ByteReader(bytes)
        #expect(try WatchMemory(recorded: &reader) == memory)
        #expect(reader.isEmpty)
    }
}

/// What an observer has seen.
private final class PacketList {
    var list: [[UInt8]] = []
}

private final class BondList {
    var list: [Bond] = []
}

private final class ByteSink: RecordingSink {
    var bytes: [UInt8] = []
    func write(_ frames: [UInt8], upTo time: Duration, of recorder: FlightRecorder) { bytes += frames }
}

extension EntryWriter {
    /// Writes an entry that was read.
    fileprivate mutating func append(_ entry: RecordingEntry) {
        switch entry {
        case .input(let input, let moment): append(input, at: moment)
        case .packet(let packet): append(RecordingKind.packet, packet)
        case .noPacket: append(RecordingKind.noPacket, EmptyCollection())
        case .noChange: append(RecordingKind.noChange, EmptyCollection())
        case .event(let text): append(RecordingKind.event, text.utf8)
        case .change(let change): append(change)
        case .result(let text): append(RecordingKind.result, text.utf8)
        case .drawn(let numbers): append(drawn: numbers, isSecret: false)
        case .drawnInSecret(let count): append(drawn: Array(repeating: 0, count: count), isSecret: true)
        case .toolBytes(let bytes): append(RecordingKind.toolBytes, bytes)
        case .note(let text): append(RecordingKind.note, text.utf8)
        case .unknown(let kind): append(kind, EmptyCollection())
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: ArraySlice<UInt8>) -> Bool {
        guard let first = part.first, part.count <= count else { return false }
        return (0...count - part.count).contains { start in
            self[start] == first && self[start..<start + part.count] == part
        }
    }
}

extension EntryWriter {
    /// The entries, without the room for a frame's head.
    var bytes: [UInt8] { Array(frame.dropFirst(Recording.frameHeadSize)) }
}
