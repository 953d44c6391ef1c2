import BluetoothHCI
import CBluetooth
import Glibc
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

extension Adapter {
    /// A dongle that is free; tests change what they are about.
    static func sample(_ index: UInt16, _ change: (inout Adapter) -> Void = { _ in }) -> Adapter {
        var adapter = Adapter(
            index: index,
            address: DeviceAddress(0x001A_7DDA_7100 + UInt64(index)),
            bus: .usb,
            hasLE: true,
            isUp: false,
            abilities: Abilities(manufacturer: CompanyIdentifier(rawValue: 10), version: .v4_0),
            use: .free
        )
        change(&adapter)
        return adapter
    }
}

@Suite struct AdapterChoiceTests {
    private static let daemon = HCIUser(process: 512, name: "bluetoothd")
    private static let other = HCIUser(process: 99, name: "cairn")

    private func choice(_ reference: AdapterReference, _ adapters: Adapter..., reclaims: Bool = false) -> String {
        do {
            return try AdapterChoice.choose(reference, among: adapters, reclaims: reclaims).name
        } catch {
            return "\(error)"
        }
    }

    @Test func oneThatIsNamedIsTakenOrRefused() {
        #expect(choice(.index(1), .sample(0), .sample(1)) == "hci1")
        #expect(choice(.address(DeviceAddress(0x001A_7DDA_7101)), .sample(0), .sample(1)) == "hci1")
        #expect(
            choice(.index(7), .sample(0), .sample(1))
                == "there is no adapter hci7, but hci0 (00:1A:7D:DA:71:00), hci1 (00:1A:7D:DA:71:01)"
        )
        #expect(choice(.index(0)) == "there is no Bluetooth adapter")
        let held = Adapter.sample(0) { $0.use = .exclusive([Self.other]) }
        #expect(choice(.index(0), held, .sample(1)) == "hci0 is in use by cairn (process 99)")
    }

    @Test func whereAnyWillDoTheFirstIsTakenThatCanBe() {
        let held = Adapter.sample(0) { $0.use = .kernel([Self.daemon]) }
        #expect(choice(.first, held, .sample(1), .sample(2)) == "hci1")
        #expect(choice(.first, held) == "hci0 is in use by bluetoothd (process 512)")
        #expect(choice(.first) == "there is no Bluetooth adapter")
        let board = Adapter.sample(0) { $0.bus = .uart }
        #expect(choice(.firstUSB, board, .sample(1)) == "hci1")
        #expect(choice(.firstUSB, board) == "there is no Bluetooth adapter on USB")
    }

    @Test func whatStandsInTheWay() {
        #expect(choice(.first, .sample(0) { $0.use = .kernel([]) }) == "hci0", "on, but unused: it is switched off")
        #expect(
            choice(.first, .sample(0) { $0.use = .exclusive([]) })
                == "hci0 is in use by a program that this user may not see"
        )
        #expect(choice(.first, .sample(0) { $0.hasLE = false }) == "hci0 has no Bluetooth LE")
        let unknown = Adapter.sample(0) {
            $0.hasLE = false
            $0.abilities = nil
        }
        #expect(choice(.first, unknown) == "hci0", "what the kernel could not set up may well be good")
        let soft = Adapter.RadioSwitch(index: 3, isSoftBlocked: true, isHardBlocked: false)
        #expect(choice(.first, .sample(0) { $0.radioSwitch = soft }) == "hci0", "it is unblocked")
        let hard = Adapter.RadioSwitch(index: 3, isSoftBlocked: false, isHardBlocked: true)
        #expect(
            choice(.first, .sample(0) { $0.radioSwitch = hard })
                == "the radio of hci0 is turned off by a switch or by the firmware"
        )
    }

    @Test func whatThisProcessHadItTakesBack() {
        let held = Adapter.sample(0) { $0.use = .kernel([Self.daemon]) }
        #expect(choice(.index(0), held, reclaims: true) == "hci0")
        let exclusive = Adapter.sample(0) { $0.use = .exclusive([Self.other]) }
        #expect(choice(.index(0), exclusive, reclaims: true) == "hci0 is in use by cairn (process 99)")
    }

    @Test func whoUsesItFollowsFromWhoHasSockets() {
        let monitor = HCIUser(process: 7, name: "btmon")
        let users = [Self.daemon, Self.other, monitor]
        #expect(Adapter.use(isUp: false, isManaged: true, users: users) == .free)
        #expect(Adapter.use(isUp: true, isManaged: true, users: users) == .kernel([Self.daemon]))
        #expect(Adapter.use(isUp: true, isManaged: true, users: [monitor]) == .kernel([]))
        #expect(Adapter.use(isUp: true, isManaged: false, users: users) == .exclusive([Self.other]))
    }
}

@Suite struct AdapterProblemTests {
    private static let daemon = HCIUser(process: 512, name: "bluetoothd")

    @Test(arguments: [
        (AdapterProblem.noBluetooth, "modprobe bluetooth"),
        (.noAdapter(.first), "cairn air --vhci"),
        (.noSuchAdapter(.index(1), present: ["hci0"]), "cairn adapters"),
        (.noLE(name: "hci0"), "version 4.0"),
        (.heldByDaemon(name: "hci0", daemon), "systemctl stop bluetooth"),
        (.heldByDaemon(name: "hci0", daemon), "bluetoothctl power off"),
        (.heldExclusively(name: "hci0", [HCIUser(process: 99, name: "cairn")]), "kill 99"),
        (.heldExclusively(name: "hci0", []), "as root"),
        (.radioOff(name: "hci0", isHard: false), "rfkill unblock bluetooth"),
        (.radioOff(name: "hci0", isHard: true), "switch"),
        (.notPermitted(name: "hci0", action: "open"), "setcap cap_net_admin,cap_net_raw+ep"),
        (.beingSetUp(name: "hci0"), "wait"),
        (.failed(name: "hci0", action: "open", SystemError(code: ENODEV)), "plug it in again"),
        (.failed(name: "hci0", action: "open", SystemError(code: ETIMEDOUT)), "restart the board"),
        (.failed(name: "hci0", action: "open", SystemError(code: EINVAL)), "dmesg"),
    ])
    func saysWhatToDo(problem: AdapterProblem, advice: String) {
        #expect(problem.advice.contains(advice), "\(problem.advice)")
        let error = TransportError(address: .adapter(.index(0)), cause: .adapter(problem))
        #expect(error.description == "cannot use the controller hci0: \(problem)")
        #expect(error.advice == problem.advice)
    }

    /// What the kernel answers to a bind (hci_sock_bind and hci_dev_open in Linux 6.1).
    @Test func readsTheKernelsRefusals() {
        func problem(_ code: Int32) -> AdapterProblem {
            AdapterProblem(SystemError(code: code), to: "open", name: "hci0")
        }
        #expect(problem(EPERM) == .notPermitted(name: "hci0", action: "open"))
        #expect(problem(EPERM).description == "this user may not open hci0: CAP_NET_ADMIN is missing")
        #expect(TransportError(address: .adapter(.first), cause: .adapter(problem(EPERM))).isPermission)
        #expect(problem(EBUSY).isPassing)
        #expect(problem(EUSERS) == .heldExclusively(name: "hci0", []))
        #expect(problem(ERFKILL) == .radioOff(name: "hci0", isHard: false))
        #expect(problem(ENODEV).description == "cannot open hci0: No such device")
        #expect(AdapterProblem(asking: SystemError(code: EAFNOSUPPORT)) == .noBluetooth)
        #expect(!problem(ENODEV).isPassing)
    }
}

/// Packets of the management interface, from BlueZ's doc/mgmt-api.txt.
@Suite struct ManagementTests {
    @Test func asks() {
        #expect(Management.packet(.readControllerIndexList) == [0x03, 0x00, 0xFF, 0xFF, 0x00, 0x00])
        #expect(Management.packet(.readControllerInformation, for: 1) == [0x04, 0x00, 0x01, 0x00, 0x00, 0x00])
        #expect(Management.packet(.readAdvertisingFeatures, for: 0x0102) == [0x3D, 0x00, 0x02, 0x01, 0x00, 0x00])
    }

    @Test func tellsItsAnswerFromWhatElseThereIs() throws {
        // Index Added; Command Complete for another command; for another adapter; Command Status, Permission Denied.
        let others: [[UInt8]] = [
            [0x04, 0x00, 0x00, 0x00, 0x00, 0x00],
            [0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x03, 0x00, 0x00],
            [0x01, 0x00, 0x01, 0x00, 0x03, 0x00, 0x04, 0x00, 0x00],
        ]
        for packet in others {
            #expect(try Management.answer(in: packet[...], to: .readControllerInformation, for: 0) == .other)
        }
        let denied: [UInt8] = [0x02, 0x00, 0x00, 0x00, 0x03, 0x00, 0x3D, 0x00, 0x14]
        #expect(try Management.answer(in: denied[...], to: .readAdvertisingFeatures, for: 0) == .failure(0x14))
        let list: [UInt8] = [0x01, 0x00, 0xFF, 0xFF, 0x09, 0x00, 0x03, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x05, 0x00]
        guard
            case .success(let parameters) = try Management.answer(
                in: list[...],
                to: .readControllerIndexList,
                for: Management.noAdapter
            )
        else {
            Issue.record("not understood")
            return
        }
        #expect(try Management.indices(parameters) == [0, 5])
        for length in 0..<list.count {
            #expect(throws: (any Error).self) {
                _ = try Management.answer(in: list[..<length], to: .readControllerIndexList, for: 0xFFFF)
            }
        }
    }

    @Test func readsWhatAControllerCanDo() throws {
        // Address, version 0x09 (5.0), manufacturer 0x000F (Broadcom), settings, class, names.
        let information: [UInt8] =
            [0x56, 0x34, 0x12, 0xEB, 0x27, 0xB8, 0x09, 0x0F, 0x00] + [UInt8](repeating: 0, count: 8 + 3 + 249 + 11)
        var abilities = try Management.abilities(information[...])
        #expect(abilities.version == .v5_0)
        #expect(abilities.manufacturer.name == "Broadcom Corporation")
        #expect(abilities.hasExtendedAdvertising == nil)
        // All flags up to "LE Set Scan Response Local Name": no secondary PHY.
        try Management.addAdvertisingFeatures([0x7F, 0x00, 0x00, 0x00, 31, 31, 5, 0], to: &abilities)
        #expect(abilities.hasExtendedAdvertising == false)
        #expect(abilities.advertisingSets == 1)
        try Management.addAdvertisingFeatures([0xFF, 0x03, 0x00, 0x00, 251, 251, 8, 0], to: &abilities)
        #expect(abilities.hasExtendedAdvertising == true)
        #expect(abilities.advertisingSets == 8)
    }

    @Test func waitsForItsAnswer() throws {
        let (descriptor, kernel) = try RawSocket.packetPair()
        let socket = ManagementSocket(owning: FileDescriptor(owning: descriptor))
        try kernel.write([0x04, 0x00, 0x00, 0x00, 0x00, 0x00])
        try kernel.write([0x01, 0x00, 0xFF, 0xFF, 0x07, 0x00, 0x03, 0x00, 0x00, 0x01, 0x00, 0x04, 0x00])
        #expect(socket.ask(.readControllerIndexList) == [0x01, 0x00, 0x04, 0x00])
        #expect(try kernel.readPacket() == [0x03, 0x00, 0xFF, 0xFF, 0x00, 0x00])
    }
}

@Suite struct AdapterRecordTests {
    /// The kernel's own record, as `struct hci_dev_info` has it.
    @Test func readsTheKernelsRecord() {
        var record = hci_dev_info()
        record.dev_id = 3
        withUnsafeMutableBytes(of: &record.bdaddr) { $0.copyBytes(from: [0x13, 0x71, 0xDA, 0x7D, 0x1A, 0x00]) }
        record.flags = 0b101
        // Type of controller in the upper half, bus in the lower.
        record.type = 0x01
        withUnsafeMutableBytes(of: &record.features) { $0[4] = 0x40 }
        let adapter = Adapter(record, isManaged: true, users: [])
        #expect(adapter.name == "hci3")
        #expect("\(adapter.address)" == "00:1A:7D:DA:71:13")
        #expect(adapter.bus == .usb)
        #expect("\(adapter.bus)" == "USB")
        #expect(adapter.hasLE)
        #expect(adapter.isUp)
        #expect(adapter.use == .kernel([]))
        record.flags = 0b100
        record.type = 0x13
        withUnsafeMutableBytes(of: &record.features) { $0[4] = 0xBF }
        let other = Adapter(record, isManaged: false, users: [])
        #expect(!other.isUp)
        #expect(!other.hasLE)
        #expect(other.bus == .uart)
        #expect(other.use == .free)
    }
}
