import BluetoothHCI
import ByteCoding
import Testing

@Suite("Addresses, times and status codes")
struct ValueTests {
    @Test("An address reads and prints most significant octet first, and travels least significant first")
    func addresses() throws {
        let address = try #require(DeviceAddress("c0:11:22:33:44:55"))
        #expect(address.value == 0xC011_2233_4455)
        #expect("\(address)" == "C0:11:22:33:44:55")
        var bytes: [UInt8] = []
        address.encode(to: &bytes)
        #expect(bytes == [0x55, 0x44, 0x33, 0x22, 0x11, 0xC0])
        var reader = ByteReader(bytes)
        #expect(try DeviceAddress(reading: &reader, "address") == address)
        #expect(address.octet(0) == 0x55 && address.octet(5) == 0xC0 && address.octet(6) == 0 && address.octet(-1) == 0)
        #expect("\(DeviceAddress(1))" == "00:00:00:00:00:01")
        for wrong in [
            "", "C0:11:22:33:44", "C0:11:22:33:44:55:66", "C0:11:22:33:44:5", "C0:11:22:33:44:5G", "C0-11-22-33-44-55",
            "+1:11:22:33:44:55", "C0:11:22:33:44: 5", "C0::11:22:33:44",
        ] {
            #expect(DeviceAddress(wrong) == nil, "\(wrong)")
        }
    }

    @Test("The two most significant bits say what kind of random address it is")
    func randomKinds() {
        #expect(DeviceAddress(0xC000_0000_0001).isStaticRandom)
        #expect(DeviceAddress(0x4000_0000_0001).isResolvablePrivate)
        #expect(DeviceAddress(0x0000_0000_0001).isNonResolvablePrivate)
        #expect(!DeviceAddress(0x8000_0000_0001).isStaticRandom)
        for random: UInt64 in [0, 0x3FFF_FFFF_FFFF, .max, 0x1234_5678_9ABC] {
            let address = DeviceAddress(staticRandomFrom: random)
            #expect(address.isStaticRandom)
            #expect(address.value != 0xC000_0000_0000 && address.value != 0xFFFF_FFFF_FFFF)
        }
        #expect(AddressType.publicIdentity.withoutIdentity == .public)
        #expect(AddressType.randomIdentity.withoutIdentity == .random)
        #expect(LEAddress.public(DeviceAddress(1)) != LEAddress.random(DeviceAddress(1)))
    }

    @Test("Times are counted in the Core's units and moved into its ranges")
    func times() {
        #expect(ConnectionInterval.milliseconds(7.5).rawValue == 6)
        #expect(ConnectionInterval.milliseconds(8.7).rawValue == 6)
        #expect(ConnectionInterval.milliseconds(11.25).rawValue == 9)
        #expect(ConnectionInterval.milliseconds(0).rawValue == 6)
        #expect(ConnectionInterval.milliseconds(1e9).rawValue == 0x0C80)
        #expect(ConnectionInterval.milliseconds(-5).rawValue == 6)
        #expect(ConnectionInterval(rawValue: 24).duration == .milliseconds(30))
        #expect(!ConnectionInterval(rawValue: 5).isValid && ConnectionInterval(rawValue: 6).isValid)
        #expect(AdvertisingInterval.milliseconds(20).rawValue == 0x20)
        #expect(AdvertisingInterval.milliseconds(1022.5).rawValue == 1636)
        #expect(SupervisionTimeout.milliseconds(6000).rawValue == 600)
        #expect(ScanInterval(rawValue: 16).duration == .milliseconds(10))
        #expect(ScanPeriod(rawValue: 1).duration == .milliseconds(1280))
        #expect(ConnectionInterval(rawValue: 6) < ConnectionInterval(rawValue: 7))
        for slots: UInt16 in 6...0x0C80 {
            #expect(ConnectionInterval(clamping: ConnectionInterval(rawValue: slots).duration).rawValue == slots)
        }
    }

    @Test("Connection parameters are valid as the Core says")
    func connectionParameters() {
        func parameters(_ minimum: UInt16, _ maximum: UInt16, _ latency: UInt16, _ timeout: UInt16) -> Bool {
            ConnectionParameters(
                intervalMinimum: ConnectionInterval(rawValue: minimum),
                intervalMaximum: ConnectionInterval(rawValue: maximum),
                latency: latency,
                supervisionTimeout: SupervisionTimeout(rawValue: timeout)
            ).areValid
        }
        #expect(parameters(24, 36, 3, 600))
        #expect(!parameters(36, 24, 3, 600), "bounds in the wrong order")
        #expect(!parameters(5, 24, 0, 600) && !parameters(6, 3201, 0, 3200), "interval out of range")
        #expect(parameters(6, 6, 499, 3200) && !parameters(6, 6, 500, 3200), "latency out of range")
        #expect(!parameters(6, 6, 0, 9) && !parameters(6, 6, 0, 3201), "timeout out of range")
        // (1 + 3) * 50 ms * 2 = 400 ms: the timeout must be more.
        #expect(!parameters(40, 40, 3, 40) && parameters(40, 40, 3, 41))
        #expect(!parameters(.max, .max, .max, .max))
    }

    @Test("A status prints the Core's name; an unknown one its number")
    func status() {
        #expect("\(HCIStatus.remoteUserTerminatedConnection)" == "Remote User Terminated Connection (0x13)")
        #expect("\(HCIStatus(rawValue: 0xEE))" == "Unknown Status (0xEE)")
        #expect(HCIStatus.connectionTimeout.rawValue == 0x08)
        #expect(HCIStatus.micFailure.rawValue == 0x3D)
        #expect("\(CoreVersion.v5_4)" == "5.4" && "\(CoreVersion(rawValue: 200))" == "version 200")
    }

    @Test("The LE event mask has a bit for each subevent, starting with the first at 0")
    func eventMask() {
        #expect(LEEventMask(LEConnectionComplete.subevent).rawValue == 1)
        #expect(LEEventMask(LEChannelSelectionAlgorithm.subevent).rawValue == 1 << 19)
        #expect(LEEventMask(LESubevent(rawValue: 0)).rawValue == 0)
        #expect(LEEventMask(LESubevent(rawValue: 65)).rawValue == 0)
    }

    @Test("ACL data: the Core's layout, back, and cut short")
    func acl() throws {
        let packet = ACLPacket(
            handle: 0x0040,
            boundary: .firstFlushable,
            data: [0x03, 0x00, 0x04, 0x00, 0x02, 0x17, 0x00]
        )
        let bytes = [UInt8](hexadecimal: "02 4020 0700 03000400021700") ?? []
        #expect(packet.packet.hexadecimal == bytes.hexadecimal)
        #expect(try ACLPacket(body: bytes.dropFirst()) == packet)
        let continuing = try ACLPacket(body: ([UInt8](hexadecimal: "ff 5e 0100 aa") ?? [])[...])
        #expect(continuing.handle == 0x0EFF && continuing.boundary == .continuing && continuing.broadcast == 1)
        for count in 1..<bytes.count {
            #expect(throws: ByteDecodingError.self) { try ACLPacket(body: bytes.dropFirst().prefix(count - 1)) }
        }
        #expect(throws: ByteDecodingError.self) { try ACLPacket(body: bytes.dropFirst() + [0]) }
        #expect(throws: ByteDecodingError("acl.handle", .invalidValue(0x0F00))) {
            try ACLPacket(body: [0x00, 0x0F, 0x00, 0x00])
        }
    }
}
