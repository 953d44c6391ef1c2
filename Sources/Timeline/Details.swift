import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

/// Turns decoded values into lines of text, by reflection: every field that a decoder reads is shown without being named again.
enum Details {
    /// How many lines one packet has at most.
    static let lineLimit = 24
    /// How many octets of a value are shown.
    static let octetLimit = 48

    /// The fields of a value, a line each, such as `interval: 0.015 seconds`.
    static func lines(of value: Any) -> [String] {
        var lines: [String] = []
        append(value, named: "", to: &lines, depth: 0)
        guard lines.count > lineLimit else { return lines }
        return lines.prefix(lineLimit - 1) + ["and \(lines.count - lineLimit + 1) lines more"]
    }

    /// Octets in hexadecimal, the first of many.
    static func octets(_ bytes: some Collection<UInt8>) -> String {
        let shown = Array(bytes.prefix(octetLimit)).hexadecimal
        return bytes.count > octetLimit ? "\(shown)… (\(bytes.count) bytes)" : bytes.isEmpty ? "nothing" : shown
    }

    /// The case of an enumeration, and what it carries.
    static func enumeration(_ value: Any) -> (name: String, content: Any?) {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .enum, let child = mirror.children.first else { return ("\(value)", nil) }
        return (child.label ?? "", child.value)
    }

    /// The words of a name in camel case: `leSetScanEnable` and `LESetScanEnable` are `LE Set Scan Enable`.
    static func words(_ name: String) -> String {
        // The number of a command without a name.
        guard !name.hasPrefix("0x") else { return name }
        var words: [String] = []
        let letters = Array(name)
        for (index, letter) in letters.enumerated() {
            let before = index > 0 ? letters[index - 1] : " "
            let after = index + 1 < letters.count ? letters[index + 1] : " "
            let begins = letter.isUppercase && (!before.isUppercase || after.isLowercase)
            if words.isEmpty || begins && index > 0 { words.append("") }
            words[words.count - 1].append(letter)
        }
        // `PHYs` and names that begin with `LE` in front of another abbreviation.
        return words.map { word in
            switch word.lowercased() {
            case "le": "LE"
            case "lephy": "LE PHY"
            default: word.prefix(1).uppercased() + word.dropFirst()
            }
        }
        .joined(separator: " ")
    }

    private static func append(_ value: Any, named name: String, to lines: inout [String], depth: Int) {
        guard lines.count <= lineLimit * 2 else { return }
        if let text = plain(value) {
            if !text.isEmpty { lines.append(name.isEmpty ? text : "\(name): \(text)") }
            return
        }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional:
            if let content = mirror.children.first { append(content.value, named: name, to: &lines, depth: depth) }
        case .enum:
            let (label, content) = enumeration(value)
            guard let content else { return lines.append(line(name, Self.lowercaseWords(label))) }
            if depth > 0 { lines.append(line(name, Self.lowercaseWords(label))) }
            append(content, named: depth > 0 ? Self.lowercaseWords(label) : "", to: &lines, depth: depth + 1)
        case .collection, .set:
            for (index, child) in mirror.children.enumerated() {
                append(child.value, named: "\(name) \(index + 1)".trimmed, to: &lines, depth: depth + 1)
            }
        default:
            for child in mirror.children {
                let label = child.label.map { $0.hasPrefix(".") ? "" : Self.lowercaseWords($0) } ?? ""
                let whole = depth > 0 && mirror.children.count > 1 && !name.isEmpty ? "\(name) \(label)" : label
                append(child.value, named: (whole.isEmpty ? name : whole).trimmed, to: &lines, depth: depth + 1)
            }
        }
    }

    private static func line(_ name: String, _ text: String) -> String { name.isEmpty ? text : "\(name): \(text)" }

    /// A value that needs no name of its own for its parts; nil for one that has fields.
    private static func plain(_ value: Any) -> String? {
        switch value {
        case let bytes as ArraySlice<UInt8>: octets(bytes)
        case let bytes as [UInt8]: octets(bytes)
        case let text as String: "“\(text)”"
        case let status as HCIStatus: "\(status)"
        case let value as any CustomStringConvertible where !(value is any Collection): "\(value)"
        case let options as any OptionSet: number(options.rawValue)
        case let number as any RawRepresentable where Mirror(reflecting: number).displayStyle == .struct:
            Self.number(number.rawValue)
        default: nil
        }
    }

    private static func number(_ value: Any) -> String {
        guard let integer = value as? any BinaryInteger else { return "\(value)" }
        return "0x" + String(UInt64(truncatingIfNeeded: integer), radix: 16)
    }

    private static func lowercaseWords(_ name: String) -> String {
        words(name).split(separator: " ").map { word in
            word.dropFirst().contains(where: \.isUppercase) || word == "LE" ? String(word) : word.lowercased()
        }
        .joined(separator: " ")
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}

// MARK: - HCI

extension Details {
    /// A command in fields; nil if it is not known, or if a key is in it.
    static func command(
        _ opcode: HCIOpcode,
        _ parameters: ArraySlice<UInt8>
    ) throws(ByteDecodingError) -> (any HCICommand)? {
        switch opcode {
        case LESetAdvertisingParameters.opcode: try LESetAdvertisingParameters(parameters: parameters)
        case LESetAdvertisingData.opcode: try LESetAdvertisingData(parameters: parameters)
        case LESetScanResponseData.opcode: try LESetScanResponseData(parameters: parameters)
        case LESetAdvertisingEnable.opcode: try LESetAdvertisingEnable(parameters: parameters)
        case LESetExtendedAdvertisingParameters.opcode:
            try LESetExtendedAdvertisingParameters(parameters: parameters)
        case LESetExtendedAdvertisingData.opcode: try LESetExtendedAdvertisingData(parameters: parameters)
        case LESetExtendedScanResponseData.opcode: try LESetExtendedScanResponseData(parameters: parameters)
        case LESetExtendedAdvertisingEnable.opcode: try LESetExtendedAdvertisingEnable(parameters: parameters)
        case LESetAdvertisingSetRandomAddress.opcode: try LESetAdvertisingSetRandomAddress(parameters: parameters)
        case LERemoveAdvertisingSet.opcode: try LERemoveAdvertisingSet(parameters: parameters)
        case LESetRandomAddress.opcode: try LESetRandomAddress(parameters: parameters)
        case LESetScanParameters.opcode: try LESetScanParameters(parameters: parameters)
        case LESetScanEnable.opcode: try LESetScanEnable(parameters: parameters)
        case LESetExtendedScanParameters.opcode: try LESetExtendedScanParameters(parameters: parameters)
        case LESetExtendedScanEnable.opcode: try LESetExtendedScanEnable(parameters: parameters)
        case LECreateConnection.opcode: try LECreateConnection(parameters: parameters)
        case LEExtendedCreateConnection.opcode: try LEExtendedCreateConnection(parameters: parameters)
        case LEConnectionUpdate.opcode: try LEConnectionUpdate(parameters: parameters)
        case LESetDataLength.opcode: try LESetDataLength(parameters: parameters)
        case LESetPHY.opcode: try LESetPHY(parameters: parameters)
        case LEReadRemoteFeatures.opcode: try LEReadRemoteFeatures(parameters: parameters)
        case Disconnect.opcode: try Disconnect(parameters: parameters)
        case LEAddDeviceToFilterAcceptList.opcode: try LEAddDeviceToFilterAcceptList(parameters: parameters)
        case LERemoveDeviceFromFilterAcceptList.opcode: try LERemoveDeviceFromFilterAcceptList(parameters: parameters)
        case LELongTermKeyRequestNegativeReply.opcode: try LELongTermKeyRequestNegativeReply(parameters: parameters)
        default: nil
        }
    }
}

// MARK: - The Pebble Protocol

extension Details {
    /// A message in fields: what kind it is, and its lines; nil for an endpoint whose messages are shown as bytes.
    static func message(
        _ message: PebbleMessage,
        isFromWatch: Bool
    ) throws(ByteDecodingError) -> (name: String, lines: [String])? {
        guard let value = try decode(message, isFromWatch: isFromWatch) else { return nil }
        let (name, _) = enumeration(value)
        let isEnumeration = Mirror(reflecting: value).displayStyle == .enum
        return (isEnumeration ? lowercaseWords(name) : "", lines(of: value))
    }

    private static func decode(
        _ message: PebbleMessage,
        isFromWatch: Bool
    ) throws(ByteDecodingError) -> (any EndpointMessage)? {
        let payload = message.payload[...]
        switch (message.endpoint, isFromWatch) {
        case (.meta, _): return try MetaMessage(payload: payload)
        case (.time, _): return try TimeMessage(payload: payload)
        case (.watchVersion, _): return try WatchVersionMessage(payload: payload)
        case (.phoneVersion, _): return try PhoneVersionMessage(payload: payload)
        case (.systemMessage, _): return try SystemMessage(payload: payload)
        case (.music, _): return try MusicMessage(payload: payload)
        case (.phoneControl, _): return try PhoneControlMessage(payload: payload)
        case (.launcher, _): return try LauncherMessage(payload: payload)
        case (.bleControl, _): return try BLEControlMessage(payload: payload)
        case (.appRunState, _): return try AppRunStateMessage(payload: payload)
        case (.healthSync, _): return try HealthSyncMessage(payload: payload)
        case (.ping, _): return try PingMessage(payload: payload)
        case (.reset, _): return try ResetMessage(payload: payload)
        case (.appFetch, true): return try AppFetchRequest(payload: payload)
        case (.appFetch, false): return try AppFetchResponse(payload: payload)
        case (.dataLogging, _): return try DataLoggingMessage(payload: payload)
        case (.appOrder, true): return try AppOrderResponse(payload: payload)
        case (.appOrder, false): return try AppOrderRequest(payload: payload)
        case (.blobDB, true): return try BlobDBResponse(payload: payload)
        case (.blobDB, false): return try BlobDBRequest(payload: payload)
        case (.putBytes, true): return try PutBytesResponse(payload: payload)
        case (.putBytes, false): return try PutBytesRequest(payload: payload)
        default: return nil
        }
    }
}
