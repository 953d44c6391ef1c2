import BluetoothHCI

/// A fault as it was asked for: what it is, and with which values. It is not at work yet: that is a ``RunningFault``.
///
/// As text it is its name, and `key=value` for each value that was given: `att.error opcode=10 error=5 count=3`.
public struct Fault: Hashable, Sendable {
    /// Its row of the table.
    public let kind: FaultKind
    /// What was given; everything else is as the table says.
    private let values: [FaultKey: FaultValue]

    /// - Parameter values: what was given, in the forms and ranges of the parameters.
    /// - Throws: `FaultError` when the values do not go together.
    init(_ kind: FaultKind, _ values: [FaultKey: FaultValue]) throws(FaultError) {
        self.kind = kind
        self.values = values
        try checkCombination()
    }

    /// A fault of which nothing is given but what the table says.
    public init(_ kind: FaultKind) {
        self.kind = kind
        values = [:]
    }

    /// Its row of the table.
    public var definition: FaultDefinition {
        guard let definition = FaultDefinition(named: kind.name) else {
            preconditionFailure("the table of faults has a row of every kind")
        }
        return definition
    }

    /// Its name, as it is typed.
    public var name: String { kind.name }

    /// The value of a parameter or an option: what was given, or what the table says; nil if neither is there.
    public subscript(key: FaultKey) -> FaultValue? {
        if let value = values[key] { return value }
        return (definition[key] ?? FaultParameter.options.first { $0.key == key })?.fallback
    }

    /// A number; nil if none was given, and the table has none.
    public func number(_ key: FaultKey) -> Int? {
        if case .number(let number)? = self[key] { number } else { nil }
    }

    /// A time; nil if none was given, and the table has none.
    public func time(_ key: FaultKey) -> Duration? {
        if case .time(let time)? = self[key] { time } else { nil }
    }

    /// A word; nil if none was given, and the table has none.
    public func word(_ key: FaultKey) -> String? {
        if case .word(let word)? = self[key] { word } else { nil }
    }

    /// The phone that it is for; nil for all.
    public var phone: DeviceAddress? {
        if case .address(let address)? = values[.phone] { address } else { nil }
    }

    /// The probability that it fires at an occasion, in millionths; nil if it always does.
    var probability: Int? {
        if case .fraction(let millionths)? = values[.probability] { millionths } else { nil }
    }

    /// What was given, in the order of the table, as it is typed.
    public var arguments: [(key: String, value: String)] {
        (definition.parameters + FaultParameter.options).compactMap { parameter in
            values[parameter.key].map { (parameter.key.rawValue, "\($0)") }
        }
    }

    // MARK: Combinations

    private func checkCombination() throws(FaultError) {
        if values[.seed] != nil, values[.probability] == nil {
            throw .impossible(name, "seed determines the chances of probability, and no probability is given")
        }
        switch definition.occasion {
        case .each: break
        case .once:
            if values[.skip] != nil {
                throw .impossible(name, "it has one occasion, so that none can be skipped: say after")
            }
            if let count = number(.count), count > 1, values[.every] == nil {
                throw .impossible(name, "it happens once, and \(count) times only with every")
            }
        case .standing:
            for key in [FaultKey.skip, .count, .every, .probability] where values[key] != nil {
                throw .impossible(
                    name,
                    "it holds all the time, so that \(key.rawValue) means nothing: say for or after"
                )
            }
        }
        switch kind {
        case .hci(.linkDropped):
            guard let reason = number(.reason), Self.reasons.contains(reason) else {
                throw .impossible(
                    name,
                    "no controller ends a link for that reason: say "
                        + Self.reasons.map { "\($0)" }.joined(separator: ", ")
                )
            }
        case .hci(.eventLost), .hci(.eventLate):
            if values[.code] != nil, number(.event) != 0x3E {
                throw .impossible(name, "code is the subevent of an LE event: say event=0x3E as well")
            }
        case .watch(.reboot):
            if values[.bytes] != nil, word(.during) != "upload" {
                throw .impossible(name, "bytes are those of an upload: say during=upload as well")
            }
        case .radio, .hci, .ppogatt, .message, .watch: break
        }
        let isOfAllPhones =
            switch kind {
            case .ppogatt: false
            // The air is spoilt for all, and a message belongs to a session, which may be a tool's.
            case .radio, .message: true
            case .hci(let fault): fault.isOfAllPhones
            case .watch(let fault): fault.isOfAllPhones
            }
        if isOfAllPhones, values[.phone] != nil {
            throw .impossible(name, "it is not about one phone: leave phone out")
        }
    }

    /// The reasons that the command Disconnect takes (Core 5.4, Vol 4, Part E, 7.1.6).
    private static let reasons = [0x05, 0x13, 0x14, 0x15, 0x1A, 0x29, 0x3B]
}

extension Fault: CustomStringConvertible {
    public var description: String {
        ([name] + arguments.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
    }
}

extension HCIFault {
    /// Whether it is about the controller as a whole, and not about a link.
    var isOfAllPhones: Bool {
        switch self {
        case .controllerHangs, .controllerResets, .hardwareError, .eventLost, .eventLate, .commandRefused, .noBuffers,
            .setsLost:
            true
        case .linkLost, .linkDropped, .linkMute, .attError, .attLate, .attNever, .attTwice, .mtuRefused,
            .confirmationNotAwaited, .serviceChangedLost, .wrongHash, .creditsWithheld, .psmRefused, .channelDropped,
            .tinyMPS, .parametersRefused, .pairingRefused, .pairingStalled, .wrongConfirm, .wrongDHKeyCheck,
            .otherModel,
            .keyCorrupted, .encryptionRefused:
            false
        }
    }
}

extension WatchFault {
    /// Whether it is about the watch as a whole, and not about a phone.
    var isOfAllPhones: Bool {
        switch self {
        case .bondForgotten: false
        case .appCrashes, .appSlow, .reboot, .factoryReset, .battery, .clockJump, .timeZone, .memoryShort, .buttonStuck,
            .addressRotates, .databaseChanged, .storageFull, .storageSlow, .storageReadOnly, .storageCorrupt:
            true
        }
    }
}
