import ArgumentParser
import PebbleWatch

/// Which model the watch is.
struct PersonalityOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Which Pebble phones take it for: universal, which every companion accepts; core (Pebble 2 Duo), silk (Pebble 2) "
                + "or snowy (Pebble Time), with that model's services, name and version.",
            valueName: "model"
        )
    )
    var personality: Model = .universal

    /// The names of the personalities.
    enum Model: String, ExpressibleByArgument, CaseIterable {
        case universal, core, silk, snowy

        var personality: Personality {
            switch self {
            case .universal: .universal
            case .core: .core
            case .silk: .silk
            case .snowy: .snowy
            }
        }
    }
}
