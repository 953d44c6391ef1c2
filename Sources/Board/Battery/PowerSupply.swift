import Glibc
import LinuxBluetooth

/// A battery as the kernel shows it in files.
///
/// Source: Documentation/ABI/testing/sysfs-class-power in Linux.
public struct PowerSupply: Sendable {
    /// Where the kernel has its power supplies.
    public static let folder = "/sys/class/power_supply"

    /// What a battery says.
    public struct Charge: Sendable, Equatable {
        /// 0 to 100.
        public let percent: UInt8
        /// Whether a charger is connected.
        public let isCharging: Bool
    }

    /// Why a battery cannot be read.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    private let folder: String
    private let name: String?

    /// - Parameters:
    ///   - name: which one; nil for the first battery of the machine itself.
    ///   - folder: where power supplies are.
    public init(named name: String?, folder: String = Self.folder) {
        self.name = name
        self.folder = folder
    }

    /// Asks the battery. Batteries come and go with their drivers, so it is looked for each time.
    public func charge() throws(Failure) -> Charge {
        let path = try self.path()
        let status = Self.line(of: path + "/status")
        // Full and Not charging are said by a battery that a charger is connected to.
        let isCharging = ["Charging", "Full", "Not charging"].contains(status)
        return Charge(percent: try percent(at: path), isCharging: isCharging)
    }

    private func path() throws(Failure) -> String {
        if let name {
            // One component, not a way to another place.
            guard !name.contains("/"), name != ".", name != ".." else {
                throw Failure(description: "“\(name)” is no power supply's name")
            }
            let path = folder + "/" + name
            guard access(path, F_OK) == 0 else { throw Failure(description: "there is no power supply “\(name)”") }
            return path
        }
        guard let path = batteries.first else { throw Failure(description: "this machine has no battery") }
        return path
    }

    /// The batteries of the machine; those of devices that are attached to it have the scope Device.
    private var batteries: [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var paths: [String] = []
        while let entry = readdir(directory) {
            let path = folder + "/" + String(fixed: entry.pointee.d_name)
            guard Self.line(of: path + "/type") == "Battery", Self.line(of: path + "/scope") != "Device" else {
                continue
            }
            paths.append(path)
        }
        return paths.sorted()
    }

    /// Not every gauge knows percents: some know the charge, or the energy, of now and of a full battery.
    private func percent(at path: String) throws(Failure) -> UInt8 {
        if Self.line(of: path + "/present") == "0" { throw Failure(description: "the battery is not in its place") }
        if let text = Self.line(of: path + "/capacity") {
            guard let percent = Int(text) else { throw Failure(description: "the battery's capacity is “\(text)”") }
            return UInt8(clamping: min(max(percent, 0), 100))
        }
        for quantity in ["charge", "energy"] {
            guard let now = Self.line(of: "\(path)/\(quantity)_now").flatMap(Double.init),
                let full = Self.line(of: "\(path)/\(quantity)_full").flatMap(Double.init), full > 0, now.isFinite
            else { continue }
            return UInt8(min(max(now / full * 100, 0), 100).rounded())
        }
        throw Failure(description: "the battery does not say how full it is")
    }

    /// The first line of a small file; nil if there is none.
    private static func line(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return bytes.prefix(count).split(separator: UInt8(ascii: "\n")).first.map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
