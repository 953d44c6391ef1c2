import Testing

@testable import BluetoothHost

/// Which requests count as progress in the database. A phone that makes none loses a link that it has not encrypted.
@Suite struct ClientProgressTests {
    private static func progress(_ pdus: [String]) throws -> [Bool] {
        var progress = ClientProgress()
        return try pdus.enumerated().map { index, pdu in
            let now = Duration.seconds(index + 1)
            progress.note(try bytes(pdu)[...], at: now)
            return progress.last == now
        }
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        try text.split(separator: " ").map { try #require(UInt8($0, radix: 16)) }
    }

    @Test func discoveryIsProgress() throws {
        let pdus = [
            "02 17 00", "10 01 00 FF FF 00 28", "10 06 00 FF FF 00 28", "08 01 00 05 00 03 28", "04 04 00 05 00",
            "0A 03 00", "12 04 00 01 00",
        ]
        #expect(try Self.progress(pdus) == [true, true, true, true, true, true, true])
    }

    @Test func theSameAgainIsNone() throws {
        let pdus = [
            "10 01 00 FF FF 00 28", "10 01 00 FF FF 00 28", "02 17 00", "02 17 00", "0A 09 00", "0A 03 00", "0A 09 00",
        ]
        #expect(try Self.progress(pdus) == [true, false, true, false, true, false, false])
    }

    @Test func whatAsksForNothingIsNone() throws {
        let pdus = ["", "0A", "0A 03", "1E", "52 03 00 01", "D2 03 00 01", "01 0A 03 00 0A", "0B 00", "FF FF FF", "00"]
        #expect(try Self.progress(pdus) == Array(repeating: false, count: pdus.count))
    }

    @Test func everythingThereIsToSendIsABoundedNumberOfSteps() {
        var progress = ClientProgress()
        var steps = 0
        for opcode in UInt8.min...UInt8.max {
            for handle: UInt16 in [1, 1, 0xFFFF, 2, 0xFFFF, 0, 7] {
                let before = progress.last
                let pdu = [opcode, UInt8(handle & 0xFF), UInt8(handle >> 8), 0, 0]
                progress.note(pdu[...], at: .seconds(Int64(opcode)) + .milliseconds(Int64(steps) + 1))
                if progress.last != before { steps += 1 }
            }
        }
        // Two handles that grow, of each of ten kinds of request; one of each of the two that name none.
        #expect(steps == 10 * 2 + 2)
    }
}
