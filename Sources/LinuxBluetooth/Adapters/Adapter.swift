import BluetoothHCI
import CBluetooth

/// A Bluetooth adapter of this machine, as the kernel describes it.
public struct Adapter: Hashable, Sendable {
    /// How it is attached: the kernel's number for that.
    public struct Bus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let virtual = Bus(rawValue: UInt8(HCI_VIRTUAL))
        public static let usb = Bus(rawValue: UInt8(HCI_USB))
        public static let uart = Bus(rawValue: UInt8(HCI_UART))

        /// libbluetooth's name for it, such as `USB`.
        public var description: String {
            guard let name = hci_bustostr(Int32(rawValue)) else { return "bus \(rawValue)" }
            return String(cString: name)
        }
    }

    /// What it is on USB.
    public struct USBDevice: Hashable, Sendable {
        /// Vendor and product, four hexadecimal digits each, as `lsusb` shows them.
        public var identifier: String
        /// What it says of itself, as far as it does.
        public var name: String?
    }

    /// The switch that turns radios off.
    public struct RadioSwitch: Hashable, Sendable {
        /// The kernel's number for it: `rfkill` and this.
        public var index: UInt32
        /// Software has blocked the radio, and software can unblock it.
        public var isSoftBlocked: Bool
        /// A switch or the firmware has blocked the radio.
        public var isHardBlocked: Bool
    }

    /// What the controller can do, as the kernel found out when it set it up.
    public struct Abilities: Hashable, Sendable {
        /// Who made the controller.
        public var manufacturer: CompanyIdentifier
        /// Which version of the Core Specification it follows.
        public var version: CoreVersion
        /// How many advertising sets the kernel can use; nil if this user may not ask.
        public var advertisingSets: Int?
        /// Whether it has extended advertising; nil if this user may not ask.
        public var hasExtendedAdvertising: Bool?
    }

    /// Who uses it.
    public enum Use: Hashable, Sendable {
        /// No program: it can be opened.
        case free
        /// The kernel's own stack has it switched on, for these programs; for no program in particular if there are none.
        case kernel([HCIUser])
        /// One program has it for itself: one of these, or one that this user may not see.
        case exclusive([HCIUser])
    }

    /// The number in its name.
    public var index: UInt16
    /// Its public address; zero if it has none.
    public var address: DeviceAddress
    /// How it is attached.
    public var bus: Bus
    /// Whether it has Bluetooth LE.
    public var hasLE: Bool
    /// Whether it is switched on.
    public var isUp: Bool
    /// The kernel's driver for it, if it has one of its own.
    public var driver: String?
    /// What it is on USB, if it is.
    public var usb: USBDevice?
    /// Its switch, if it has one.
    public var radioSwitch: RadioSwitch?
    /// What it can do; nil while one program has it for itself, and for a controller that the kernel could not set up.
    public var abilities: Abilities?
    /// Who uses it.
    public var use: Use

    /// The kernel's name for it.
    public var name: String { "hci\(index)" }
}

extension CompanyIdentifier {
    /// libbluetooth's name for the company; nil for one that it does not know.
    public var name: String? {
        guard let text = bt_compidtostr(Int32(rawValue)) else { return nil }
        let name = String(cString: text)
        return name == "not assigned" || name == "internal use" ? nil : name
    }
}

/// A program that has HCI sockets open.
public struct HCIUser: Hashable, Sendable, CustomStringConvertible {
    /// Its process id.
    public var process: Int32
    /// Its name, as `ps` shows it.
    public var name: String

    public init(process: Int32, name: String) {
        self.process = process
        self.name = name
    }

    public var description: String { "\(name) (process \(process))" }

    /// Whether it is BlueZ's daemon, which takes every adapter that there is.
    public var isBluetoothDaemon: Bool { name == "bluetoothd" }
    /// Whether it only looks on.
    var isMonitor: Bool { name == "btmon" || name == "hcidump" }
}
