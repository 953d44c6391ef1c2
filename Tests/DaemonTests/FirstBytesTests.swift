import BluetoothHCI
import Testing

@testable import Daemon
@testable import HCIRuntime

/// How a connection begins decides whether it is let in: nothing that a browser sends may pass.
@Suite struct FirstBytesTests {
    @Test(
        arguments: [
            [0xFE, 0xED, 0x00, 0x01], [0xFE, 0xED, 0x00, 0x08], [0xFE, 0xED, 0x00, 0x0D], [0xFE, 0xED, 0x00, 0x64],
        ] as [[UInt8]]
    )
    func everyFrameThatToolsSendIsWelcome(bytes: [UInt8]) {
        #expect(PortProtocol.emulator.verdict(on: bytes) == .welcome)
        #expect(PortProtocol.h4.verdict(on: bytes) != .welcome)
    }

    @Test(arguments: HCIOpcode.Group.allHere)
    func everyCommandIsWelcome(group: HCIOpcode.Group) {
        let opcode = HCIOpcode(group, 3).rawValue
        let bytes = [1, UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), 0]
        #expect(PortProtocol.h4.verdict(on: bytes) == .welcome)
        #expect(PortProtocol.emulator.verdict(on: bytes) != .welcome)
    }

    /// RFC 9110, 9.1 says what a method is made of: any of these characters, so every first byte that a browser can send.
    @Test func noHTTPMethodIsWelcome() {
        let characters = Array("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        for first in characters {
            for second in characters + [UInt8(ascii: " ")] {
                for port in [PortProtocol.emulator, .h4] {
                    #expect(port.verdict(on: [first, second, 0x20, 0x2F]) != .welcome)
                }
            }
        }
        #expect(
            PortProtocol.h4.verdict(on: Array("POST".utf8)) == .foreign("an HTTP request, as a web page makes it")
        )
    }

    /// RFC 4571 puts a length before each STUN message: a browser that dials a candidate of a page's choice begins with it, and
    /// the page can influence it.
    @Test func noStunMessageIsWelcome() {
        for length in 0..<0x1000 {
            for type in [0x0001, 0x0003, 0x0101] {
                let bytes = [length >> 8, length & 0xFF, type >> 8, type & 0xFF].map { UInt8($0) }
                #expect(PortProtocol.emulator.verdict(on: bytes) != .welcome)
                #expect(PortProtocol.h4.verdict(on: bytes) != .welcome)
            }
        }
    }

    @Test(
        arguments: [
            [], [0xFE], [0xFE, 0xED], [0xFE, 0xED, 0x00], [0x01], [0x01, 0x03, 0x0C], [0x16, 0x03, 0x01, 0x02],
        ] as [[UInt8]]
    )
    func noBeginningOfABeginningIsWelcome(bytes: [UInt8]) {
        #expect(PortProtocol.emulator.verdict(on: bytes) != .welcome)
        #expect(PortProtocol.h4.verdict(on: bytes) != .welcome)
    }
}

extension HCIOpcode.Group {
    fileprivate static let allHere: [HCIOpcode.Group] = [
        .linkControl, .controllerAndBaseband, .informational, .status, .lowEnergy, .vendor,
    ]
}
