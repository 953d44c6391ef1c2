import Glibc

/// What the kernel says about adapters in files: sysfs, and the table of processes.
///
/// Source: Linux, `Documentation/ABI`: sysfs-class-bluetooth, sysfs-class-rfkill, sysfs-bus-usb; proc(5).
struct AdapterFiles: Sendable {
    /// Where sysfs and procfs are mounted; another place in tests.
    var systemRoot = "/sys"
    var processRoot = "/proc"

    private func folder(of name: String) -> String { systemRoot + "/class/bluetooth/" + name }

    /// The driver behind an adapter.
    func driver(of name: String) -> String? {
        guard let target = Self.link(folder(of: name) + "/device/driver") else { return nil }
        return target.split(separator: "/").last.map(String.init)
    }

    /// What an adapter is on USB: the interface that its driver has is `device`, and the dongle is above that.
    func usbDevice(of name: String) -> Adapter.USBDevice? {
        let device = folder(of: name) + "/device/.."
        guard let vendor = Self.text(device + "/idVendor"), let product = Self.text(device + "/idProduct") else {
            return nil
        }
        let names = ["/manufacturer", "/product"].compactMap { Self.text(device + $0) }
        return Adapter.USBDevice(
            identifier: "\(vendor):\(product)",
            name: names.isEmpty ? nil : names.joined(separator: " ")
        )
    }

    /// The switch of an adapter's radio.
    func radioSwitch(of name: String) -> Adapter.RadioSwitch? {
        for entry in Self.entries(of: folder(of: name)) where entry.hasPrefix("rfkill") {
            guard let index = UInt32(entry.dropFirst("rfkill".count)) else { continue }
            let path = folder(of: name) + "/" + entry
            return Adapter.RadioSwitch(
                index: index,
                isSoftBlocked: Self.text(path + "/soft") == "1",
                isHardBlocked: Self.text(path + "/hard") == "1"
            )
        }
        return nil
    }

    /// The programs that have HCI sockets open, as far as this user may see. `except` is this process itself.
    ///
    /// The daemon of BlueZ is known by its name where its sockets cannot be seen.
    func hciUsers(except own: Int32) -> [HCIUser] {
        let sockets = socketInodes()
        guard !sockets.isEmpty else { return [] }
        return Self.entries(of: processRoot).compactMap(Int32.init).sorted().compactMap { process in
            guard process != own, let name = Self.text(processRoot + "/\(process)/comm") else { return nil }
            let user = HCIUser(process: process, name: name)
            return user.isBluetoothDaemon || hasSocket(process, among: sockets) ? user : nil
        }
    }

    /// The inodes of all HCI sockets: the sixth column of the kernel's table (`bt_seq_show` in `net/bluetooth/af_bluetooth.c`).
    private func socketInodes() -> Set<Substring> {
        guard let table = Self.text(processRoot + "/net/hci") else { return [] }
        let rows = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
        return Set(rows.compactMap { $0.dropFirst(5).first }.filter { $0 != "0" })
    }

    private func hasSocket(_ process: Int32, among inodes: Set<Substring>) -> Bool {
        let folder = processRoot + "/\(process)/fd"
        return Self.entries(of: folder).contains { entry in
            guard let target = Self.link(folder + "/" + entry), target.hasPrefix("socket:["), target.hasSuffix("]")
            else {
                return false
            }
            return inodes.contains(target.dropFirst("socket:[".count).dropLast())
        }
    }

    /// The names in a folder; none if it cannot be read.
    private static func entries(of path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// What a small file says, without the end of its line; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        guard let file = try? FileDescriptor.checking(open(path, O_RDONLY | O_CLOEXEC)) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = bytes.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
        guard count >= 0 else { return nil }
        var text = String(decoding: bytes.prefix(count), as: UTF8.self)[...]
        while text.last == "\n" || text.last == " " { text.removeLast() }
        return String(text)
    }

    /// Where a symbolic link leads; nil if it is none.
    private static func link(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
