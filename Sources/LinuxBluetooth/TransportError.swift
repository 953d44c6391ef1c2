import Glibc

/// Why a controller could not be reached.
public struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What stood in the way.
    public enum Cause: Error, Hashable, Sendable {
        /// No address is known for the host's name.
        case unknownHost(NameResolutionError)
        /// Nothing answered in the time allowed.
        case noAnswer
        /// The kernel refused to connect or to open the device.
        case refused(SystemError)
        /// The path is something else than a serial port.
        case notASerialPort
        /// Another program holds the serial port.
        case held
        /// The serial port does not know this speed or has no hardware flow control.
        case unsupportedSettings(SystemError?)
        /// The adapter cannot be used.
        case adapter(AdapterProblem)
        /// Netsim does not say where it is.
        case undiscovered(NetsimFile.Problem)
        /// Netsim gives no controller.
        case netsim(NetsimEnd)
    }

    /// Which controller.
    public let address: TransportAddress
    /// What stood in the way.
    public let cause: Cause

    public var description: String {
        switch cause {
        case .unknownHost(let error): "cannot find the host of the controller at \(address): \(error)"
        case .noAnswer: "the controller at \(address) does not answer"
        case .refused(let error): "cannot reach the controller at \(address): \(error)"
        case .notASerialPort: "cannot use \(address): it is not a serial port"
        case .held: "cannot use \(address): another program holds the serial port"
        case .unsupportedSettings(let error?): "cannot set up the serial port of \(address): \(error)"
        case .unsupportedSettings(nil):
            "the serial port of \(address) does not take that speed with that flow control"
        case .adapter(let problem): "cannot use the controller \(address): \(problem)"
        case .undiscovered(let problem): "cannot find the controller at \(address): \(problem)"
        case .netsim(let end): "cannot use the controller at \(address): \(end)"
        }
    }

    /// What a person can do about it.
    public var advice: String {
        switch (cause, address) {
        case (.unknownHost, _):
            "check the spelling, or write the host's numeric address"
        case (.noAnswer, _):
            "check that the host is up and that no firewall drops the connection"
        case (.refused(let error), .tcp) where error.code == ECONNREFUSED:
            "nothing listens there: start the controller first, and check the port"
        case (.refused(let error), .unix) where error.code == ECONNREFUSED:
            "the socket is there but nobody listens on it: start the controller again"
        case (.refused(let error), _) where error.code == ENOENT || error.code == ENXIO || error.code == ENODEV:
            "there is no such path: check that the controller is plugged in or started, and the spelling"
        case (.refused(let error), .serial) where error.code == EACCES || error.code == EPERM:
            "this user may not open it: join the device's group (usually dialout) and log in again"
        case (.refused(let error), _) where error.code == EACCES || error.code == EPERM:
            "this user may not open it: check the permissions of the path"
        case (.held, _):
            "close the program that uses it (fuser and lsof name it); a getty or btattach may be on it"
        case (.unsupportedSettings, _), (.notASerialPort, _):
            "check that the path names the controller's port, and the baud rate in the controller's documentation"
        case (.refused, _):
            "check that the controller is there and runs"
        case (.adapter(let problem), _):
            problem.advice
        case (.undiscovered(let problem), _):
            problem.advice
        case (.netsim(let end), _):
            end.advice
        }
    }

    /// Whether the reason is that this user is not allowed to.
    public var isPermission: Bool {
        switch cause {
        case .refused(let error): error.code == EACCES || error.code == EPERM
        case .adapter(let problem): problem.isPermission
        default: false
        }
    }
}

/// How the connection to a controller, or to a host that uses ours, came to its end.
public enum ConnectionLoss: Error, Hashable, Sendable, CustomStringConvertible {
    /// The other side closed it; this many bytes of a packet that never became whole had arrived.
    case closed(unfinishedPacketBytes: Int)
    /// The kernel reported an error.
    case failed(SystemError)
    /// The other side has not read for so long that what waits for it no longer fits its queue.
    case stalled(waitingBytes: Int)
    /// This process has not read for so long that the kernel has dropped packets.
    case overrun(packets: Int)
    /// The stream to netsim ended.
    case netsim(NetsimEnd)

    /// Whether controller and connection are as good as ever, and it was this process that did not keep up.
    public var isOwnFault: Bool {
        if case .overrun = self { return true }
        return false
    }

    public var description: String {
        switch self {
        case .closed(0): "the other side closed the connection"
        case .closed(let count):
            "the other side closed the connection in the middle of a packet, of which \(count) bytes had come"
        case .failed(let error) where error.code == EIO: "the line was hung up"
        case .failed(let error) where error.code == EPIPE || error.code == ENODEV: "it was unplugged"
        case .failed(let error) where error.code == ENETDOWN: "it was switched off"
        case .failed(let error): "\(error)"
        case .stalled(let count): "it does not read: \(count) bytes are waiting for it"
        case .overrun(let count):
            "the kernel has dropped \(count) packets, because this process was held up for too long to read them"
        case .netsim(let end): "\(end)"
        }
    }
}
