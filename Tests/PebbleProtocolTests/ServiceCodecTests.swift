import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@Suite("Codecs of the services, beyond the vectors")
struct ServiceCodecTests {
    private func payload(_ message: some EndpointMessage) -> [UInt8] { PebbleMessage(message).payload }

    @Test("Every checksum vector, in one piece and in pieces")
    func checksums() {
        let vectors = GoldenVector.pebbleProtocol.filter { $0.kind == "crc" }
        #expect(vectors.count == 30)
        var random = SplitMix64(seed: 1)
        for vector in vectors {
            #expect(LegacyChecksum.checksum(of: vector.bytes) == vector.crc, "\(vector.name)")
            var checksum = LegacyChecksum()
            var rest = vector.bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...9, using: &random))
                checksum.update(piece)
                rest = rest.dropFirst(piece.count)
                _ = checksum.value
            }
            #expect(checksum.value == vector.crc, "\(vector.name)")
        }
    }

    @Test("The uploaded object's pieces and its commit agree")
    func upload() {
        let object = ExpectedServiceMessages.uploadedObject
        #expect(object.count == 2501)
        #expect(LegacyChecksum.checksum(of: object) == 115_542_211)
    }

    @Test("Data logging vectors carry the checksum of their data")
    func dataLoggingChecksums() throws {
        for vector in EndpointVectorTests.packets where vector.name.hasPrefix("datalog-data") {
            let message = try DataLoggingMessage(payload: vector.bytes.dropFirst(4))
            guard case .data(_, _, let crc, let data) = message else { continue }
            #expect(LegacyChecksum.checksum(of: data) == crc, "\(vector.name)")
        }
    }

    @Test("A put with a wrong length keeps its token, so that the watch can refuse it")
    func putLength() throws {
        let message = try PutBytesRequest(payload: hex("02 00000007 00000005 aabb"))
        let piece = PutBytesPiece(token: .init(rawValue: 7), declaredLength: 5, data: [0xAA, 0xBB])
        #expect(message == .put(piece))
        #expect(payload(message) == hex("02 00000007 00000005 aabb"))
    }

    @Test("Uploads: names, resumed files and apps, types that do not exist")
    func putBytesObjects() throws {
        let named = PutBytesObject(size: 9, kind: .file, target: .bank(2, fileName: "lang"), resumeOffset: 77)
        let app = PutBytesObject(size: 9, kind: .appBinary, target: .app(AppID(rawValue: 3)), resumeOffset: 1)
        for object in [named, app] {
            #expect(try PutBytesRequest(payload: payload(PutBytesRequest.begin(object))) == .begin(object))
        }
        // Ten bytes or fewer cannot hold the block, even if a size looks like its beginning.
        #expect(
            try PutBytesRequest(payload: hex("01 be4354ef 06 00 4100"))
                == .begin(PutBytesObject(size: 0xBE43_54EF, kind: .file, target: .bank(0, fileName: "A")))
        )
        for type in [0x00, 0x08, 0x80, 0x88, 0xFF] as [UInt8] {
            #expect(throws: ByteDecodingError("put_bytes.type", .invalidValue(UInt64(type)))) {
                try PutBytesRequest(payload: [1, 0, 0, 0, 9, type, 0, 0, 0, 0])
            }
        }
        #expect(throws: ByteDecodingError("put_bytes.result", .invalidValue(3))) {
            try PutBytesResponse(payload: hex("03 00000000"))
        }
    }

    @Test("App metadata and timeline items: the blob vectors")
    func blobs() throws {
        let vectors = GoldenVector.pebbleProtocol.filter { $0.kind == "blob" }
        #expect(vectors.map(\.name) == ["blob-app-metadata", "blob-timeline-pin"])
        #expect(try AppMetadata(vectors[0].bytes[...]) == ExpectedServiceMessages.appMetadata)
        #expect(
            Array(ExpectedServiceMessages.bytes { ExpectedServiceMessages.appMetadata.encode(to: &$0) })
                == vectors[0].bytes
        )
        #expect(try TimelineItem(vectors[1].bytes[...]) == ExpectedServiceMessages.pin)
        #expect(
            Array(ExpectedServiceMessages.bytes { ExpectedServiceMessages.pin.encode(to: &$0) }) == vectors[1].bytes
        )
        #expect(throws: ByteDecodingError("app_metadata", .invalidLength(125))) {
            try AppMetadata(vectors[0].bytes.dropLast())
        }
        for length in 0..<vectors[1].bytes.count {
            #expect(throws: ByteDecodingError.self) { try TimelineItem(vectors[1].bytes.prefix(length)) }
        }
    }

    @Test("A database command whose lengths are wrong keeps its token; an unknown one is no error")
    func shortBlobDBCommands() throws {
        let token = BlobDBToken(rawValue: 0x0201)
        #expect(
            try BlobDBRequest(payload: hex("04 0102 02 01 aa"))
                == BlobDBRequest(token: token, command: .delete(.apps, key: [0xAA]))
        )
        for text in [
            // Too short; key and value without a byte; a value that is not there; and bytes behind the last field.
            "04 0102 02", "04 0102 02 00", "01 0102 02 01 aa 0000", "01 0102 02 00 0100 bb",
            "0d 0102 02 00000000 01 aa 0000",
            "01 0102 02 01 aa 0200 bb", "01 0102 02 01 aa 0100 bb cc", "04 0102 02 01 aa bb", "05 0102",
        ] {
            let request = BlobDBRequest(token: token, command: .malformed(hex(text)[0]))
            #expect(try BlobDBRequest(payload: hex(text)) == request, "\(text)")
        }
        #expect(
            try BlobDBRequest(payload: hex("05 0102 02 ff"))
                == BlobDBRequest(token: token, command: .clear(.apps)),
            "but not of a clear"
        )
        #expect(throws: ByteDecodingError.self) { try BlobDBRequest(payload: hex("01 01")) }
        for command in [0x02, 0x03, 0x06, 0xFF] as [UInt8] {
            #expect(
                try BlobDBRequest(payload: [command, 1, 2])
                    == BlobDBRequest(token: token, command: .unsupported(command))
            )
        }
        // The same two bytes go back, whichever order their sender meant.
        #expect(payload(BlobDBResponse(token: token, status: .success)) == hex("0102 01"))
    }

    @Test("Refusals of BlobDB2 have no detail")
    func blobDB2Refusals() throws {
        for (text, command) in [("8b 0100 03", 0x0B), ("86 0100 0b", 0x06), ("ff 0100 03", 0x7F)] as [(String, UInt8)] {
            let message = try BlobDB2Message(payload: hex(text))
            let status: BlobDBStatus = text.hasSuffix("0b") ? .tryLater : .invalidOperation
            #expect(message.body == .response(to: command, status, .none))
            #expect(payload(message) == hex(text))
        }
        #expect(try BlobDB2Message(payload: hex("20 0100")).body == .unsupported(0x20))
        let write = BlobDB2Message(
            token: .none,
            .write(.init(database: .apps, timestamp: 1, record: BlobDBRecord(key: [1], value: [2, 3])))
        )
        #expect(try BlobDB2Message(payload: payload(write)) == write)
    }

    @Test("An app order with a wrong count has the entries that are there", arguments: [1, 2, 3] as [UInt8])
    func appOrder(count: UInt8) throws {
        let bytes = [1, count] + [UInt8](repeating: 7, count: 32)
        let request = try AppOrderRequest(payload: bytes)
        #expect(request.applications.count == min(2, Int(count)))
        #expect(request.problem == (count == 2 ? nil : .wrongCount))
        #expect(throws: ByteDecodingError("app_order.uuids", .invalidLength(31))) {
            try AppOrderRequest(payload: Array(bytes.dropLast()))
        }
        #expect(throws: ByteDecodingError(AppOrderRequest.commandField, .invalidValue(2))) {
            try AppOrderRequest(payload: [2] + bytes.dropFirst())
        }
    }

    @Test("A timeline item's elements are counted; what it declares beyond them is ignored")
    func declaredLengths() throws {
        // Header up to the length, then length, one attribute, no action.
        let header = [UInt8](repeating: 5, count: 39) + [1, 0, 4]
        func item(_ length: String, _ rest: String, _ reading: TimelineItem.Reading = .whole) throws -> [String] {
            try TimelineItem((header + hex(length) + hex("0100") + hex(rest))[...], reading: reading).attributes.map(
                \.text
            )
        }
        #expect(try item("0600", "01 0300 414243") == ["ABC"])
        #expect(try item("ff00", "01 0300 414243 0000000000") == ["ABC"], "a longer declaration, and zeros")
        #expect(try item("0600", "01 0300 414243 0000000000") == ["ABC"], "bytes behind the declared length")
        #expect(throws: ByteDecodingError("attribute.content", .truncated(needed: 3, available: 2))) {
            try item("0500", "01 0300 414243")
        }
        // A value that is shorter than it declares.
        #expect(throws: ByteDecodingError.self) { try item("0600", "01 0300 4142") }
        #expect(try item("0600", "01 0300 4142", .asFarAsItGoes) == ["AB"])
        #expect(try item("0600", "01 03", .asFarAsItGoes) == [])
        #expect(throws: ByteDecodingError.self) { try item("0500", "01 0300 4142", .asFarAsItGoes) }
        #expect(throws: ByteDecodingError.self) { try item("0200", "01 03", .asFarAsItGoes) }
    }

    /// As the firmware shows a record that it keeps: all of its actions that are whole.
    @Test func actionsOfAKeptItemThatAreThere() throws {
        let head = [UInt8](repeating: 0, count: 42)
        let actions = hex("01 02 00  02 02 00  03 02 00  04 02")
        let item = try TimelineItem((head + [0, 0, 0, 4] + actions)[...], reading: .asKept)
        #expect(item.actions.map(\.id) == [1, 2, 3])
        let two = try TimelineItem((head + [0, 0, 0, 2] + actions)[...], reading: .asKept)
        #expect(two.actions.map(\.id) == [1, 2], "no more than it counts")
    }

    @Test("Log lines are cut to what hardware sends")
    func logLines() throws {
        let line = LogLine(
            timestamp: 1,
            level: .error,
            line: 2,
            file: "a_very_long_file_name.c",
            message: String(repeating: "é", count: 60)
        )
        let record = payload(AppLogRecord(application: .system, line: line))
        #expect(record.count == 128)
        let read = try AppLogRecord(payload: record).line
        #expect(read.file == "ong_file_name.c")
        #expect(read.message == String(repeating: "é", count: 44))
        #expect(
            try LogDumpMessage(payload: hex("01 00000007")) == .legacyRequest(generation: 1, cookie: 7)
        )
        #expect(payload(LogDumpMessage.legacyRequest(generation: 1, cookie: 7)) == hex("01 00000007"))
    }

    @Test("Now playing: libpebble3's wide numbers, and bytes after the known fields")
    func music() throws {
        let wide = hex("10 0141 0142 0143 400d0300 0a000000 03000000")
        let narrow = hex("10 0141 0142 0143 400d0300 0a00 0300")
        #expect(try MusicMessage(payload: wide) == MusicMessage(payload: narrow))
        let state = hex("11 09 88130000 64000000 07 08 01")
        #expect(
            try MusicMessage(payload: state)
                == .playState(
                    .init(
                        state: .unknown,
                        positionMilliseconds: 5000,
                        ratePercent: 100,
                        shuffle: .unknown,
                        repetition: .unknown
                    )
                )
        )
        #expect(throws: ByteDecodingError("music.command", .invalidValue(9))) { try MusicMessage(payload: [9]) }
    }

    @Test("A phone's state is a list, its question has no cookie")
    func phoneState() throws {
        #expect(try PhoneControlMessage(payload: [3]) == .getState)
        let state = PhoneControlMessage.state([[4, 1], [], [5]])
        #expect(payload(state) == hex("83 020401 00 0105"))
        #expect(try PhoneControlMessage(payload: payload(state)) == state)
        #expect(throws: ByteDecodingError.self) { try PhoneControlMessage(payload: hex("83 02 04")) }
        let outgoing = PhoneControlMessage.outgoing(.init(rawValue: 1))
        #expect(try PhoneControlMessage(payload: payload(outgoing)) == outgoing)
    }

    @Test("Timeline answers with actions; ANCS items")
    func timelineActions() throws {
        let response = TimelineActionMessage.responseWithActions(
            .init(
                item: .system,
                code: .init(rawValue: 0x10),
                attributes: [TimelineAttribute(.subtitle, "Which?")]
            ),
            [TimelineItemAction(id: 1, kind: .generic, attributes: [TimelineAttribute(.title, "A")])]
        )
        let bytes = payload(response)
        #expect(Array(bytes.prefix(20).suffix(3)) == [0x10, 1, 1])
        #expect(try TimelineActionMessage(payload: bytes) == response)
        let ancs = TimelineActionMessage.invokeANCS(.init(item: .system, actionID: 2, attributes: []))
        #expect(payload(ancs).first == 3)
        #expect(try TimelineActionMessage(payload: payload(ancs)) == ancs)
    }

    @Test("Screenshots, health and the other messages refuse unknown values")
    func refusals() throws {
        #expect(throws: ByteDecodingError("screenshot.version", .invalidValue(3))) {
            try ScreenshotHeader(payload: hex("00 00000003 00000000 00000000"))
        }
        #expect(throws: ByteDecodingError("screenshot.command", .invalidValue(1))) {
            try ScreenshotRequest(payload: [1])
        }
        #expect(try HealthSyncMessage(payload: hex("11 02")) == .response(isAccepted: false))
        #expect(throws: ByteDecodingError("ble_control.opcode", .invalidValue(3))) {
            try BLEControlMessage(payload: [3, 1, 0, 0])
        }
        #expect(throws: ByteDecodingError("get_bytes.error", .invalidValue(5))) {
            try GetBytesMessage(payload: hex("01 01 05 00000000"))
        }
        #expect(throws: ByteDecodingError("data_logging.item_type", .invalidValue(1))) {
            try DataLoggingMessage(payload: hex("01 05") + [UInt8](repeating: 0, count: 24) + [1, 0, 0])
        }
    }
}
