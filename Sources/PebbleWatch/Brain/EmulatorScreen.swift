import ByteCoding
import PebbleProtocol

/// What the firmware's screen shows, by pictures that are taken over the screenshot endpoint.
///
/// A picture is taken when something has happened to the watch and the firmware has had time to draw, so that a firmware that nobody
/// talks to is left alone. It takes turns with the pictures of phones: the firmware refuses a second one while one is on its way, and
/// for a moment after the last byte of one. A picture that it refuses is asked for again.
///
/// While a picture is on its way nothing else is asked of the firmware. The picture fills all the room for what is to leave, and in
/// the emulator the task that would answer is also the one that empties that room: it waits 4 s for itself, and drops the answer.
struct EmulatorScreen: Sendable {
    /// How long the firmware is given to draw after something happened: then it is quiet.
    static let settling: Duration = .milliseconds(400)
    /// How long it may go on being disturbed before a picture is taken all the same.
    static let longestDelay: Duration = .seconds(3)
    /// How long an upload has to rest before a picture is taken: the phone would wait for both.
    static let uploadRest: Duration = .seconds(1)
    /// How long the firmware may take for a piece of an upload, or for the checksum of all, before pictures are taken again.
    static let uploadPatience: Duration = .seconds(30)
    /// How long the firmware may take to notice that a picture is sent: it refuses the next one until then.
    static let pause: Duration = .milliseconds(100)
    /// How often a picture is asked for again that the firmware does not give.
    static let attempts = 5
    /// How long a picture may rest on its way before others are served again.
    static let rest: Duration = .seconds(3)
    /// How long a picture may take to arrive.
    static let patience: Duration = .seconds(10)

    /// Who the picture that is on its way is for.
    private enum Taking: Sendable {
        case own(until: Duration, ScreenshotHeader?, pixels: [UInt8])
        /// A phone's, with the number of bytes that are missing; nil before its header.
        case phones(missing: Int?, until: Duration)
    }

    /// Whether somebody looks at it: pictures are taken only then.
    var isWanted = true
    /// The last picture that is whole; nil before the first.
    private(set) var frame: FrameBuffer?
    private var taking: Taking?
    /// When something first happened that the last picture does not show, and when last.
    private var changed: (first: Duration, last: Duration)?
    /// Until when no picture is taken because of an upload.
    private var uploadEnd: Duration = .zero
    /// When the picture that is on its way has rested for too long.
    private var restEnd: Duration?
    /// When the firmware takes the next picture.
    private var pauseEnd: Duration?
    /// How often the firmware has not given a picture since it last gave one.
    private var failures = 0

    /// Whether a picture is arriving, the watch's or a phone's. Nothing else is asked of the firmware then.
    var isBusy: Bool { taking != nil && restEnd != nil }

    /// Whether a phone's picture has to wait: one of the screen's owner is on its way, or one has just been sent.
    var isTaking: Bool {
        if case .own = taking { true } else { pauseEnd != nil }
    }

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        switch taking {
        case .own(let end, _, _), .phones(_, let end): min(end, restEnd ?? end)
        case nil: pauseEnd ?? ownTime
        }
    }

    /// When a picture of the screen's owner is due.
    private var ownTime: Duration? {
        changed.map { max(min($0.last + Self.settling, $0.first + Self.longestDelay), uploadEnd) }
    }

    /// Something happened that may have changed the screen.
    mutating func mayHaveChanged(at now: Duration) {
        if isWanted { changed = (changed?.first ?? now, now) }
    }

    /// A phone uploads something.
    /// - Parameter isAnswered: whether the firmware has answered all of it.
    mutating func uploadGoesOn(isAnswered: Bool, at now: Duration) {
        uploadEnd = now + (isAnswered ? Self.uploadRest : Self.uploadPatience)
    }

    /// A phone has asked for a picture.
    mutating func phoneAsked(at now: Duration) {
        guard taking == nil else { return }
        taking = .phones(missing: nil, until: now + Self.patience)
        restEnd = now + Self.rest
    }

    /// Lets time pass.
    /// - Returns: whether a picture is to be asked for.
    mutating func advance(to now: Duration) -> Bool {
        if let end = restEnd, end <= now { restEnd = nil }
        if let end = pauseEnd, end <= now { pauseEnd = nil }
        if let deadline = nextDeadline, taking != nil, deadline <= now { giveUp(at: now) }
        guard taking == nil, pauseEnd == nil, let time = ownTime, time <= now else { return false }
        changed = nil
        taking = .own(until: now + Self.patience, nil, pixels: [])
        restEnd = now + Self.rest
        return true
    }

    /// Takes a message of the endpoint.
    /// - Returns: false if it is a phone's.
    mutating func take(_ payload: [UInt8], of platform: AppPlatform?, at now: Duration) -> Bool {
        if restEnd != nil { restEnd = now + Self.rest }
        switch taking {
        case .own(let end, nil, _):
            guard let header = try? ScreenshotHeader(payload: payload), header.status == .ok else {
                giveUp(at: now)
                return true
            }
            finish(until: end, header, Array(header.pixels), of: platform, at: now)
            return true
        case .own(let end, let header?, let pixels):
            finish(until: end, header, pixels + payload, of: platform, at: now)
            return true
        case .phones(let missing, let end):
            let left = missing.map { $0 - payload.count } ?? Self.missing(after: payload)
            if left > 0 { taking = .phones(missing: left, until: end) } else { sent(at: now) }
            return false
        case nil: return false
        }
    }

    private mutating func finish(
        until end: Duration,
        _ header: ScreenshotHeader,
        _ pixels: [UInt8],
        of platform: AppPlatform?,
        at now: Duration
    ) {
        guard let platform, let blank = FrameBuffer(platform, header) else {
            taking = nil
            return
        }
        if pixels.count < blank.pixels.count {
            taking = .own(until: end, header, pixels: pixels)
        } else {
            frame = blank.showing(pixels)
            failures = 0
            sent(at: now)
        }
    }

    /// A picture has come to its end.
    private mutating func sent(at now: Duration) {
        taking = nil
        pauseEnd = now + Self.pause
    }

    /// The picture that was asked for does not come. One of the screen's owner is asked for again.
    private mutating func giveUp(at now: Duration) {
        let isOwn = if case .own = taking { true } else { false }
        taking = nil
        guard isOwn, failures < Self.attempts else { return }
        failures += 1
        mayHaveChanged(at: now)
    }

    /// How many bytes follow the first message of a picture.
    static func missing(after payload: [UInt8]) -> Int {
        guard let header = try? ScreenshotHeader(payload: payload), header.status == .ok else { return 0 }
        let count = header.width.multipliedReportingOverflow(by: header.height)
        guard !count.overflow else { return 0 }
        let bytes = header.format == .oneBit ? count.partialValue / 8 : count.partialValue
        return Int(bytes) - header.pixels.count
    }

    /// The firmware, or its session, is not what it was: no picture is on its way.
    mutating func reset() {
        taking = nil
        changed = nil
        restEnd = nil
        pauseEnd = nil
        failures = 0
        uploadEnd = .zero
    }
}

extension FrameBuffer {
    /// A screen of a kind of watch; nil if a picture is of another size or kind.
    fileprivate init?(_ platform: AppPlatform, _ header: ScreenshotHeader) {
        self.init(Display(of: platform))
        guard header.width == UInt32(clamping: display.width), header.height == UInt32(clamping: display.height),
            header.format == format
        else { return nil }
    }
}
