import PebbleProtocol

/// What a person, or an app, can do with the watch's services.
public enum ServiceCommand: Sendable, Equatable {
    /// Asks the phone's player for something.
    case music(MusicMessage.Command)
    /// Takes the call that rings.
    case answerCall
    /// Refuses the call that rings, or ends the one that goes on.
    case endCall
    /// Does one of the actions of a notification, pin or reminder; `text` is what the user says to it, if it asks.
    case act(on: PebbleUUID, action: UInt8, text: String?)
    /// Changes a setting on the watch: a key and a value of the settings database.
    case set(String, to: [UInt8])
    /// Logs items for an app; the time of the description is the watch's. ``ServiceEvent/dataLogged(_:byteCount:)`` tells when
    /// they are safe.
    case log([UInt8], as: DataLoggingMessage.Session)
    /// Ends an app's logging under a tag.
    case finishLogging(LoggingSessionID)
    /// Restarts the watch.
    case restart(RestartCause)
}

extension WatchSystem {
    /// Carries out a command for the services.
    mutating func perform(_ command: ServiceCommand, at now: Duration) throws(WatchCommandError) {
        let isDone: Bool?
        let failure: WatchCommandError
        switch command {
        case .music(let key):
            failure = .notConnected
            isDone = withServices(at: now) { $0.send(key, in: &$1) }
        case .answerCall, .endCall:
            failure = .noCall
            isDone = withServices(at: now) { $0.answerCall(command == .answerCall, in: &$1) }
        case .act(let item, let action, let text):
            failure = .noSuchAction
            isDone = withServices(at: now) { $0.perform(action, of: item, text: text, in: &$1) }
        case .set(let key, let value):
            failure = .noSuchSetting
            isDone = withServices(at: now) { $0.changeSetting(Array(key.utf8), to: value, in: &$1) }
        case .log(let items, var description):
            failure = .noRoomForData
            description.timestamp = clock.seconds(at: now)
            isDone = withServices(at: now) { $0.log(items, as: description, in: &$1) }
        case .finishLogging(let id):
            failure = .noRoomForData
            isDone = withServices(at: now) {
                $0.finishLogging(id, in: &$1)
                return true
            }
        case .restart(let cause):
            return handle(at: now) { _, context in context.restart = cause }
        }
        guard isDone == true else { throw failure }
    }
}
