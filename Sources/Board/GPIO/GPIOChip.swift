import CLinux
import Glibc
import LinuxBluetooth

/// A chip of GPIO lines, by the second version of the kernel's character device (Linux 5.10 and later).
///
/// Source: include/uapi/linux/gpio.h.
public final class GPIOChip {
    /// Where it was found.
    public let path: String
    /// What the kernel's driver calls it: it stays the same when the numbers of chips change.
    public let label: String
    /// How many lines it has, counted from 0.
    public let lineCount: UInt32
    let file: FileDescriptor

    private init(path: String) throws(GPIOError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path, .last) }
        file = FileDescriptor(owning: descriptor)
        var information = gpiochip_info()
        guard ioctl(descriptor, gpio_get_chip_info_request, &information) == 0 else { throw .cannotOpen(path, .last) }
        self.path = path
        label = String(fixed: information.label)
        lineCount = information.lines
    }

    /// Finds a chip.
    /// - Parameters:
    ///   - name: its path, or its label; of several with this label the first counts.
    ///   - folder: where the device files are.
    public static func named(_ name: String, folder: String = "/dev") throws(GPIOError) -> GPIOChip {
        if name.contains("/") { return try GPIOChip(path: name) }
        var found: [String] = []
        var failure: GPIOError?
        for path in paths(in: folder) {
            do throws(GPIOError) {
                let chip = try GPIOChip(path: path)
                if chip.label == name { return chip }
                found.append("\(chip.label) (\(path))")
            } catch {
                // It may have been the one.
                failure = error
            }
        }
        if let failure { throw failure }
        throw GPIOError(
            "there is no GPIO chip with the label “\(name)”",
            advice: found.isEmpty
                ? "this machine has no GPIO chips, or their drivers are not loaded"
                : "there is \(found.joined(separator: ", "))"
        )
    }

    /// The device files of chips, in the order of their numbers.
    static func paths(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var numbers: [Int] = []
        while let entry = readdir(directory) {
            let name = String(fixed: entry.pointee.d_name)
            guard name.hasPrefix("gpiochip"), let number = Int(name.dropFirst("gpiochip".count)) else { continue }
            numbers.append(number)
        }
        return numbers.sorted().map { "\(folder)/gpiochip\($0)" }
    }

    // MARK: Lines

    /// Takes lines, for this process alone.
    /// - Returns: the descriptor that stands for them.
    func take(_ request: GPIORequest) throws(GPIOError) -> FileDescriptor {
        if let line = request.lines.first(where: { $0 >= lineCount }) {
            throw GPIOError(
                "\(label) has no line \(line)",
                advice: "its lines are 0 to \(Int(lineCount) - 1); on a Raspberry Pi, GPIO 5 is line 5"
            )
        }
        var structure = request.structure
        guard ioctl(file.number, gpio_get_lines_request, &structure) == 0, structure.fd >= 0 else {
            throw explain(.last, request)
        }
        return FileDescriptor(owning: structure.fd)
    }

    private func explain(_ error: SystemError, _ request: GPIORequest) -> GPIOError {
        // The kernel does not say which of the lines it was.
        for line in request.lines {
            guard let user = user(of: line) else { continue }
            return GPIOError(
                "line \(line) of \(label) is in use\(user.isEmpty ? "" : " by “\(user)”")",
                advice: "end who uses it, switch off what the device tree uses it for, or choose another line"
            )
        }
        let lines = request.lines.map(String.init).joined(separator: ", ")
        return GPIOError(
            "cannot take the lines \(lines) of \(label): \(error)",
            advice: "see whether they can do what they are to do: gpioinfo, of Debian's package gpiod, lists them"
        )
    }

    /// The user of a line, in that user's words; nil if it has none.
    private func user(of line: UInt32) -> String? {
        var information = gpio_v2_line_info()
        information.offset = line
        guard ioctl(file.number, gpio_get_line_info_request, &information) == 0 else { return nil }
        guard information.flags & UInt64(GPIO_V2_LINE_FLAG_USED.rawValue) != 0 else { return nil }
        return String(fixed: information.consumer)
    }
}

extension SystemError {
    var isPermission: Bool { code == EACCES || code == EPERM }
}

extension String {
    /// The text in a C array of characters, which ends with a zero or with the array.
    init<Characters>(fixed characters: Characters) {
        self = withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
