import ByteCoding
import PebbleProtocol

/// Endpoint 0x000B: companions read and set the clock. Setting is not answered.
enum TimeService {
    static func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try TimeMessage(payload: message.payload) {
        case .getRequest:
            let seconds = context.clock.seconds(at: context.now)
            context.reply(TimeMessage.getResponse(seconds: seconds), on: session)
        case .setLocal(let seconds):
            context.clock.setLocal(seconds: seconds, at: context.now)
            context.events.append(.clockSet(context.clock))
        case .setUTC(let time):
            let zone = WatchClock.Zone(offsetMinutes: Int(time.offsetMinutes), name: time.zoneName)
            context.clock.setUTC(seconds: time.seconds, zone: zone, at: context.now)
            context.events.append(.clockSet(context.clock))
        case .getResponse, .setUTCRequest:
            // Only watches say these.
            context.log(.info, "session", "\(session): the phone sent a watch's time message")
        }
    }
}
