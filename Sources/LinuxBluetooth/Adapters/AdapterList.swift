import BluetoothHCI
import CBluetooth
import Glibc

/// Asks the kernel which adapters there are, and switches them on and off.
struct AdapterControl: ~Copyable {
    private let socket: FileDescriptor
    private let files: AdapterFiles

    /// Fails with EAFNOSUPPORT on a kernel without Bluetooth.
    init(files: AdapterFiles = AdapterFiles()) throws(SystemError) {
        let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        socket = try .checking(Glibc.socket(AF_BLUETOOTH, kind, BTPROTO_HCI))
        self.files = files
    }

    /// Every adapter, lowest number first.
    func adapters() throws(SystemError) -> [Adapter] {
        let management = try ManagementSocket()
        let managed =
            management.ask(.readControllerIndexList).flatMap { try? Management.indices($0[...]) } ?? []
        let users = files.hciUsers(except: getpid())
        var found: [Adapter] = []
        for index in try indices().sorted() {
            // One that was unplugged a moment ago is simply not there.
            guard let information = information(of: index) else { continue }
            var adapter = Adapter(information, isManaged: managed.contains(index), users: users)
            adapter.driver = files.driver(of: adapter.name)
            adapter.usb = files.usbDevice(of: adapter.name)
            adapter.radioSwitch = files.radioSwitch(of: adapter.name)
            adapter.abilities = Self.abilities(of: index, management)
            found.append(adapter)
        }
        return found
    }

    /// Switches an adapter on, as `hciconfig up` does.
    func switchOn(_ index: UInt16) throws(SystemError) {
        guard cbluetooth_device_up(socket.number, index) == 0 else { throw .last }
    }

    /// Switches an adapter off.
    func switchOff(_ index: UInt16) throws(SystemError) {
        guard cbluetooth_device_down(socket.number, index) == 0 else { throw .last }
    }

    private func indices() throws(SystemError) -> [UInt16] {
        var devices = [UInt16](repeating: 0, count: Int(HCI_MAX_DEV))
        let count = cbluetooth_devices(socket.number, &devices)
        guard count >= 0 else { throw .last }
        return Array(devices.prefix(Int(count)))
    }

    private func information(of index: UInt16) -> hci_dev_info? {
        var information = hci_dev_info()
        information.dev_id = index
        return cbluetooth_device_information(socket.number, &information) == 0 ? information : nil
    }

    private static func abilities(of index: UInt16, _ socket: borrowing ManagementSocket) -> Adapter.Abilities? {
        let answer = socket.ask(.readControllerInformation, for: index)
        guard var abilities = answer.flatMap({ try? Management.abilities($0[...]) }) else { return nil }
        if let features = socket.ask(.readAdvertisingFeatures, for: index) {
            try? Management.addAdvertisingFeatures(features[...], to: &abilities)
        }
        return abilities
    }
}

extension Adapter {
    /// "LE Supported (Controller)", bit 38 of the LMP features (Core 5.4, Vol 2, Part C, 3.3).
    private static let leFeature: (octet: Int, mask: UInt8) = (4, 0x40)
    /// Where the kind of bus is in the kernel's type of an adapter.
    private static let busMask: UInt8 = 0x0F

    /// What the kernel's record says, with who has HCI sockets open.
    /// - Parameter isManaged: whether the management interface knows it.
    init(_ information: hci_dev_info, isManaged: Bool, users: [HCIUser]) {
        index = information.dev_id
        address = withUnsafeBytes(of: information.bdaddr) { octets in
            DeviceAddress(octets.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        }
        bus = Bus(rawValue: information.type & Self.busMask)
        hasLE = withUnsafeBytes(of: information.features) { $0[Self.leFeature.octet] & Self.leFeature.mask != 0 }
        isUp = information.flags & (1 << UInt32(HCI_UP)) != 0
        use = Self.use(isUp: isUp, isManaged: isManaged, users: users)
    }

    /// What follows from who has HCI sockets open: the kernel does not say which adapter each is for.
    static func use(isUp: Bool, isManaged: Bool, users: [HCIUser]) -> Use {
        guard isUp else { return .free }
        if isManaged { return .kernel(users.filter(\.isBluetoothDaemon)) }
        // What the management interface no longer knows although it is on, is a user channel's.
        return .exclusive(users.filter { !$0.isBluetoothDaemon && !$0.isMonitor })
    }
}

/// The adapters of this machine.
public enum Adapters {
    /// Every adapter, lowest number first, or why the kernel cannot say.
    public static func list() throws(AdapterProblem) -> [Adapter] { try AdapterControl.opened().listed() }
}
