import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// The upload of firmware, and the watch after it has started that firmware.
@Suite struct FirmwareUpdateTests {
    /// An image with its metadata at the end.
    static func image(_ version: String, hardware: HardwarePlatform = .asterix, size: Int = 40_000) -> [UInt8] {
        var bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 * 13) }
        // Timestamp (little-endian), tag, hash, flags, board, version of the layout.
        bytes += [0x00, 0xF1, 0x53, 0x65]
        bytes += Array(version.utf8) + [UInt8](repeating: 0, count: 32 - version.utf8.count)
        bytes += Array("abcdef\0\0".utf8) + [0, hardware.rawValue, 1]
        return bytes
    }

    private static func messages(_ payloads: [(Endpoint, [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (endpoint, payload) in payloads {
            bytes.appendBigEndian(UInt16(payload.count))
            bytes.appendBigEndian(endpoint.rawValue)
            bytes += payload
        }
        return bytes
    }

    private func start(_ rig: inout ServiceRig) -> [[UInt8]] {
        rig.send(Self.messages([(.systemMessage, [0, 1])])).map(\.payload)
    }

    /// Uploads an image, or the first bytes of it.
    private func upload(
        _ rig: inout ServiceRig,
        _ kind: PutBytesObject.Kind,
        _ bytes: [UInt8],
        from offset: Int? = nil,
        upTo end: Int? = nil,
        installs: Bool = true
    ) throws {
        func ask(_ request: PutBytesRequest) throws -> PutBytesResponse {
            try #require(try rig.send(request).decoded(PutBytesResponse.self).first)
        }
        let start = offset ?? 0
        let object = PutBytesObject(
            size: UInt32(bytes.count - start),
            kind: kind,
            target: .bank(0, fileName: nil),
            resumeOffset: offset.map(UInt32.init)
        )
        guard case .acknowledgement(let token) = try ask(.begin(object)) else {
            Issue.record("the upload was refused")
            return
        }
        for place in stride(from: start, to: end ?? bytes.count, by: 2000) {
            let piece = bytes[place..<min(place + 2000, end ?? bytes.count)]
            #expect(try ask(.put(PutBytesPiece(token: token, data: piece))) == .acknowledgement(token))
        }
        guard end == nil else { return }
        let crc = LegacyChecksum.checksum(of: bytes)
        #expect(try ask(.commit(token, crc: crc)) == .acknowledgement(token))
        if installs { #expect(try ask(.install(token)) == .acknowledgement(.none)) }
    }

    private func stored(_ rig: inout ServiceRig) throws -> SystemMessage.StoredFirmware? {
        let answers = try rig.send(SystemMessage.firmwareStatusRequest).decoded(SystemMessage.self)
        guard case .firmwareStatusResponse(let stored)? = answers.first else { return nil }
        return stored
    }

    @Test func anUpdateFromStartToRestart() throws {
        var rig = ServiceRig()
        #expect(start(&rig) == [[0x00, 0x0A, 0x01]])
        try upload(&rig, .firmware, Self.image("v4.9.101"))
        try upload(&rig, .systemResources, [1, 2, 3])
        #expect(rig.send(Self.messages([(.systemMessage, [0, 2])])).isEmpty)
        rig.wait(.milliseconds(2999))
        #expect(rig.system.takeRestart() == nil)
        rig.wait(.milliseconds(1))
        #expect(rig.system.takeRestart() == .firmwareUpdate)
        var memory = rig.system.services.memory
        let boot = memory.boot(on: .asterix)
        #expect(memory.firmware?.versionTag == "v4.9.101")
        #expect(memory.firmware?.timestamp == 0x6553_F100)
        #expect(memory.update.isEmpty && boot.refusals.isEmpty)
    }

    @Test func whatCannotRunIsNotStarted() throws {
        func boot(_ images: [FirmwarePart: StoredFirmwareImage]) -> (ServiceMemory, [String]) {
            var memory = ServiceMemory(update: images)
            let boot = memory.boot(on: .asterix)
            return (memory, boot.refusals)
        }
        let resources = StoredFirmwareImage(bytes: [1], progress: .installed)
        let good = StoredFirmwareImage(bytes: Self.image("v5.0.0"), progress: .installed)
        #expect(boot([.firmware: good]).0.firmware == nil, "without resources")
        #expect(boot([.firmware: good]).0.update.count == 1, "they may still come")
        let committed = StoredFirmwareImage(bytes: good.bytes, progress: .committed)
        #expect(boot([.firmware: committed, .systemResources: resources]).0.firmware == nil, "not installed")
        for bad in [Self.image("v5.0.0", hardware: .snowyS3), Self.image("5.0"), [1, 2, 3]] {
            let image = StoredFirmwareImage(bytes: bad, progress: .installed)
            let (memory, refusals) = boot([.firmware: image, .systemResources: resources])
            #expect(memory.firmware == nil && memory.update.isEmpty && refusals.count == 1)
        }
        let recovery = boot([.recoveryFirmware: good]).0
        #expect(recovery.recoveryFirmware?.versionTag == "v5.0.0" && recovery.firmware == nil)
    }

    @Test func uploadsNeedAStartWithinFortySeconds() throws {
        var rig = ServiceRig()
        _ = start(&rig)
        rig.wait(.seconds(40))
        let object = PutBytesObject(size: 10, kind: .firmware, target: .bank(0, fileName: nil))
        #expect(
            try rig.send(PutBytesRequest.begin(object)).decoded(PutBytesResponse.self) == [
                .negativeAcknowledgement(.none)
            ]
        )
        _ = start(&rig)
        rig.wait(.seconds(39))
        try upload(&rig, .firmware, Self.image("v4.9.101"))
        rig.wait(.seconds(100))
        try upload(&rig, .systemResources, [1, 2, 3])
    }

    @Test func anInterruptedUploadGoesOnWhereItWas() throws {
        let image = Self.image("v4.9.101")
        var rig = ServiceRig()
        #expect(try stored(&rig) == .init(resourceByteCount: 0, resourceCRC: 0, firmwareByteCount: 0, firmwareCRC: 0))
        _ = start(&rig)
        try upload(&rig, .firmware, image, upTo: 30_000)
        rig.reopen()
        let expected = SystemMessage.StoredFirmware(
            resourceByteCount: 0,
            resourceCRC: 0,
            firmwareByteCount: 29_999,
            firmwareCRC: LegacyChecksum.checksum(of: image.prefix(29_999))
        )
        #expect(try stored(&rig) == expected)
        // A watch that was interrupted itself has what the store has.
        var memory = ServiceMemory()
        for change in rig.changes { memory.apply(change) }
        rig = ServiceRig(memory: memory)
        #expect(try stored(&rig) == expected)
        // Already there, to come; little-endian.
        rig.send(Self.messages([(.systemMessage, [0, 1, 0x2F, 0x75, 0, 0, 0x70, 0x27, 0, 0])]))
        try upload(&rig, .firmware, image, from: 29_999)
        #expect(rig.system.services.store.images[.firmware] == .init(bytes: image, progress: .installed))
        for change in rig.changes { memory.apply(change) }
        #expect(memory.update[.firmware]?.bytes == image)
    }

    @Test func aStartThatKnowsOfNothingBeginsAnew() throws {
        var rig = ServiceRig()
        _ = start(&rig)
        try upload(&rig, .firmware, Self.image("v4.9.101"), upTo: 20_000)
        rig.reopen()
        _ = start(&rig)
        #expect(try stored(&rig)?.firmwareByteCount == 0)
        try upload(&rig, .firmware, Self.image("v4.9.101"), upTo: 20_000)
        rig.send(Self.messages([(.systemMessage, [0, 3])]))
        rig.wait(.seconds(60))
        #expect(rig.system.services.store.images.values.allSatisfy { $0.progress == .partial })
    }
}
