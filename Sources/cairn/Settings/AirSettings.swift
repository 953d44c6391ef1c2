import AirSimulator
import Settings

/// The virtual radio.
enum AirSettings: SettingGroup {
    static let title = "VIRTUAL RADIO"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "air.port",
            option: "air-port",
            .word("a port, or 0 for any", placeholder: "port", parse: LoopbackPort.parse),
            ifGiven: \.process.airPort,
            needs: virtualRadio,
            help: """
                Offer H4 controllers on the virtual radio to this user's other Bluetooth hosts, on this port of 127.0.0.1; 0 \
                takes any free one and logs it. Only with --controller virtual.
                """
        ),
        Setting(
            "air.socket",
            option: "air-socket",
            .word("a path for a Unix socket", placeholder: "path") { $0 },
            ifGiven: \.process.airSocketPath,
            needs: virtualRadio,
            help: "Offer them on a Unix socket with this path too, which only this user can open."
        ),
        Setting(
            "air.seed",
            option: "air-seed",
            .number(placeholder: "number"),
            otherwise: "another every time",
            needs: virtualRadio,
            help: "What the virtual radio leaves to chance follows from this number."
        ) { $0.process.airSeed = $1 },
        Setting(
            "air.loss",
            option: "air-loss",
            .decimal(0...99, of: "percent"),
            default: 0,
            needs: virtualRadio,
            help: "How many of the virtual radio's packets get lost on the way."
        ) { plan, percent in
            if percent > 0 { plan.process.airQuality = LinkQuality(loss: .uniform(probability: percent / 100)) }
        },
    ]

    private static var virtualRadio: SettingNeed<RunPlan> {
        SettingNeed("the virtual radio", from: "controller", "virtual") { ($0.controller ?? .virtual) == .virtual }
    }
}

/// A port of 127.0.0.1.
enum LoopbackPort {
    /// Reads a number from 0, for any that is free, to 65535.
    @Sendable
    static func parse(_ text: String) throws(SettingRefusal) -> UInt16 {
        guard let port = UInt16(text) else {
            throw .because("“\(text)” is no port; write a number from 1 to 65535, or 0 for any that is free")
        }
        return port
    }
}
