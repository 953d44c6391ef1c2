import BluetoothHCI

extension FaultValue: CustomStringConvertible {
    /// The value as it is typed.
    public var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .time(let time): time.faultText
        case .word(let word): word
        case .fraction(let millionths): Self.text(millionths: millionths)
        case .address(let address): "\(address)"
        }
    }

    private static func text(millionths: Int) -> String {
        guard millionths < 1_000_000 else { return "1" }
        var digits = String(millionths)
        digits = String(repeating: "0", count: 6 - digits.count) + digits
        while digits.last == "0" { digits.removeLast() }
        return "0." + digits
    }
}

extension Duration {
    /// How many whole milliseconds it is.
    var wholeMilliseconds: Int {
        Int(clamping: components.seconds) * 1000 + Int(clamping: components.attoseconds / 1_000_000_000_000_000)
    }

    /// The time as it is typed: in seconds if it is whole seconds, else in milliseconds.
    var faultText: String {
        let milliseconds = wholeMilliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
    }
}

extension FaultParameter.Form {
    /// Reads a value that was typed.
    /// - Returns: nil for what is no value of this form, or out of its range.
    func value(_ text: String) -> FaultValue? {
        switch self {
        case .number(let range, _):
            guard let number = Self.number(text), range.contains(number) else { return nil }
            return .number(number)
        case .time(let range):
            guard let time = Self.time(text), range.contains(time) else { return nil }
            return .time(time)
        case .word(let words): return words.contains(text) ? .word(text) : nil
        case .fraction:
            guard let millionths = Self.decimal(text, digits: 6), (1...1_000_000).contains(millionths) else {
                return nil
            }
            return .fraction(millionths)
        case .address: return DeviceAddress(text).map(FaultValue.address)
        }
    }

    /// What values look like, for help and errors: `1 to 100 %`, `one of up, down`.
    public var description: String {
        switch self {
        case .number(let range, let unit): "\(range.lowerBound) to \(range.upperBound)" + (unit.map { " \($0)" } ?? "")
        case .time(let range): "\(range.lowerBound.faultText) to \(range.upperBound.faultText)"
        case .word(let words): "one of " + words.joined(separator: ", ")
        case .fraction: "a number above 0 and up to 1, with at most six digits behind the point"
        case .address: "an address such as C0:DE:00:00:12:34"
        }
    }

    /// A whole number, in decimal or, with 0x in front, in hexadecimal.
    private static func number(_ text: String) -> Int? {
        guard text.hasPrefix("0x") else { return Int(text) }
        let digits = text.dropFirst(2)
        // The initializer would take a sign here.
        return digits.allSatisfy(\.isHexDigit) ? Int(digits, radix: 16) : nil
    }

    /// A time: a number with `ms`, `s` or `min` behind it, or seconds.
    private static func time(_ text: String) -> Duration? {
        let milliseconds: Int?
        if text.hasSuffix("ms") {
            milliseconds = decimal(text.dropLast(2), digits: 0)
        } else if text.hasSuffix("min") {
            milliseconds = decimal(text.dropLast(3), digits: 3).flatMap { multiplied($0, by: 60) }
        } else {
            milliseconds = decimal(text.hasSuffix("s") ? text.dropLast() : text[...], digits: 3)
        }
        return milliseconds.map { .milliseconds($0) }
    }

    /// A number without a sign and with at most so many digits behind the point, in units of the last of them.
    private static func decimal(_ text: some StringProtocol, digits: Int) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, first.utf8.allSatisfy(isDigit) else { return nil }
        let rest = parts.count == 2 ? parts[1] : ""
        guard parts.count == 1 || !rest.isEmpty, rest.count <= digits, rest.utf8.allSatisfy(isDigit) else { return nil }
        return Int("\(first)\(rest)\(String(repeating: "0", count: digits - rest.count))")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func multiplied(_ number: Int, by factor: Int) -> Int? {
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }
}
