/// Which end of the transport a ``PPoGATTLink`` is, and by which rules it plays.
public struct PPoGATTConfiguration: Equatable, Sendable {
    /// Who hosts the GATT service, which decides how packets travel and who begins.
    public enum Carrier: Equatable, Sendable {
        /// The phone hosts it: the watch writes, the phone notifies. The watch begins.
        case forward
        /// The watch of Pebble 2 hosts it. The watch begins.
        case reversedV1
        /// The watch of Core Devices hosts it. The phone begins.
        case reversedV2
    }

    /// The two ends.
    package enum Side: Equatable, Sendable {
        /// A watch, which tells its serial number.
        case watch(serialNumber: String)
        /// A phone.
        case phone
    }

    /// How the packets travel.
    package var carrier: Carrier
    /// Which end this is.
    package var side: Side
    /// Timers, limits and habits.
    package var rules: PPoGATTRules
    /// The largest ATT MTU that this side will ever agree to; the watch's receive window follows from it.
    package var maximumATTMTU: Int
    /// Recovery firmware accepts the Pebble app only.
    package var isRecoveryFirmware: Bool
    /// How many bytes of the stream may wait for acknowledgement or for being sent.
    package var sendBufferCapacity: Int

    /// Two of the largest AppMessages fit.
    package static let defaultSendBufferCapacity = 16 * 1024 + 512
    /// What watches of Core Devices agree to.
    public static let pebbleOSMaximumATTMTU = 256
    /// What phones ask for.
    package static let phoneMaximumATTMTU = 339

    /// The watch's end.
    public static func watch(
        _ carrier: Carrier,
        serialNumber: String,
        maximumATTMTU: Int = pebbleOSMaximumATTMTU,
        rules: PPoGATTRules = .pebbleOS
    ) -> PPoGATTConfiguration {
        PPoGATTConfiguration(
            carrier: carrier,
            side: .watch(serialNumber: serialNumber),
            rules: rules,
            maximumATTMTU: maximumATTMTU,
            isRecoveryFirmware: false,
            sendBufferCapacity: defaultSendBufferCapacity
        )
    }

    /// The phone's end.
    public static func phone(_ carrier: Carrier, rules: PPoGATTRules = .companion) -> PPoGATTConfiguration {
        PPoGATTConfiguration(
            carrier: carrier,
            side: .phone,
            rules: rules,
            maximumATTMTU: phoneMaximumATTMTU,
            isRecoveryFirmware: false,
            sendBufferCapacity: defaultSendBufferCapacity
        )
    }

    var isWatch: Bool { side != .phone }

    /// Whether this side sends the first Reset Request.
    var beginsReset: Bool { isWatch == (carrier != .reversedV2) }

    /// What this side offers in its Reset Complete.
    func offeredWindows(version: PPoGATTVersion, attMTU: Int) -> PPoGATTWindows {
        guard version >= .v1 else { return .version0 }
        switch rules.windows {
        case .fixed(let windows): return windows
        case .watch:
            let packets = PPoGATTRules.receiveBufferLength / max(1, maximumATTMTU - ATTOverhead.header)
            let receive = UInt8(clamping: min(packets, Int(PPoGATTWindows.maximum)))
            // Tiny packets need many on their way; otherwise more than four would only fill the radio's memory.
            let isTiny = ATTOverhead.payloadLength(attMTU: attMTU) < PPoGATTRules.tinyPayloadLength
            return PPoGATTWindows(receive: receive, transmit: isTiny ? PPoGATTWindows.maximum : 4)
        }
    }
}

/// What GATT and PPoGATT take of an ATT MTU.
enum ATTOverhead {
    /// Opcode and handle of a notification or a write command.
    static let header = 3
    /// The smallest MTU on LE (Core 5.4, Vol 3, Part F, 3.2.8).
    static let minimumMTU = 23
    /// The longest value that an attribute can have (Core 5.4, Vol 3, Part F, 3.2.9): a larger MTU does not make
    /// packets any longer.
    static let maximumValueLength = 512

    /// How much of the stream fits into one packet.
    static func payloadLength(attMTU: Int) -> Int {
        min(attMTU - header, maximumValueLength) - PPoGATTPacket.headerLength
    }
}

/// The timers, limits and habits in which generations of watches, and phones, differ.
public struct PPoGATTRules: Equatable, Sendable {
    /// Time-outs are counted in ticks of one regular timer; zero means that they are exact.
    package var tick: Duration
    /// From the tick before to giving up a Reset Complete. Armed between ticks, it lasts up to one tick less.
    package var resetCompleteTimeout: Duration
    /// From the tick before to giving up an acknowledgement. Armed between ticks, it lasts up to one tick less.
    package var acknowledgementTimeout: Duration
    /// So many acknowledgement time-outs in a row break the session; those before send again.
    package var acknowledgementTimeoutLimit: Int
    /// So many Reset Requests in a row; the next attempt disconnects.
    package var resetRequestLimit: Int
    /// So many disconnections in a row; the next attempt goes silent ("stalled"). Nil for no limit.
    package var disconnectionLimit: Int?
    /// How often a meta value is read before giving up.
    package var metaReadLimit: Int
    /// Between two readings of a meta value.
    package var metaReadRetryDelay: Duration
    /// What is offered in a Reset Complete.
    package var windows: Windows
    /// When data are acknowledged, from version 1 on.
    package var acknowledgement: Acknowledgement
    /// Whether data that come again or too early are answered with the last acknowledgement. Watches never do:
    /// libpebble3 would send its whole window again.
    package var repeatsAcknowledgement: Bool
    /// Whether an acknowledgement of something that was never sent breaks the session.
    package var distrustsUnknownAcknowledgements: Bool
    /// What follows when an open session is broken or reset.
    package var brokenSession: BrokenSession

    /// What is offered in a Reset Complete.
    package enum Windows: Equatable, Sendable {
        /// As many maximal packets as a watch has memory for, and four to send.
        case watch
        /// Always these.
        case fixed(PPoGATTWindows)
    }

    /// When data are acknowledged.
    package enum Acknowledgement: Equatable, Sendable {
        /// Each packet at once.
        case immediate
        /// When half the window is filled, or so long after the first unacknowledged packet.
        case coalesced(delay: Duration)
    }

    /// What follows when an open session is broken or reset.
    package enum BrokenSession: Equatable, Sendable {
        /// Both sides reset, and a new session begins.
        case reset
        /// The link is given up, without a reset. Kinder to today's phones: to libpebble3 a reset within a session is
        /// an error, and Gadgetbridge loses count.
        case disconnect
    }

    /// The receive window is what fits here of the largest packets.
    static let receiveBufferLength = 4500
    /// Payloads below this get the largest transmit window.
    static let tinyPayloadLength = 23

    /// Watches of Core Devices.
    public static let pebbleOS = PPoGATTRules(
        tick: .seconds(2),
        resetCompleteTimeout: .seconds(6),
        acknowledgementTimeout: .seconds(6),
        acknowledgementTimeoutLimit: 2,
        resetRequestLimit: 4,
        disconnectionLimit: 2,
        metaReadLimit: 3,
        metaReadRetryDelay: .milliseconds(500),
        windows: .watch,
        acknowledgement: .coalesced(delay: .milliseconds(200)),
        repeatsAcknowledgement: false,
        distrustsUnknownAcknowledgements: true,
        brokenSession: .reset
    )

    /// Watches of Pebble Technology.
    public static let originalFirmware: PPoGATTRules = {
        var rules = pebbleOS
        rules.resetRequestLimit = 9
        rules.metaReadLimit = 1
        return rules
    }()

    /// A phone, with the timers, windows and habits of libpebble3.
    public static let companion = PPoGATTRules(
        tick: .zero,
        resetCompleteTimeout: .seconds(12),
        acknowledgementTimeout: .seconds(10),
        acknowledgementTimeoutLimit: 3,
        resetRequestLimit: 1,
        disconnectionLimit: nil,
        metaReadLimit: 1,
        metaReadRetryDelay: .zero,
        windows: .fixed(PPoGATTWindows(receive: 25, transmit: 25)),
        acknowledgement: .immediate,
        repeatsAcknowledgement: true,
        distrustsUnknownAcknowledgements: false,
        brokenSession: .disconnect
    )

    /// When a time-out that is armed now ends.
    func deadline(after timeout: Duration, from now: Duration) -> Duration {
        guard tick > .zero else { return now + timeout }
        return Duration(attoseconds: now.attoseconds - now.attoseconds % tick.attoseconds) + timeout
    }
}
