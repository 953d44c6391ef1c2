import CLinux
import Glibc

/// What a line does while nothing drives it.
public enum GPIOPull: String, Sendable, CaseIterable {
    case up, down, none
}

/// Which level of a line counts as active.
public enum GPIOLevel: String, Sendable, CaseIterable {
    case low, high
}

/// What lines are asked for, and for what.
struct GPIORequest {
    /// What they are to do.
    enum Direction: Equatable {
        /// They report when they become active and inactive; nil leaves debouncing to the reader.
        case input(GPIOPull, debounce: Duration?)
        /// It starts inactive.
        case output
    }

    /// As `gpioinfo` shows it to others.
    static let consumer = "cairn"

    let lines: [UInt32]
    let active: GPIOLevel
    let direction: Direction

    /// As the kernel takes it: struct gpio_v2_line_request.
    var structure: gpio_v2_line_request {
        var request = gpio_v2_line_request()
        let lines = lines.prefix(Int(GPIO_V2_LINES_MAX))
        withUnsafeMutableBytes(of: &request.offsets) { bytes in
            for (index, line) in lines.enumerated() {
                bytes.storeBytes(of: line, toByteOffset: index * MemoryLayout<UInt32>.stride, as: UInt32.self)
            }
        }
        withUnsafeMutableBytes(of: &request.consumer) { $0.copyBytes(from: Array(Self.consumer.utf8)) }
        request.num_lines = UInt32(lines.count)
        request.config.flags = flags.reduce(0) { $0 | UInt64($1.rawValue) }
        if case .input(_, let debounce?) = direction {
            request.config.num_attrs = 1
            request.config.attrs.0.attr.id = UInt32(GPIO_V2_LINE_ATTR_ID_DEBOUNCE.rawValue)
            request.config.attrs.0.attr.debounce_period_us = UInt32(clamping: debounce.microseconds)
            request.config.attrs.0.mask = (1 << UInt64(lines.count)) &- 1
        }
        return request
    }

    private var flags: [gpio_v2_line_flag] {
        var flags: [gpio_v2_line_flag] = active == .low ? [GPIO_V2_LINE_FLAG_ACTIVE_LOW] : []
        switch direction {
        case .output: flags.append(GPIO_V2_LINE_FLAG_OUTPUT)
        case .input(let pull, _):
            flags += [
                GPIO_V2_LINE_FLAG_INPUT, GPIO_V2_LINE_FLAG_EDGE_RISING, GPIO_V2_LINE_FLAG_EDGE_FALLING,
                pull.flag,
            ]
        }
        return flags
    }
}

extension GPIOPull {
    fileprivate var flag: gpio_v2_line_flag {
        switch self {
        case .up: GPIO_V2_LINE_FLAG_BIAS_PULL_UP
        case .down: GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN
        case .none: GPIO_V2_LINE_FLAG_BIAS_DISABLED
        }
    }
}

extension Duration {
    /// Whole microseconds.
    fileprivate var microseconds: Int64 { Int64(self / .microseconds(1)) }
}
