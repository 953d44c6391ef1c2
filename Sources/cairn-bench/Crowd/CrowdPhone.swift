import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import SeededRandomness

/// A phone of a crowd: it looks for one watch, and sends it a dictionary every second once it is told to.
struct CrowdPhone: HostOwner {
    /// How often it sends.
    static let period: Duration = .seconds(1)

    var host: CompanionPhone
    /// When it first was through with everything that companions ask first; nil while it is not.
    private(set) var metAt: Duration?
    /// How many connections failed, and how many of those that came up were lost before that.
    private(set) var failures = 0
    /// How many of them never had a first packet: what their initiator sent was not heard.
    private(set) var unestablished = 0
    /// How many dictionaries have come back.
    private(set) var echoes = 0
    /// How many were to be sent while there was no session to send them in.
    private(set) var misses = 0
    private var nextMessage: Duration?
    private let dictionary: AppMessageDictionary

    /// - Parameters:
    ///   - number: which one of the crowd it is; its address follows from that.
    ///   - watch: the only watch that it looks for.
    init(number: Int, watch: DeviceAddress) throws {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0000 + UInt64(number)),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600)
        )
        configuration.transport = .reversed
        configuration.pairing = .never
        configuration.watch = .address(watch)
        host = try CompanionPhone(
            configuration,
            randomness: RandomSource(state: UInt64(2 * number + 1), SplitMix64.draw)
        )
        dictionary = try AppMessageDictionary(try SampleDictionary.small())
    }

    /// Sends a dictionary at a time, and again each second.
    mutating func talk(from start: Duration) {
        nextMessage = start
        echoes = 0
        misses = 0
    }

    var nextDeadline: Duration? {
        guard let nextMessage else { return host.nextDeadline }
        return host.nextDeadline.map { min($0, nextMessage) } ?? nextMessage
    }

    mutating func advance(to now: Duration) {
        host.advance(to: now)
        if let due = nextMessage, due <= now {
            nextMessage = due + Self.period
            do { try host.sendAppMessage(dictionary, to: DemonstrationScript.echo, at: now) } catch { misses += 1 }
        }
        settle(at: now)
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .negotiated: metAt = metAt ?? now
            case .appMessageReceived(let push): if push.dictionary == dictionary { echoes += 1 }
            case .connectionFailed(_, let status): noteFailure(status)
            case .disconnected(let status): noteFailure(status)
            default: break
            }
        }
    }

    private mutating func noteFailure(_ status: HCIStatus) {
        guard metAt == nil else { return }
        failures += 1
        if status == .connectionFailedToBeEstablished { unestablished += 1 }
    }
}
