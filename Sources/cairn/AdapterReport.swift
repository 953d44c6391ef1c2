import BluetoothHCI
import FoundationEssentials
import LinuxBluetooth

/// An adapter in words, and as JSON.
struct AdapterReport {
    private let adapter: Adapter

    init(_ adapter: Adapter) { self.adapter = adapter }

    /// For a person: a line that says what it is, and three that say what that means for a watch.
    var text: String {
        var rows = [("can", ability), ("is", state)]
        if let problem = adapter.problem {
            rows.append(("so", problem.advice))
        } else {
            rows.append(("use", "cairn run --controller \(adapter.name)"))
        }
        let heading = ([adapter.name] + identity).joined(separator: "  ")
        return ([heading] + rows.map { "      \($0.0)\(String(repeating: " ", count: 5 - $0.0.count))\($0.1)" })
            .joined(separator: "\n")
    }

    private var identity: [String] {
        var words = [adapter.address == .zero ? "no address" : "\(adapter.address)"]
        if let usb = adapter.usb {
            words.append("USB \(usb.identifier)\(usb.name.map { " \($0)" } ?? "")")
        } else {
            words.append("\(adapter.bus)")
        }
        if let maker = adapter.abilities?.manufacturer { words.append(maker.name ?? "company \(maker)") }
        if let driver = adapter.driver { words.append("driver \(driver)") }
        return words
    }

    private var ability: String {
        guard let abilities = adapter.abilities else {
            return adapter.hasLE ? "do LE; more is known when it is free" : "is not known: the kernel has not set it up"
        }
        guard adapter.hasLE else { return "not do LE: Bluetooth \(abilities.version), BR/EDR only" }
        var words = "do LE: Bluetooth \(abilities.version)"
        switch (abilities.hasExtendedAdvertising, abilities.advertisingSets) {
        case (true?, let sets?): words += ", extended advertising with \(sets) sets"
        case (false?, _): words += ", legacy advertising, one set"
        default: break
        }
        return words
    }

    private var state: String {
        var words: [String] = []
        switch adapter.use {
        case .free: words.append(adapter.isUp ? "on" : "off, and free")
        case .kernel([]): words.append("on, and used by nobody in particular")
        case .kernel(let users), .exclusive(let users):
            let names = users.map(\.description).joined(separator: " or ")
            words.append("in use by \(names.isEmpty ? "a program that this user may not see" : names)")
        }
        if let radio = adapter.radioSwitch {
            if radio.isHardBlocked {
                words.append("its radio is blocked by a switch")
            } else if radio.isSoftBlocked {
                words.append("its radio is blocked (rfkill), and would be unblocked")
            }
        }
        return words.joined(separator: "; ")
    }

    // MARK: JSON

    struct Record: Encodable {
        struct User: Encodable {
            var process: Int32
            var name: String
        }

        var name: String
        var address: String?
        var bus: String
        var usb: String?
        var product: String?
        var driver: String?
        var manufacturer: UInt16?
        var company: String?
        var version: String?
        var le: Bool
        var extendedAdvertising: Bool?
        var advertisingSets: Int?
        var up: Bool
        var blocked: String?
        var use: String
        var users: [User]
        var port: UInt16?
        var file: String?
        var problem: String?
        var advice: String?
    }

    private var record: Record {
        let (use, users): (String, [HCIUser]) =
            switch adapter.use {
            case .free: ("free", [])
            case .kernel(let users): ("kernel", users)
            case .exclusive(let users): ("exclusive", users)
            }
        let blocked: String? =
            switch adapter.radioSwitch {
            case let radio? where radio.isHardBlocked: "hard"
            case let radio? where radio.isSoftBlocked: "soft"
            default: nil
            }
        return Record(
            name: adapter.name,
            address: adapter.address == .zero ? nil : "\(adapter.address)",
            bus: "\(adapter.bus)",
            usb: adapter.usb?.identifier,
            product: adapter.usb?.name,
            driver: adapter.driver,
            manufacturer: adapter.abilities?.manufacturer.rawValue,
            company: adapter.abilities?.manufacturer.name,
            version: adapter.abilities.map { "\($0.version)" },
            le: adapter.hasLE,
            extendedAdvertising: adapter.abilities?.hasExtendedAdvertising,
            advertisingSets: adapter.abilities?.advertisingSets,
            up: adapter.isUp,
            blocked: blocked,
            use: use,
            users: users.map { Record.User(process: $0.process, name: $0.name) },
            problem: adapter.problem.map { "\($0)" },
            advice: adapter.problem?.advice
        )
    }

    /// For a program: an array on one line. What is not known is left out.
    static func json(of adapters: [Adapter], and netsims: [NetsimReport]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = try? encoder.encode(adapters.map { AdapterReport($0).record } + netsims.map(\.record))
        return String(decoding: data ?? Data("[]".utf8), as: UTF8.self)
    }
}
