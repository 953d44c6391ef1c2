import Glibc

/// Why an adapter of this machine cannot be used.
public enum AdapterProblem: Error, Hashable, Sendable {
    /// This kernel has no Bluetooth, or has not loaded it.
    case noBluetooth
    /// There is no adapter at all, or none of the kind that was asked for.
    case noAdapter(AdapterReference)
    /// There are adapters, but not this one.
    case noSuchAdapter(AdapterReference, present: [String])
    /// It cannot do Bluetooth LE.
    case noLE(name: String)
    /// BlueZ's daemon has it switched on.
    case heldByDaemon(name: String, HCIUser)
    /// A program has it for itself: one of these, as far as this user may see.
    case heldExclusively(name: String, [HCIUser])
    /// The kernel is not done with setting it up, which may mean that it loads firmware.
    case beingSetUp(name: String)
    /// Its radio is turned off, in software or by a switch, and stays so.
    case radioOff(name: String, isHard: Bool)
    /// This process lacks CAP_NET_ADMIN. The action is what it wanted to do.
    case notPermitted(name: String?, action: String)
    /// The kernel refused something else.
    case failed(name: String?, action: String, SystemError)

    /// What a refusal to say anything about adapters means.
    init(asking error: SystemError) {
        switch error.code {
        case EAFNOSUPPORT, EPROTONOSUPPORT: self = .noBluetooth
        default: self = .failed(name: nil, action: "ask the kernel for its Bluetooth adapters", error)
        }
    }

    /// What a refusal to do something with an adapter means.
    init(_ error: SystemError, to action: String, name: String) {
        switch error.code {
        case EPERM, EACCES: self = .notPermitted(name: name, action: action)
        case ERFKILL: self = .radioOff(name: name, isHard: false)
        case EUSERS: self = .heldExclusively(name: name, [])
        case EBUSY: self = .beingSetUp(name: name)
        default: self = .failed(name: name, action: action, error)
        }
    }
}

extension AdapterProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noBluetooth: "this machine's kernel has no Bluetooth"
        case .noAdapter(.firstUSB): "there is no Bluetooth adapter on USB"
        case .noAdapter: "there is no Bluetooth adapter"
        case .noSuchAdapter(let reference, let present):
            "there is no adapter \(reference), but \(present.joined(separator: ", "))"
        case .noLE(let name): "\(name) has no Bluetooth LE"
        case .heldByDaemon(let name, let user): "\(name) is in use by \(user)"
        case .heldExclusively(let name, []): "\(name) is in use by a program that this user may not see"
        case .heldExclusively(let name, let users):
            "\(name) is in use by \(users.map(\.description).joined(separator: " or "))"
        case .beingSetUp(let name): "the kernel is still setting up \(name)"
        case .radioOff(let name, isHard: false): "the radio of \(name) is turned off (rfkill)"
        case .radioOff(let name, isHard: true): "the radio of \(name) is turned off by a switch or by the firmware"
        case .notPermitted(let name, let action):
            "this user may not \(action)\(name.map { " \($0)" } ?? ""): CAP_NET_ADMIN is missing"
        case .failed(let name, let action, let error): "cannot \(action)\(name.map { " \($0)" } ?? ""): \(error)"
        }
    }

    /// What a person can do about it.
    public var advice: String {
        switch self {
        case .noBluetooth:
            "load it as root with “modprobe bluetooth”; a container has that of its host; without any, see cairn demo"
        case .noAdapter:
            "plug one in; on a board, see that its Bluetooth is not disabled and that its firmware is installed "
                + "(dmesg | grep -i bluetooth); without hardware, see cairn demo and cairn air --vhci"
        case .noSuchAdapter:
            "name one of those, or “hci” for the first that is free; cairn adapters shows what each can do"
        case .noLE: "use another adapter: one that follows version 4.0 of Bluetooth or a later one"
        case .heldByDaemon(let name, _):
            "switch it off there with “bluetoothctl power off” (“bluetoothctl select” its address first, if there are "
                + "several), or end it with “systemctl stop bluetooth”; then \(name) is free"
        case .heldExclusively(_, []): "end that program, or run this as root to learn its name"
        case .heldExclusively(_, let users):
            "end it: kill \(users.map { String($0.process) }.joined(separator: " or "))"
        case .beingSetUp:
            "wait a moment; if it stays so, see dmesg | grep -i bluetooth: the firmware may be missing"
        case .radioOff(_, isHard: false): "turn it on with “rfkill unblock bluetooth”, as root"
        case .radioOff(_, isHard: true): "look for a wireless switch or key, or in the firmware's settings"
        case .notPermitted:
            "run it as root or as the service, or give the program the right once: "
                + "“setcap cap_net_admin,cap_net_raw+ep $(command -v cairn)”, as root"
        case .failed(_, _, let error) where error.code == ENODEV: "it was unplugged: plug it in again"
        case .failed(_, _, let error) where error.code == ETIMEDOUT || error.code == EIO:
            "the controller does not answer: unplug it and plug it in again, or restart the board"
        case .failed: "see what the kernel says about it: dmesg | grep -i bluetooth"
        }
    }

    /// Whether the reason is that this user is not allowed to.
    public var isPermission: Bool {
        if case .notPermitted = self { return true }
        return false
    }

    /// Whether it passes by itself within seconds.
    public var isPassing: Bool {
        if case .beingSetUp = self { return true }
        return false
    }
}
