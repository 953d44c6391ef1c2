import BluetoothHCI
import ByteCoding
import CBluetooth
import CLinux
import Glibc

/// Commands to the kernel's Bluetooth management interface, and its answers.
///
/// A packet is an opcode, an adapter's number and a length, 16 bits each, little-endian, and parameters.
/// Source: BlueZ, `doc/mgmt-api.txt`.
enum Management {
    /// The adapter's number in commands that concern none.
    static let noAdapter: UInt16 = 0xFFFF

    /// What can be asked here; none of it changes anything.
    enum Command: UInt16 {
        case readControllerIndexList = 0x0003
        case readControllerInformation = 0x0004
        case readAdvertisingFeatures = 0x003D
    }

    private enum Event {
        static let commandComplete: UInt16 = 0x0001
        static let commandStatus: UInt16 = 0x0002
    }

    /// Flags of Read Advertising Features that only a controller with extended advertising has: secondary PHYs.
    private static let secondaryPHYFlags: UInt32 = 0b111 << 7

    static func packet(_ command: Command, for adapter: UInt16 = noAdapter) -> [UInt8] {
        var packet: [UInt8] = []
        packet.appendLittleEndian(command.rawValue)
        packet.appendLittleEndian(adapter)
        packet.appendLittleEndian(UInt16(0))
        return packet
    }

    /// What a packet from the kernel is to a command that waits for its answer.
    enum Answer: Equatable {
        /// Something else.
        case other
        /// Refused, with a status.
        case failure(UInt8)
        /// The return parameters.
        case success(ArraySlice<UInt8>)
    }

    static func answer(
        in packet: ArraySlice<UInt8>,
        to command: Command,
        for adapter: UInt16
    ) throws(ByteDecodingError) -> Answer {
        var reader = ByteReader(packet)
        let event: UInt16 = try reader.readLittleEndian("event")
        let index: UInt16 = try reader.readLittleEndian("index")
        let length: UInt16 = try reader.readLittleEndian("length")
        guard event == Event.commandComplete || event == Event.commandStatus, index == adapter else { return .other }
        var parameters = ByteReader(try reader.readBytes(Int(length), "parameters"))
        guard try parameters.readLittleEndian("opcode") == command.rawValue else { return .other }
        let status = try parameters.readUInt8("status")
        guard status == 0, event == Event.commandComplete else { return .failure(status) }
        return .success(parameters.readRemaining())
    }

    /// The adapters that the kernel manages: those that are set up and that no program has for itself.
    static func indices(_ parameters: ArraySlice<UInt8>) throws(ByteDecodingError) -> Set<UInt16> {
        var reader = ByteReader(parameters)
        let count: UInt16 = try reader.readLittleEndian("num_controllers")
        var indices: Set<UInt16> = []
        for _ in 0..<count { indices.insert(try reader.readLittleEndian("controller_index")) }
        return indices
    }

    /// Who made a controller and which version it follows.
    static func abilities(_ parameters: ArraySlice<UInt8>) throws(ByteDecodingError) -> Adapter.Abilities {
        var reader = ByteReader(parameters)
        _ = try DeviceAddress(reading: &reader, "address")
        let version = try reader.readUInt8("bluetooth_version")
        let manufacturer: UInt16 = try reader.readLittleEndian("manufacturer")
        return Adapter.Abilities(
            manufacturer: CompanyIdentifier(rawValue: manufacturer),
            version: CoreVersion(rawValue: version)
        )
    }

    /// What a controller can do at advertising.
    static func addAdvertisingFeatures(
        _ parameters: ArraySlice<UInt8>,
        to abilities: inout Adapter.Abilities
    ) throws(ByteDecodingError) {
        var reader = ByteReader(parameters)
        let flags: UInt32 = try reader.readLittleEndian("supported_flags")
        _ = try reader.readUInt8("max_adv_data_len")
        _ = try reader.readUInt8("max_scan_rsp_len")
        let sets = Int(try reader.readUInt8("max_instances"))
        abilities.hasExtendedAdvertising = flags & secondaryPHYFlags != 0
        // Without extended advertising the kernel takes turns between instances that the controller knows nothing of.
        abilities.advertisingSets = abilities.hasExtendedAdvertising == true ? sets : 1
    }
}

/// A socket of the management interface. Any user may send most commands; some need CAP_NET_ADMIN.
struct ManagementSocket: ~Copyable {
    /// How long the kernel may take to answer. It answers what is asked here from memory.
    private static let patienceMilliseconds: Int32 = 1000

    private let socket: FileDescriptor

    init() throws(SystemError) {
        let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = try FileDescriptor.checking(Glibc.socket(AF_BLUETOOTH, kind, BTPROTO_HCI))
        guard cbluetooth_bind(socket.number, UInt16(HCI_DEV_NONE), UInt16(HCI_CHANNEL_CONTROL)) == 0 else {
            throw .last
        }
        self.socket = socket
    }

    /// Takes over a socket that is bound already, or something that stands for one.
    init(owning socket: consuming FileDescriptor) { self.socket = socket }

    /// Asks, and waits for the answer; nil if it is refused or none comes.
    func ask(_ command: Management.Command, for adapter: UInt16 = Management.noAdapter) -> [UInt8]? {
        let packet = Management.packet(command, for: adapter)
        guard packet.withUnsafeBytes({ write(socket.number, $0.baseAddress, $0.count) }) == packet.count else {
            return nil
        }
        var buffer = [UInt8](repeating: 0, count: 1024)
        var request = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        while poll(&request, 1, Self.patienceMilliseconds) > 0 {
            let count = buffer.withUnsafeMutableBytes { read(socket.number, $0.baseAddress, $0.count) }
            guard count > 0 else { return nil }
            switch try? Management.answer(in: buffer.prefix(count), to: command, for: adapter) {
            case .success(let parameters): return Array(parameters)
            case .failure, nil: return nil
            case .other: continue
            }
        }
        return nil
    }
}
