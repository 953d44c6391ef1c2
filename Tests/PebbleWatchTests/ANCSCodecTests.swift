import ByteCoding
import Testing

@testable import PebbleWatch

/// ANCS to the byte: golden vectors, and the format as Apple documents it.
@Suite struct ANCSCodecTests {
    private func vector(_ name: String) throws -> [UInt8] {
        try #require(PeripheralVectorTests.vectors[name], "\(name)")
    }

    @Test func commandsAreTheGoldenOnes() throws {
        let uid = ANCSNotificationUID(rawValue: 0x97)
        #expect(ANCSCommand.getNotificationAttributes(uid).encoded == (try vector("ancs_request_attrs_pebbleos")))
        let original = ANCSCommand.getNotificationAttributes(uid, titleLimit: Personality.silk.notificationTitleLimit)
        #expect(original.encoded == (try vector("ancs_request_attrs_google")))
        #expect(Personality.core.notificationTitleLimit == ANCSCommand.longestTitle)
        #expect(ANCSCommand.probe.encoded == (try vector("ancs_alive_check")))
        #expect(ANCSCommand.getAppName("com.apple.MobileSMS").encoded == (try vector("ancs_app_attr_request")))
        #expect(ANCSCommand.perform(.positive, uid).encoded == [0x02, 0x97, 0, 0, 0, 0x00])
        #expect(ANCSCommand.perform(.negative, uid).encoded == [0x02, 0x97, 0, 0, 0, 0x01])
    }

    @Test(arguments: [1, 2, 3, 7, 20, 30, 512])
    func theGoldenAppNameIsReadInPartsOfAnySize(size: Int) throws {
        var response = ANCSResponse(to: .appName("com.apple.MobileSMS"))
        let parts = try vector("ancs_app_attr_response").parts(of: size)
        for part in parts.dropLast() { #expect(try response.receive(part[...]) == nil) }
        let last = try #require(parts.last)
        guard case .appName(let name)? = try response.receive(last[...]) else {
            Issue.record("no answer")
            return
        }
        #expect(String(phoneText: name) == "Messages")
    }

    @Test func sourceEvents() throws {
        let event = try ANCSSourceEvent([0x01, 0x1A, 0x04, 0x03, 0x78, 0x56, 0x34, 0x12])
        #expect(event.kind == .modified)
        #expect(event.flags == [.important, .positiveAction, .negativeAction])
        #expect(event.category == .social)
        #expect(event.categoryCount == 3)
        #expect(event.uid.rawValue == 0x1234_5678)
        #expect(throws: ByteDecodingError("notification_source.event_id", .invalidValue(3))) {
            try ANCSSourceEvent([3, 0, 0, 0, 0, 0, 0, 0])
        }
        #expect(throws: ByteDecodingError("notification_source", .trailingBytes(1))) {
            try ANCSSourceEvent([0, 0, 0, 0, 0, 0, 0, 0, 0])
        }
        for length in 0..<8 {
            #expect(throws: ByteDecodingError.self) { try ANCSSourceEvent([UInt8](repeating: 0, count: length)[...]) }
        }
    }

    /// What a phone answers about notification 0x97, in the order in which it is asked.
    private let message: [UInt8] =
        [0x00, 0x97, 0, 0, 0] + .ancs(6, "") + .ancs(7, "Clear") + .ancs(0, "com.apple.MobileSMS")
        + .ancs(1, "Maude") + .ancs(2, "") + .ancs(3, "A lot of ins, a lot of outs")
        + .ancs(5, "20131105T181928")

    @Test(arguments: [1, 2, 5, 6, 19, 20, 64, 512])
    func attributesAreReadInPartsOfAnySize(size: Int) throws {
        var response = ANCSResponse(to: .notification(ANCSNotificationUID(rawValue: 0x97)))
        var answers: [[ANCSAttributeID: ArraySlice<UInt8>]] = []
        let parts = message.parts(of: size)
        for (index, part) in parts.enumerated() {
            guard case .attributes(let found)? = try response.receive(part[...]) else { continue }
            #expect(index == parts.count - 1, "the date comes last")
            answers.append(found)
        }
        #expect(answers.count == 1)
        let texts = answers.first?.mapValues { String(phoneText: $0) }
        #expect(texts?[.negativeActionLabel] == "Clear")
        #expect(texts?[.appIdentifier] == "com.apple.MobileSMS")
        #expect(texts?[.title] == "Maude")
        #expect(texts?[.message] == "A lot of ins, a lot of outs")
        #expect(texts?[.date] == "20131105T181928")
    }

    @Test func whatCannotBeAnAnswerIsRefusedAtOnce() {
        func problem(_ bytes: [UInt8]) -> ByteDecodingError? {
            var response = ANCSResponse(to: .notification(ANCSNotificationUID(rawValue: 0x97)))
            do throws(ByteDecodingError) {
                _ = try response.receive(bytes[...])
                return nil
            } catch {
                return error
            }
        }
        #expect(problem([0x01]) == ByteDecodingError("data_source.command_id", .invalidValue(1)))
        #expect(problem([0x00, 0x98]) == ByteDecodingError("data_source.notification_uid", .invalidValue(0x98)))
        let header: [UInt8] = [0x00, 0x97, 0, 0, 0]
        #expect(problem(header + [8]) == ByteDecodingError("data_source.attribute_id", .invalidValue(8)))
        let twice = header + .ancs(1, "a") + .ancs(1, "b")
        #expect(problem(twice) == ByteDecodingError("data_source.attribute_id", .invalidValue(1)))
        #expect(
            problem(header + [1, 129, 0]) == ByteDecodingError("data_source.attribute_length", .invalidLength(129))
        )
        #expect(problem(header + [1, 128, 0]) == nil)
        #expect(
            problem(header + [3, 0xFF, 0xFF])
                == ByteDecodingError("data_source.attribute_length", .invalidLength(0xFFFF))
        )
    }

    @Test func textsAreMended() {
        // Cut through a character of three bytes; marks of direction around a name; NUL.
        #expect(String(phoneText: [0x41, 0xE2, 0x82]) == "A")
        #expect(String(phoneText: [0xFF, 0xFE]) == "")
        #expect(String(phoneText: Array("\u{202A}+49 30\u{202C}".utf8)[...]) == "+49 30")
        #expect(String(phoneText: [0x41, 0x00, 0x42]) == "AB")
        #expect(String(phoneText: Array("Grüße 🐦".utf8)[...]) == "Grüße 🐦")
    }

    @Test func dates() throws {
        func seconds(_ text: String) -> UInt32? { ANCSDate(Array(text.utf8)[...])?.localSeconds }
        // From `date -u -d ... +%s`.
        #expect(seconds("20131105T181928") == 1_383_675_568)
        #expect(seconds("19700101T000000") == 0)
        #expect(seconds("20240229T235959") == 1_709_251_199)
        #expect(seconds("21051231T235959") == 4_291_747_199)
        for wrong in [
            "", "2013", "20131105 181928", "20131105T18192", "20131105T1819281", "20230229T000000", "20131305T000000",
            "20131100T000000", "20131105T240000", "20131105T186000", "20131105T180060", "21060101T000000",
            "19691231T235959", "2013110\u{FF}T1819", "-0131105T181928",
        ] {
            #expect(seconds(wrong) == nil, "\(wrong)")
        }
    }
}
