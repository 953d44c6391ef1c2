import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime
import Settings

extension ControlEventName {
    /// Every name, as people are told.
    static let list = allCases.map(\.rawValue).joined(separator: ", ")

    /// The event of a name that was typed.
    static func argument(_ text: String) throws -> ControlEventName {
        guard let name = ControlEventName(rawValue: text) else {
            throw ValidationError(
                "“\(text)” is no event\(NearestName.question(text, among: allCases.map(\.rawValue))); there are \(list)"
            )
        }
        return name
    }
}

extension ControlEventLine {
    /// For a person at a terminal: when, and what.
    var words: String {
        let milliseconds = Int64(at * 1000)
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return "\(milliseconds / 1000).\(fraction)  \(text.printable)"
    }
}

/// How long a command waits.
struct Patience {
    /// The longest that makes sense.
    static let longest = 86_400.0

    private let end: ContinuousClock.Instant?

    /// From now on; for ever without a number.
    init(seconds: Double?) { end = seconds.map { ContinuousClock().now + .seconds($0) } }

    /// What is left of it; nil for ever.
    var left: Duration? { end.map { max(.zero, $0 - ContinuousClock().now) } }

    /// How often a program that is not there yet is looked for.
    private static let lookInterval: useconds_t = 50_000

    /// Connects to a watch or a phone that may only just be starting: tries again until it is there or the time is over.
    func connect(
        _ connect: () throws(ProgramError) -> ControlClient
    ) throws(ProgramError) -> ControlClient {
        while true {
            do throws(ProgramError) {
                return try connect()
            } catch {
                guard error.status == .unavailable, left != .zero else { throw error }
            }
            usleep(Self.lookInterval)
        }
    }

    /// Refuses what is no time to wait.
    static func check(_ seconds: Double?) throws {
        if let seconds, !(0.1...longest).contains(seconds) {
            throw ValidationError("--for takes a number of seconds from 0.1 to \(Int(longest))")
        }
    }
}
