import Control
import FoundationEssentials

/// Something that happened on a side, as its control vocabulary has it.
package struct ScenarioEvent: Sendable, Equatable {
    package let side: ScenarioSide
    package let name: String
    /// Everything else that programs are told, but for the number and the time.
    package let fields: [String: ControlValue]
    /// The same in words.
    package let text: String

    /// An event of either vocabulary, by the values that its line has.
    package init?(_ side: ScenarioSide, _ values: [String: ControlValue]) {
        guard case .text(let name)? = values["event"] else { return nil }
        self.side = side
        self.name = name
        var fields = values
        for key in ["event", "at", "sequence", "text"] { fields[key] = nil }
        self.fields = fields
        if case .text(let text)? = values["text"] { self.text = text } else { text = name }
    }

    /// An event by its line; nil for a line that is none.
    package init?(_ side: ScenarioSide, parsing line: some Sequence<UInt8>) {
        guard let values = try? JSONDecoder().decode([String: ControlValue].self, from: Data(line)) else { return nil }
        self.init(side, values)
    }

    /// For the transcript: `watch connected {"connection":64}`.
    package var words: String {
        fields.isEmpty ? "\(side.rawValue) \(name)" : "\(side.rawValue) \(name) \(ControlValue.object(fields).json)"
    }
}
