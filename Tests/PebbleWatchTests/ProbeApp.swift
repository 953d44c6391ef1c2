import PebbleProtocol

@testable import PebbleWatch

/// An app that records all of its events.
struct ProbeApp: WatchApp {
    enum Call: Equatable {
        case launched
        case received(AppMessageDictionary)
        case dropped(AppMessageResult)
        case sent(AppMessageDictionary)
        case failed(AppMessageDictionary, AppMessageResult)
        case pressed(WatchButton)
        case released(WatchButton)
        case ticked(WatchTime, TickUnits)
        case timer
        case connection(Bool)
    }

    var uuid = AppRig.app
    var name = "Probe"
    var flags: AppFlags = .allowsJavaScript
    var sdk = SDKVersion.current
    var inboxSize = 124
    var outboxSize = 636
    /// How long it sleeps in each call for a message.
    var sleep = Duration.zero
    var tickUnits: TickUnits = []
    /// A key in a received dictionary that makes it end.
    var exitKey: UInt32?
    var calls: [Call] = []

    mutating func didLaunch(_ context: inout AppContext) {
        calls.append(.launched)
        _ = context.open(inboxSize: inboxSize, outboxSize: outboxSize)
        context.subscribeToTicks(tickUnits)
    }

    mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
        calls.append(.received(message))
        context.sleep(for: sleep)
        if let exitKey, message.find(exitKey) != nil { context.exit() }
    }

    mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext) {
        calls.append(.dropped(reason))
    }

    mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        calls.append(.sent(message))
    }

    mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        calls.append(.failed(message, reason))
    }

    mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) { calls.append(.pressed(button)) }
    mutating func buttonReleased(_ button: WatchButton, _ context: inout AppContext) { calls.append(.released(button)) }

    mutating func tick(_ time: WatchTime, _ changed: TickUnits, _ context: inout AppContext) {
        calls.append(.ticked(time, changed))
    }

    mutating func timerFired(_ timer: AppTimer, _ context: inout AppContext) { calls.append(.timer) }

    mutating func connectionChanged(isConnected: Bool, _ context: inout AppContext) {
        calls.append(.connection(isConnected))
    }
}

extension AppRig {
    /// A watch that runs a probe.
    init(_ probe: ProbeApp) { self.init(defaultApp: probe) }

    /// What the probe was told, but for its launch and connections.
    var calls: [ProbeApp.Call] {
        ((system.apps.runningApp as? ProbeApp)?.calls ?? []).filter {
            switch $0 {
            case .launched, .connection: false
            default: true
            }
        }
    }

    /// Has the running app send a dictionary.
    mutating func sendFromApp(_ dictionary: AppMessageDictionary) {
        _ = system.withApps(at: now) { apps, _ in apps.send(dictionary) }
        drain()
    }
}

/// A dictionary of exactly so many bytes, 8 at least.
func dictionary(ofLength length: Int, filledWith byte: UInt8 = 0x5A) -> AppMessageDictionary {
    let value = AppMessageValue.bytes([UInt8](repeating: byte, count: length - 8))
    return (try? AppMessageDictionary([AppMessageTuple(key: 0, value: value)])) ?? .empty
}
