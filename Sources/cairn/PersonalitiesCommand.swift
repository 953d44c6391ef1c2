import ArgumentParser
import FoundationEssentials
import PebbleWatch

/// `cairn personalities`
struct PersonalitiesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "personalities",
        abstract: "Show which Pebbles a watch can be, which apps each runs, and which companion apps work with it."
    )

    @Flag(help: "As JSON, for programs.")
    var json = false

    func run() throws {
        Console.print(try json ? Self.json : Self.text)
    }

    /// For a person at a terminal.
    static var text: String {
        let width = CompanionClient.allCases.map(\.rawValue.count).max() ?? 0
        return Personality.all.map { personality in
            let lines = CompanionClient.allCases.map { client in
                let support = personality.support(for: client)
                let name = client.rawValue + String(repeating: " ", count: width - client.rawValue.count)
                return "  \(name)  \(support.isPromised ? "works" : "does not work:") \(support.explanation)"
            }
            let names = ([personality.name] + personality.otherNames).joined(separator: ", ")
            let platform = personality.hardware.appPlatform?.rawValue ?? "unknown"
            return (["\(names): runs apps for \(platform)"] + lines).joined(separator: "\n")
        }
        .joined(separator: "\n\n")
    }

    private static var json: String {
        get throws {
            let entries = Personality.all.flatMap { personality in
                CompanionClient.allCases.map { Entry(personality, $0) }
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(entries), as: UTF8.self)
        }
    }

    /// What one personality promises one client.
    private struct Entry: Encodable {
        let personality: String
        /// The personality whose services and habits it has.
        let generation: String
        let client: String
        let works: Bool
        let explanation: String

        init(_ personality: Personality, _ client: CompanionClient) {
            let support = personality.support(for: client)
            self.personality = personality.name
            generation = personality.generation
            self.client = client.rawValue
            works = support.isPromised
            explanation = support.explanation
        }
    }
}
