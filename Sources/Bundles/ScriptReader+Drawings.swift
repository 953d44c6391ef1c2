import PebbleWatch

// What a script draws.

extension ScriptReader {
    /// Places on and around the screen.
    private static let coordinates: ClosedRange<Int64> = -10_000...10_000
    private static let words = ["bitmap", "clear", "invert", "line", "rectangle", "text"]

    static func drawing(_ value: ScriptValue) throws(ScriptError) -> Drawing {
        let members = try value.object()
        let found = members.filter { words.contains($0.name) }
        guard found.count == 1, let word = found.first else {
            throw value.error("one of \(words.joined(separator: ", ")) is needed, and only one")
        }
        let subject = value.member(word)
        switch word.name {
        case "clear":
            _ = try value.object(allowing: ["clear"])
            return .clear(try color(subject))
        case "invert":
            _ = try value.object(allowing: ["invert"])
            if case .bool(true) = subject.json.value { return .invert(nil) }
            return .invert(try rectangle(subject, "true or [x, y, width, height] is needed"))
        case "line":
            let members = try value.object(allowing: ["line", "color"])
            let ends = try numbers(subject, "[x, y, x, y] is needed")
            return .line(
                from: PixelPoint(x: ends[0], y: ends[1]),
                to: PixelPoint(x: ends[2], y: ends[3]),
                try color(in: members)
            )
        case "rectangle":
            let members = try value.object(allowing: ["rectangle", "color", "fill"])
            let area = try rectangle(subject, "[x, y, width, height] is needed")
            return .rectangle(area, try color(in: members), isFilled: try members["fill"]?.bool() ?? true)
        case "bitmap": return .bitmap(try bitmap(subject, try value.object(allowing: bitmapMembers)))
        default: return .text(try text(subject, try value.object(allowing: textMembers)))
        }
    }

    private static let textMembers: Set = ["text", "x", "y", "size", "align", "color"]
    private static let bitmapMembers: Set = ["bitmap", "x", "y", "size", "color", "background"]

    private static func text(
        _ subject: ScriptValue,
        _ members: [String: ScriptValue]
    ) throws(ScriptError) -> DrawnText {
        let source: DrawnText.Source
        if let key = try received(subject) {
            source = .received(key)
        } else {
            source = .text(try subject.text("a text or {\"received\": KEY} is needed"))
        }
        var text = DrawnText(source)
        if let x = members["x"] { text.x = Int(try x.integer(in: coordinates)) }
        if let y = members["y"] { text.y = Int(try y.integer(in: coordinates)) }
        text.scale = try size(in: members)
        if let align = members["align"] {
            let known = DrawnText.Alignment.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            guard case .text(let name) = align.json.value, let alignment = DrawnText.Alignment(rawValue: name) else {
                throw align.error("one of \(known) is needed")
            }
            text.alignment = alignment
        }
        text.color = try color(in: members)
        return text
    }

    private static func bitmap(
        _ subject: ScriptValue,
        _ members: [String: ScriptValue]
    ) throws(ScriptError) -> DrawnBitmap {
        let what = "a list of rows is needed, each a text of # for a pixel that is set and . for one that is not"
        var bitmap = DrawnBitmap(rows: [])
        for row in try subject.array(what) {
            let pixels = try row.text(what)
            guard pixels.allSatisfy({ $0 == "#" || $0 == "." }) else { throw row.error("a row has only # and .") }
            bitmap.rows.append(pixels.map { $0 == "#" })
        }
        if let x = members["x"] { bitmap.x = Int(try x.integer(in: coordinates)) }
        if let y = members["y"] { bitmap.y = Int(try y.integer(in: coordinates)) }
        bitmap.scale = try size(in: members)
        bitmap.color = try color(in: members)
        if let background = members["background"] { bitmap.background = try color(background) }
        return bitmap
    }

    private static func size(in members: [String: ScriptValue]) throws(ScriptError) -> Int {
        guard let size = members["size"] else { return 1 }
        return Int(try size.integer(in: 1...Int64(DrawnText.largestScale)))
    }

    private static func rectangle(_ value: ScriptValue, _ what: String) throws(ScriptError) -> PixelRectangle {
        let numbers = try numbers(value, what)
        guard numbers[2] >= 0, numbers[3] >= 0 else { throw value.error("width and height are not negative") }
        return PixelRectangle(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }

    /// Four of them.
    private static func numbers(_ value: ScriptValue, _ what: String) throws(ScriptError) -> [Int] {
        let elements = try value.array(what)
        guard elements.count == 4 else { throw value.error(what) }
        var numbers: [Int] = []
        for element in elements { numbers.append(Int(try element.integer(in: coordinates))) }
        return numbers
    }

    // MARK: Colours

    private static func color(in members: [String: ScriptValue]) throws(ScriptError) -> PebbleColor {
        guard let color = members["color"] else { return .white }
        return try self.color(color)
    }

    private static func color(_ value: ScriptValue) throws(ScriptError) -> PebbleColor {
        if case .text(let text) = value.json.value, let color = names[text] ?? color(hexadecimal: text) { return color }
        let known = names.keys.sorted().joined(separator: ", ")
        throw value.error("a colour is needed: \(known), or \"#RRGGBB\" of 00, 55, AA and FF")
    }

    private static let names: [String: PebbleColor] = [
        "black": .black, "white": .white, "light-gray": .lightGray, "dark-gray": .darkGray, "red": .red,
        "green": PebbleColor(red: 0, green: 3, blue: 0), "blue": PebbleColor(red: 0, green: 0, blue: 3),
        "yellow": PebbleColor(red: 3, green: 3, blue: 0), "cyan": PebbleColor(red: 0, green: 3, blue: 3),
        "magenta": PebbleColor(red: 3, green: 0, blue: 3),
    ]

    /// The screen has four levels of each part; what lies between them is refused, since a screenshot would not show it.
    private static func color(hexadecimal text: String) -> PebbleColor? {
        guard text.utf8.count == 7, text.first == "#", text.dropFirst().allSatisfy(\.isHexDigit),
            let number = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        let parts = [number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF]
        guard parts.allSatisfy({ $0 % 0x55 == 0 }) else { return nil }
        let levels = parts.map { UInt8(truncatingIfNeeded: $0 / 0x55) }
        return PebbleColor(red: levels[0], green: levels[1], blue: levels[2])
    }
}
