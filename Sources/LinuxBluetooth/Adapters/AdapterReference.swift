import BluetoothHCI

/// Which of this machine's Bluetooth adapters is meant.
public enum AdapterReference: Hashable, Sendable {
    /// The one that the kernel calls `hci` and this number. Numbers change when adapters come and go.
    case index(UInt16)
    /// The one with this public address, under any name.
    case address(DeviceAddress)
    /// The first that can be used.
    case first
    /// The first on USB that can be used.
    case firstUSB
}

extension AdapterReference: CustomStringConvertible {
    /// What people write after `--controller`.
    public var description: String {
        switch self {
        case .index(let index): "hci\(index)"
        case .address(let address): "hci:\(address)"
        case .first: "hci"
        case .firstUSB: "usb"
        }
    }
}

extension AdapterReference {
    /// Reads what people write after `--controller`; nil if it is none of it.
    init?(parsing text: String) {
        switch text {
        case "hci": self = .first
        case "usb": self = .firstUSB
        case _ where text.hasPrefix("hci:"):
            guard let address = DeviceAddress(text.dropFirst(4)) else { return nil }
            self = .address(address)
        case _ where text.hasPrefix("hci"):
            let digits = text.dropFirst(3)
            guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let index = UInt16(digits) else { return nil }
            self = .index(index)
        default: return nil
        }
    }

    /// Whether an adapter is one that may be meant.
    func means(_ adapter: Adapter) -> Bool {
        switch self {
        case .index(let index): adapter.index == index
        case .address(let address): adapter.address == address
        case .first: true
        case .firstUSB: adapter.bus == .usb
        }
    }
}
