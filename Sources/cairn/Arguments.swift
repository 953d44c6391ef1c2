import ArgumentParser
import BluetoothHCI
import Daemon
import HCIRuntime
import LinuxBluetooth
import PebbleWatch

// How the words of a command line become values. A word that is none is answered with what is wrong with it and what to
// write instead; ArgumentParser adds which option it was, and ends with status 64.

extension TransportAddress {
    static func argument(_ text: String) throws -> TransportAddress {
        do {
            return try TransportAddress(parsing: text)
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

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

extension DeviceAddress {
    static func staticRandomArgument(_ text: String) throws -> DeviceAddress {
        guard let address = DeviceAddress(text) else {
            throw ValidationError(
                "“\(text)” is no address; write six pairs of hexadecimal digits, as in C0:11:22:33:44:55"
            )
        }
        guard address.isStaticRandom else {
            throw ValidationError("“\(text)” is no static random address: those begin with a pair from C0 to FF")
        }
        return address
    }
}

/// A loopback port.
func portArgument(_ text: String) throws -> UInt16 {
    guard let port = UInt16(text) else { throw ValidationError(notAPort(text)) }
    return port
}

/// What is said of a word that is no loopback port.
func notAPort(_ text: String) -> String {
    "“\(text)” is no port; write a number from 1 to 65535, or 0 for any that is free"
}

/// The path of a file or a directory, which may be there or not.
@Sendable
func pathArgument(_ text: String) throws -> String {
    guard !text.isEmpty else {
        throw ValidationError("a path is missing: nothing stands there; name one, or leave the option out")
    }
    return text
}

extension RemoteController.LossPolicy: ExpressibleByArgument {}

extension ControlAccess: ExpressibleByArgument {}
