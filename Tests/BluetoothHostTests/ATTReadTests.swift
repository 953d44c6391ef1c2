import BluetoothHost
import ByteCoding
import Testing

/// The server's side of reading values, on raw PDUs: Core 5.4, Vol 3, Part F, 3.4.4.
@Suite struct ATTReadTests {
    // MARK: Read

    @Test func readReturnsAsMuchAsFits() throws {
        var rig = try ByteTable.rig()
        rig.expect("0a 0300", "0b 436169726e")
        rig.expect("0a 0100", "0b 0018", "declarations can be read")
        rig.expect("0a 0d00", "0b 0000", "a configuration starts at 0")
        rig.expect("0a 1200", "0b 000102030405060708090a0b0c0d0e0f101112131415", "22 of 30 bytes")
        rig.raiseMTU(to: 30)
        rig.expect("0a 1200", "0b 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c", "29 bytes")
        rig.raiseMTU(to: 31)
        rig.expect("0a 1200", "0b 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d", "all 30")
    }

    @Test func readErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("0a 0000", "01 0a 0000 01")
        rig.expect("0a 1500", "01 0a 1500 01")
        rig.expect("0a ffff", "01 0a ffff 01")
        rig.expect("0a 1400", "01 0a 1400 02", "Read Not Permitted")
        rig.expect("0a 0800", "01 0a 0800 02")
        rig.expect("0a", "01 0a 0000 04")
        rig.expect("0a 03", "01 0a 0000 04")
        rig.expect("0a 0300 00", "01 0a 0000 04")
    }

    @Test func refusalsAreReported() throws {
        var rig = try ByteTable.rig()
        _ = rig.exchange("0a 1400")
        guard case .requestRefused(GATTRig.connection, let response) = rig.events().first else {
            Issue.record("no event")
            return
        }
        #expect(response == ATTErrorResponse(requestOpcode: 0x0A, handle: 0x0014, error: .readNotPermitted))
        #expect(response.description == "readRequest at 0x0014: Read Not Permitted (0x02)")
        _ = rig.exchange("04 1500 ffff")
        #expect(rig.events().isEmpty, "the end of a discovery is not reported")
    }

    // MARK: Read Blob

    @Test func readBlobReturnsWhatFollowsTheOffset() throws {
        var rig = try ByteTable.rig()
        rig.expect("0c 1200 1600", "0d 161718191a1b1c1d", "the rest of 30 bytes behind the first 22")
        rig.expect("0c 1200 0000", "0d 000102030405060708090a0b0c0d0e0f101112131415")
        rig.expect("0c 1200 0100", "0d 0102030405060708090a0b0c0d0e0f10111213141516")
        rig.expect("0c 1200 1e00", "0d", "at the end: nothing, but no error")
        rig.expect("0c 0300 0100", "0d 6169726e", "a short value can be read in parts too")
    }

    @Test func readBlobErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("0c 1200 1f00", "01 0c 1200 07", "Invalid Offset")
        rig.expect("0c 0300 ffff", "01 0c 0300 07")
        rig.expect("0c 0000 0000", "01 0c 0000 01")
        rig.expect("0c 1500 0000", "01 0c 1500 01")
        rig.expect("0c 1400 0000", "01 0c 1400 02")
        rig.expect("0c 1200", "01 0c 0000 04")
        rig.expect("0c 1200 00", "01 0c 0000 04")
        rig.expect("0c 1200 0000 00", "01 0c 0000 04")
    }

    // MARK: Read By Type

    @Test func readByTypeReturnsHandlesAndValues() throws {
        var rig = try ByteTable.rig()
        rig.expect("08 0100 ffff 002a", "09 07 0300 436169726e")
        rig.expect("08 0100 ffff 0229", "09 04 0900 0000 0d00 0000")
        rig.expect(
            "08 0100 ffff 000102030405060708090a0b0c0d0e0f",
            "09 15 1200 000102030405060708090a0b0c0d0e0f101112",
            "23 - 4 bytes of the value"
        )
    }

    @Test func readByTypeListsValuesOfOneLength() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .read, value: [0x01])
                Characteristic(.uuid16(0x2AAA), .read, value: [0x02])
                Characteristic(.uuid16(0x2AAA), .read, value: [0x03, 0x04])
                Characteristic(.uuid16(0x2AAA), .read, value: [0x05])
            }
        }
        var rig = GATTRig(database)
        rig.expect("08 0100 ffff aa2a", "09 03 0300 01 0500 02", "a longer value waits for the next request")
        rig.expect("08 0600 ffff aa2a", "09 04 0700 0304")
        rig.expect("08 0800 ffff aa2a", "09 03 0900 05")
    }

    @Test func readByTypeCutsValuesAt253Bytes() throws {
        let long = Array(repeating: UInt8(0xAB), count: 300)
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) { Characteristic(.uuid16(0x2AAA), .read, value: .bytes(long)) }
        }
        var rig = GATTRig(database, mtu: 517)
        let value = String(repeating: "ab", count: 253)
        rig.expect("08 0100 ffff aa2a", "09 ff 0300 \(value)")
        rig.raiseMTU(to: 257)
        rig.expect("08 0100 ffff aa2a", "09 ff 0300 \(value)")
        rig.raiseMTU(to: 256)
        rig.expect("08 0100 ffff aa2a", "09 fe 0300 \(value.dropLast(2))")
    }

    @Test func readByTypeStopsInFrontOfWhatItMayNotRead() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .read, value: [0x01])
                Characteristic(.uuid16(0x2AAA), .write, value: [0x02])
                Characteristic(.uuid16(0x2AAA), .read, value: [0x03])
            }
        }
        var rig = GATTRig(database)
        rig.expect("08 0100 ffff aa2a", "09 03 0300 01")
        rig.expect("08 0400 ffff aa2a", "01 08 0500 02", "the error names the attribute, not the range")
        rig.expect("08 0600 ffff aa2a", "09 03 0700 03")
    }

    @Test func readByTypeErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("08 0100 ffff bb2a", "01 08 0100 0a")
        rig.expect("08 0400 ffff 002a", "01 08 0400 0a", "the error names the start of the range")
        rig.expect("08 0000 ffff 002a", "01 08 0000 01")
        rig.expect("08 0300 0200 002a", "01 08 0300 01")
        rig.expect("08 0100 ffff aa2a", "01 08 1400 02")
        rig.expect("08 0100 ffff", "01 08 0000 04")
        rig.expect("08 0100 ffff 002a00", "01 08 0000 04")
        rig.expect("08 0100 ffff 002a0000", "01 08 0000 04")
    }

    // MARK: Read Multiple

    @Test func readMultipleJoinsValues() throws {
        var rig = try ByteTable.rig()
        rig.expect("0e 0300 0c00", "0f 436169726e 64")
        rig.expect("0e 0c00 0300 0c00", "0f 64 436169726e 64", "in the order asked for, as often as asked for")
        rig.expect("0e 0300 1200", "0f 436169726e 000102030405060708090a0b0c0d0e0f10", "cut off at the MTU")
    }

    @Test func readMultipleErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("0e 0300 0000", "01 0e 0000 01")
        rig.expect("0e 0300 1500 0016", "01 0e 1500 01", "the first that fails")
        rig.expect("0e 0300 1400", "01 0e 1400 02")
        rig.expect("0e 1200 1200 1400", "01 0e 1400 02", "even when its value would not fit any more")
        rig.expect("0e 0300", "01 0e 0000 04", "one handle is too few")
        rig.expect("0e", "01 0e 0000 04")
        rig.expect("0e 0300 0c", "01 0e 0000 04")
    }

    // MARK: Read Multiple Variable

    @Test func readMultipleVariablePutsLengthsInFront() throws {
        var rig = try ByteTable.rig()
        rig.expect("20 0300 0c00", "21 0500 436169726e 0100 64")
        rig.expect(
            "20 0300 1200",
            "21 0500 436169726e 1e00 000102030405060708090a0b0c",
            "cut off at the MTU, with the whole length in front"
        )
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .read, value: .bytes(Array(repeating: 0xCC, count: 19)))
                Characteristic(.uuid16(0x2AAB), .read, value: [])
            }
        }
        rig = GATTRig(database)
        let value = String(repeating: "cc", count: 19)
        rig.expect("20 0300 0500", "21 1300 \(value) 00", "even a length can be cut off")
        rig.expect("20 0500 0500", "21 0000 0000")
    }

    @Test func readMultipleVariableErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("20 0000 0300", "01 20 0000 01")
        rig.expect("20 0300 1400", "01 20 1400 02")
        rig.expect("20 0300", "01 20 0000 04")
        rig.expect("20 0300 0c00 0c", "01 20 0000 04")
    }
}
