import ByteCoding
import Glibc

/// A Bluetooth adapter of this Linux whose controller is this process.
///
/// The kernel's driver `hci_vhci` makes an adapter for a program that opens `/dev/vhci` and asks for one with a vendor packet;
/// the answer says which one. From then on the file carries HCI packets, and the adapter lasts until it is closed.
///
/// Source: Linux, `drivers/bluetooth/hci_vhci.c`.
public enum VirtualAdapter {
    /// Where the driver is.
    public static let devicePath = "/dev/vhci"
    /// What begins a packet between driver and process that no adapter is meant by.
    static let vendorPacketType: UInt8 = 0xFF
    /// Asks for an adapter of the usual kind, which the kernel sets up at once.
    private static let request: [UInt8] = [vendorPacketType, 0x00]

    /// Makes an adapter. Which one it is, the connection's first vendor packet says: see `index(from:)`.
    public static func create(path: String = devicePath) throws(VirtualAdapterError) -> PacketConnection {
        do throws(SystemError) {
            let file = try FileDescriptor.checking(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC))
            return try create(on: file)
        } catch {
            throw VirtualAdapterError(path: path, cause: error)
        }
    }

    static func create(on file: consuming FileDescriptor) throws(SystemError) -> PacketConnection {
        let count = request.withUnsafeBytes { write(file.number, $0.baseAddress, $0.count) }
        guard count == request.count else { throw count < 0 ? .last : SystemError(code: EIO) }
        return PacketConnection(owning: file, kind: .virtualAdapter)
    }

    /// Which adapter it has become: the number in `hci0`. Nil for any other packet than the driver's answer.
    public static func index(from packet: ArraySlice<UInt8>) -> UInt16? {
        var reader = ByteReader(packet)
        do {
            guard try reader.readUInt8("packet_type") == vendorPacketType else { return nil }
            _ = try reader.readUInt8("opcode")
            return try reader.readLittleEndian("index") as UInt16
        } catch {
            return nil
        }
    }

    /// Whether a packet is the driver's own and not for the controller.
    public static func isVendorPacket(_ packet: ArraySlice<UInt8>) -> Bool { packet.first == vendorPacketType }
}

/// Why there can be no virtual adapter.
public struct VirtualAdapterError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where the driver was looked for.
    public let path: String
    /// What the kernel said.
    public let cause: SystemError

    public var description: String { "cannot make a virtual adapter with \(path): \(cause)" }

    /// What a person can do about it.
    public var advice: String {
        switch cause.code {
        case ENOENT, ENODEV, ENXIO:
            "this kernel has not loaded the driver: run “modprobe hci_vhci” as root; a kernel without that module, "
                + "such as Debian's for arm64, or a container's host without Bluetooth, cannot do it"
        case EACCES, EPERM:
            "only root may: run it with sudo, or give your user the device with “setfacl -m u:$USER:rw \(path)”"
        case EMFILE, ENFILE, ENOMEM:
            "this machine is short of files or memory: ask for fewer adapters"
        default:
            "see what the kernel says about it: dmesg | grep -i bluetooth"
        }
    }

    /// Whether the reason is that this user is not allowed to.
    public var isPermission: Bool { cause.code == EACCES || cause.code == EPERM }
}
