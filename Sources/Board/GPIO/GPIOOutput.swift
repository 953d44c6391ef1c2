import CLinux
import Glibc
import LinuxBluetooth

/// One line that is driven: active or not.
public final class GPIOOutput {
    private let file: FileDescriptor
    private let name: String

    /// Takes a line of a chip; it is inactive to begin with.
    public init(_ chip: GPIOChip, line: UInt32, active: GPIOLevel) throws(GPIOError) {
        file = try chip.take(GPIORequest(lines: [line], active: active, direction: .output))
        name = "line \(line) of \(chip.label)"
    }

    /// Makes it active or inactive.
    public func set(_ isActive: Bool) throws(GPIOError) {
        var values = gpio_v2_line_values(bits: isActive ? 1 : 0, mask: 1)
        guard ioctl(file.number, gpio_set_values_request, &values) == 0 else {
            throw GPIOError("cannot drive \(name): \(SystemError.last)", advice: "see the kernel's log: dmesg")
        }
    }
}
