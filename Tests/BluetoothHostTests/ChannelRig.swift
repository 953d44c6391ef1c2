import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// A host with one connection, to whose peer it speaks in whole L2CAP frames.
struct ChannelRig {
    var rig: HostRig
    /// The part of a frame that has arrived so far.
    private var partial: [UInt8] = []

    static let handle: ConnectionHandle = 0x40
    /// What the host says of a link with packets of 27 octets: MTU 8192, MPS 1022 (38 packets), 32 credits.
    static let ownTerms = "0020 fe03 2000"

    /// A connection to an unknown peer.
    /// - Parameter bearers: how many enhanced ATT bearers the host takes.
    init(security: LinkSecurity? = nil, bonded: Bool = false, bearers: Int = 0) throws {
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        configuration.gatt.enhancedBearers = bearers
        configuration.gatt.opensEnhancedBearers = false
        var bonds: [Bond] = []
        if bonded || security != nil {
            configuration.security = SecurityManager.Configuration()
            bonds = [
                Bond(
                    identity: HostRig.peer,
                    keys: .secureConnections(LongTermKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)),
                    isAuthenticated: security?.isAuthenticated ?? false
                )
            ]
        }
        var script = ControllerScript.rich
        script.answers["0220"] = "00 fb00 08"
        rig = try HostRig.ready(script, configuration: configuration, bonds: bonds)
        rig.connect()
        guard security?.isEncrypted == true else { return }
        rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
        rig.answerCommands()
        rig.give(HostRig.event("08", "00 4000 01"))
        _ = rig.events()
    }

    /// Takes every frame that the host sends now, buffers given back, as channel and payload in hexadecimal.
    mutating func sent() -> [String] {
        var frames: [String] = []
        while true {
            let packets = rig.sent()
            if packets.isEmpty { return frames }
            for packet in packets where packet.hasPrefix("02") {
                let bytes = [UInt8](hexadecimal: packet) ?? []
                // Boundary flag 1 continues a frame.
                if bytes[2] & 0x10 == 0 { partial = [] }
                partial += bytes.dropFirst(5)
                if partial.count == 4 + Int(partial[0]) + Int(partial[1]) << 8 {
                    frames.append(partial.dropFirst(2).hexadecimal)
                    partial = []
                }
                rig.give(HostRig.completed("4000", "0100"))
            }
        }
    }

    /// Gives the host a signaling command.
    /// - Returns: the frames that it sends then.
    mutating func signal(_ text: String) -> [String] {
        rig.give(HostRig.frame("4000", channel: "0500", compact(text)))
        return sent()
    }

    /// Gives the host a K-frame, in packets of 200 octets.
    /// - Returns: the frames that it sends then.
    mutating func frame(_ channel: String, _ payload: [UInt8]) -> [String] {
        var frame: [UInt8] = []
        frame.appendLittleEndian(UInt16(payload.count))
        frame += ([UInt8](hexadecimal: channel) ?? []) + payload
        var isFirst = true
        var rest = frame[...]
        repeat {
            var packet: [UInt8] = [0x02, 0x40, isFirst ? 0x20 : 0x10]
            packet.appendLittleEndian(UInt16(rest.prefix(200).count))
            rig.host.receive((packet + rest.prefix(200))[...], at: rig.now)
            rest = rest.dropFirst(200)
            isFirst = false
        } while !rest.isEmpty
        return sent()
    }

    mutating func frame(_ channel: String, _ payload: String) -> [String] {
        frame(channel, [UInt8](hexadecimal: compact(payload)) ?? [])
    }

    /// What happened to channels since this was last asked.
    mutating func channelEvents() -> [ChannelEvent] { rig.events().channelEvents }

    /// Opens channel 0x0040 to SPSM 0x0080 from the peer's 0x0050, with an MTU and MPS of 512 and 100 credits or others.
    mutating func open(
        _ parameters: ChannelParameters = ChannelParameters(),
        terms: String = "0002 0002 6400",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Channel.ID {
        _ = try rig.host.channels.listen(
            ChannelListener(requirement: .open, parameters: parameters),
            on: SPSM(rawValue: 0x80)
        )
        let answer = signal("14 01 0a00 8000 5000 \(terms)")
        #expect(answer.count == 1, sourceLocation: sourceLocation)
        return try #require(channelEvents().opened.first, sourceLocation: sourceLocation).id
    }

    /// Writes a string of bytes to a stream; all of it has to fit.
    mutating func write(_ bytes: [UInt8], to id: Channel.ID) -> Int {
        rig.host.channels.write(bytes[...], to: id, at: rig.now)
    }

    /// Reads all that a stream has.
    mutating func read(_ id: Channel.ID, _ maximum: Int = .max) -> [UInt8] {
        var buffer: [UInt8] = []
        rig.host.channels.read(maximum, from: id, into: &buffer, at: rig.now)
        return buffer
    }

    /// Reads an SDU; nil if none is whole.
    mutating func readSDU(_ id: Channel.ID) -> [UInt8]? {
        var buffer: [UInt8] = []
        return rig.host.channels.readSDU(from: id, into: &buffer, at: rig.now) ? buffer : nil
    }
}

extension [LEHostEvent] {
    var channelEvents: [ChannelEvent] {
        compactMap { if case .channel(let event) = $0 { event } else { nil } }
    }
}

extension [ChannelEvent] {
    var opened: [Channel] { compactMap { if case .opened(let channel) = $0 { channel } else { nil } } }

    var closures: [ChannelClosure] { compactMap { if case .closed(_, let closure, _) = $0 { closure } else { nil } } }

    var unread: [ReceivedData] { compactMap { if case .closed(_, _, let unread) = $0 { unread } else { nil } } }

    var readable: Int { count { if case .readable = $0 { true } else { false } } }

    var writable: Int { count { if case .writable = $0 { true } else { false } } }

    var reconfigurations: [ReconfigurationResult] {
        compactMap { if case .reconfigured(_, let result) = $0 { result } else { nil } }
    }
}
