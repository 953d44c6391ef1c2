import ByteCoding
import PebbleProtocol

/// Endpoint 0x000B: companions read and set the clock. Setting is not answered. A phone's own Current Time Service sets it
/// the same way.
struct TimeService: EndpointService {
    static var endpoint: Endpoint { .time }

    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try TimeMessage(payload: message.payload) {
        case .getRequest:
            let seconds = context.clock.seconds(at: context.now)
            context.reply(TimeMessage.getResponse(seconds: seconds), on: session)
        case .setLocal(let seconds):
            Self.set(seconds, zone: nil, at: context.now, in: &context)
        case .setUTC(let time):
            let zone = WatchClock.Zone(offsetMinutes: Int(time.offsetMinutes), name: time.zoneName)
            Self.set(time.seconds, zone: zone, at: context.now, in: &context)
        case .getResponse, .setUTCRequest:
            // Only watches say these.
            context.log(.info, .session, "\(session): the phone sent a watch's time message")
        }
    }

    /// The phone's clock on the wall shows so many seconds since 1970, or did at that moment.
    /// - Parameter offsetMinutes: how much that is ahead of UTC; nil if the phone does not say, and then it is as before.
    static func setLocal(
        _ seconds: UInt32,
        offsetMinutes: Int?,
        at moment: Duration,
        in context: inout ServiceContext
    ) {
        let known = context.clock.zone
        guard let offset = offsetMinutes ?? known?.offsetMinutes else {
            return set(seconds, zone: nil, at: moment, in: &context)
        }
        let zone = known?.offsetMinutes == offset ? known : WatchClock.Zone(offsetMinutes: offset)
        set(UInt32(clamping: Int64(seconds) - Int64(offset) * 60), zone: zone, at: moment, in: &context)
    }

    /// A person sets the clock: UTC with a zone, local time without one.
    static func set(_ seconds: UInt32, offsetMinutes: Int?, zone name: String?, in context: inout ServiceContext) {
        var zone = offsetMinutes.map { WatchClock.Zone(offsetMinutes: $0) }
        if let name {
            let offset = offsetMinutes ?? context.clock.zone?.offsetMinutes ?? 0
            zone = WatchClock.Zone(offsetMinutes: offset, name: name)
        }
        set(seconds, zone: zone, at: context.now, in: &context)
    }

    /// - Parameter seconds: UTC with a zone, local time without one.
    private static func set(
        _ seconds: UInt32,
        zone: WatchClock.Zone?,
        at moment: Duration,
        in context: inout ServiceContext
    ) {
        if let zone {
            context.clock.setUTC(seconds: seconds, zone: zone, at: moment)
        } else {
            context.clock.setLocal(seconds: seconds, at: moment)
        }
        context.events.append(.clockSet(context.clock))
    }
}
