import ByteCoding
import Glibc
import LinuxBluetooth
import SystemTestSupport
import Testing

@Suite struct BtsnoopWriterTests {
    @Test func writesTheBytesThatTheFormatAsksFor() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        let writer = try BtsnoopWriter(path: path)
        // 2024-02-29 12:00:00.000001 UTC.
        let time = Duration.seconds(1_709_208_000) + .microseconds(1)
        try writer.record([0x01, 0x03, 0x0C, 0x00], .sent, at: time)
        try writer.record([0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00], .received, at: time + .milliseconds(2))
        try writer.record([0x02, 0x40, 0x20, 0x00, 0x00], .sent, at: time + .seconds(1))
        try writer.record([0x02, 0x40, 0x20, 0x00, 0x00], .received, at: time + .seconds(1))
        try writer.flush()
        // btsnoop's time stamps count from the year 0: 0x00E03AB44A676000 is 2000-01-01, the offset that the format's
        // documentation names. 8825 days and a half lie between that and the time above.
        let first = UInt64(0x00E0_3AB4_4A67_6000) + (8_825 * 86_400 + 43_200) * 1_000_000 + 1
        func stamp(_ microseconds: UInt64) -> [UInt8] {
            (0..<8).reversed().map { UInt8(truncatingIfNeeded: (first + microseconds) >> (8 * $0)) }
        }
        let header = try #require([UInt8](hexadecimal: "6274736e6f6f7000 00000001 000003ea"))
        let records = try [
            ("00000004 00000004 00000002 00000000", 0, "01030c00"),
            ("00000007 00000007 00000003 00000000", 2_000, "040e0401030c00"),
            ("00000005 00000005 00000000 00000000", 1_000_000, "0240200000"),
            ("00000005 00000005 00000001 00000000", 1_000_000, "0240200000"),
        ].map { fields, offset, packet in
            try #require([UInt8](hexadecimal: fields)) + stamp(UInt64(offset))
                + #require([UInt8](hexadecimal: packet))
        }
        #expect(try contents(of: path) == header + records.joined())
    }

    /// What was flushed is in the file although the writer is still there: a process that is killed loses none of it.
    @Test func flushedRecordsAreInTheFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        let writer = try BtsnoopWriter(path: path)
        #expect(try contents(of: path).count == 16, "the header is there from the beginning")
        for number in 1...3 {
            try writer.record([0x04, 0x13, 0x00], .received, at: .zero)
            try writer.record([0x04, 0x13, 0x00], .received, at: .zero)
            #expect(try contents(of: path).count == 16 + 2 * (number - 1) * (24 + 3))
            try writer.flush()
            #expect(try contents(of: path).count == 16 + 2 * number * (24 + 3))
        }
    }

    /// A program that forgets to flush does not fill the memory.
    @Test func recordsThatGatherAreWrittenInTime() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        let writer = try BtsnoopWriter(path: path)
        let packet: [UInt8] = [0x02, 0x40, 0x20, 0xE8, 0x03] + [UInt8](repeating: 7, count: 1000)
        var recorded = 16
        for _ in 0..<1000 {
            try writer.record(packet[...], .sent, at: .zero)
            recorded += 24 + packet.count
            #expect(try size(of: path) > recorded - 300_000)
        }
        try writer.flush()
        #expect(try size(of: path) == recorded)
    }

    private func size(of path: String) throws -> Int {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return Int(status.st_size)
    }

    @Test func emptiesAFileThatIsThere() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        for _ in 0..<2 {
            let writer = try BtsnoopWriter(path: path)
            try writer.record([0x04, 0x13, 0x00], .received, at: .zero)
        }
        #expect(try contents(of: path).count == 16 + 24 + 3)
    }

    @Test(arguments: [
        ("/nowhere/a.btsnoop", ENOENT, "the folder is not there"),
        ("/tmp", EISDIR, "the path is a folder"),
        ("/dev/full", ENOSPC, "make room on that disk"),
    ])
    func saysWhyAFileCannotBeWritten(path: String, code: Int32, advice: String) throws {
        let error = try #require(throws: BtsnoopWriter.CaptureError.self) { _ = try BtsnoopWriter(path: path) }
        #expect(error.cause == SystemError(code: code))
        #expect(error.description.hasPrefix("cannot write the capture file \(path): "))
        #expect(error.advice.hasPrefix(advice))
    }
}
