import ArgumentParser
import Daemon
import PebbleProtocol
import Settings

// How the words of a command line become values. A word that is none is answered with what is wrong with it and what to
// write instead; ArgumentParser adds which option it was, and ends with status 64.

extension LogLevels {
    static func argument(over levels: LogLevels) -> @Sendable (String) throws -> LogLevels {
        { text in
            do {
                return try LogLevels(parsing: text, over: levels)
            } catch {
                throw ValidationError("\(error)")
            }
        }
    }
}

extension PebbleUUID {
    static func argument(_ text: String) throws -> PebbleUUID { try argumentValue(text, of: AdvertisingSettings.uuid) }
}

/// A loopback port.
func portArgument(_ text: String) throws -> UInt16 { try argumentValue(text, of: LoopbackPort.parse) }

/// The path of a file or a directory, which may be there or not.
@Sendable
func pathArgument(_ text: String) throws -> String { try argumentValue(text, of: SettingPath.parse) }

/// What is no setting, and is written as settings are.
private func argumentValue<Value>(_ text: String, of parse: (String) throws(SettingRefusal) -> Value) throws -> Value {
    do throws(SettingRefusal) {
        return try parse(text)
    } catch {
        switch error {
        case .notUnderstood: throw ValidationError("“\(text)” is not understood")
        case .because(let reason): throw ValidationError(reason)
        }
    }
}
