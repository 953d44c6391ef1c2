import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

/// Makes a timeline of packets and events, in the order in which they come.
///
/// What it keeps is bounded: after `packetLimit` packets that are drawn, it counts those that follow.
package struct TimelineBuilder: Sendable {
    /// What is drawn of a capture.
    package struct Selection: Hashable, Sendable {
        /// From when on, in microseconds since the first packet.
        package var from: Int64?
        /// Until when.
        package var to: Int64?
        /// The one link that is drawn, from 1 on; nil for all.
        package var link: Int?
        /// The lanes that are drawn.
        package var lanes: [Timeline.Lane]
        /// How many packets are drawn at most.
        package var packetLimit: Int

        /// How many packets are drawn if nothing else is said: more make a page that a browser is slow with.
        package static let usualPacketLimit = 10_000

        /// Everything, up to a number of packets.
        package init(
            from: Int64? = nil,
            to: Int64? = nil,
            link: Int? = nil,
            lanes: [Timeline.Lane] = Timeline.Lane.allCases,
            packetLimit: Int = usualPacketLimit
        ) {
            self.from = from
            self.to = to
            self.link = link
            self.lanes = lanes
            self.packetLimit = packetLimit
        }
    }

    let selection: Selection
    private(set) var marks: [Timeline.Mark] = []
    private var notes: [String] = []
    var air = AirTimeline()
    private var links = LinkTable()
    private var transcript = PacketTranscript()
    /// When the first packet or event was, in microseconds since 1970.
    private var origin: Int64?
    /// A hundred years: what a damaged record says beyond that would not fit the arithmetic of a picture.
    private static let latestTime: Int64 = 3_155_760_000_000_000
    private var latest: Int64 = 0
    private var packetCount = 0
    private var drawnCount = 0
    private var leftOutCount = 0
    private var leftOutFrom: Int64 = 0
    private var drops: UInt32 = 0
    private var stepsBack = 0
    private var problemCount = 0

    /// A timeline without anything in it.
    package init(_ selection: Selection = Selection()) { self.selection = selection }

    /// How many links have begun so far.
    package var linkCount: Int { links.count }

    /// Whether everything that follows is behind the time that is drawn.
    package var isComplete: Bool { selection.to.map { latest > $0 } ?? false }

    // MARK: - What comes in

    /// Takes the next packet.
    package mutating func take(_ packet: CapturedPacket) {
        packetCount += 1
        let now = time(of: packet.microseconds)
        drops = max(drops, packet.drops)
        guard drawnCount < selection.packetLimit else {
            if selection.to.map({ now <= $0 }) ?? true { leftOutCount += 1 }
            if leftOutCount == 1 { leftOutFrom = now }
            return
        }
        if isDrawn(at: now) { drawnCount += 1 }
        dissect(packet, at: now)
    }

    /// Takes something that the watch did.
    /// - Parameters:
    ///   - microseconds: since 1970-01-01 00:00 UTC.
    ///   - name: the event's, such as `link`.
    ///   - text: what it says.
    package mutating func take(event name: String, _ text: String, at microseconds: Int64) {
        let now = time(of: microseconds)
        add(.watch, at: now, packet: 0, .none, link: nil, size: 0, kind: name, label: name, [text], isProblem: false)
    }

    /// Says something about the whole capture.
    package mutating func note(_ text: String) { notes.append(text) }

    /// The timeline of all that came.
    package func finish() -> Timeline {
        let first = selection.from ?? 0
        let last = min(selection.to ?? .max, max(latest, first))
        let end = leftOutCount > 0 ? leftOutFrom : last
        var notes = notes
        if packetCount == 0 { notes.append("The capture has no packet.") }
        if let link = selection.link, link > links.count {
            notes.append("There is no link \(link): the capture has \(links.count).")
        } else if packetCount > 0, marks.isEmpty {
            notes.append("Nothing is in what is drawn: the capture is \(Seconds.text(latest)) s long.")
        }
        if leftOutCount > 0 {
            notes.append(
                "\(leftOutCount) packets from \(Seconds.text(leftOutFrom)) s on were left out, since \(selection.packetLimit) are "
                    + "drawn: choose with --from and --to, or draw more with --limit."
            )
        }
        if drops > 0 { notes.append("\(drops) packets were lost while they were captured.") }
        if stepsBack > 0 { notes.append("The clock was set back \(stepsBack) times: what came then is drawn later.") }
        if problemCount > 0 { notes.append("\(problemCount) packets could not be decoded: they are drawn in red.") }
        notes += links.notes
        let lanes = Timeline.Lane.allCases.filter { lane in
            selection.lanes.contains(lane) && (lane != .watch || marks.contains { $0.lane == .watch })
        }
        return Timeline(
            lanes: lanes,
            marks: marks.sorted { $0.time < $1.time },
            spans: lanes.contains(.air) ? air.spans(from: first, to: end, link: selection.link) : [],
            start: first,
            end: max(end, first + 1),
            origin: origin,
            notes: notes
        )
    }

    private mutating func time(of microseconds: Int64) -> Int64 {
        let start = origin ?? microseconds
        origin = start
        let (difference, isTooLarge) = microseconds.subtractingReportingOverflow(start)
        let now = isTooLarge ? 0 : min(difference, Self.latestTime)
        // Live packets and events come in by two ways, so that one may be a little late.
        if now < latest - 1_000_000 { stepsBack += 1 }
        latest = max(latest, now)
        return max(0, now)
    }

    private func isDrawn(at now: Int64) -> Bool {
        now >= selection.from ?? .min && now <= selection.to ?? .max
    }

    // MARK: - HCI

    private mutating func dissect(_ packet: CapturedPacket, at now: Int64) {
        let text = transcript.text(of: packet.bytes, isFromHost: packet.isFromHost)
        var mark = HCIMark(bytes: text, size: packet.bytes.count)
        if packet.missingCount > 0 {
            mark.details.append("\(packet.missingCount) bytes of it are not in the capture")
        }
        do throws(ByteDecodingError) {
            try read(packet, at: now, into: &mark)
        } catch {
            mark.isProblem = true
            mark.details.append("cannot be decoded: \(error)")
        }
        mark.details.append(mark.bytes.count > 240 ? mark.bytes.prefix(240) + "…" : mark.bytes)
        let direction: Timeline.Direction = packet.isFromHost ? .sent : .received
        add(
            .hci,
            at: now,
            packet: packetCount,
            direction,
            link: mark.link,
            size: mark.size,
            kind: mark.kind,
            label: mark.label,
            mark.details,
            isProblem: mark.isProblem
        )
    }

    private struct HCIMark {
        let bytes: String
        let size: Int
        var link: Int?
        var kind = "unknown"
        var label = "?"
        var details: [String] = []
        var isProblem = false
    }

    private mutating func read(
        _ packet: CapturedPacket,
        at now: Int64,
        into mark: inout HCIMark
    ) throws(ByteDecodingError) {
        let body = packet.bytes.dropFirst()
        switch packet.bytes.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .command:
            mark.kind = "command"
            let command = try HCICommandPacket(body: body)
            mark.label = Details.words("\(command.opcode)")
            mark.details.append("Command: \(mark.label)")
            guard !PacketTranscript.commandsWithKeys.contains(command.opcode),
                let value = try Details.command(command.opcode, command.parameters)
            else { return }
            mark.details += Details.lines(of: value)
            mark.link = link(in: value)
            air.take(value, at: now)
        case .event:
            mark.kind = "event"
            try read(try HCIEvent(body: body), at: now, into: &mark)
        case .acl:
            mark.kind = "acl"
            let data = try ACLPacket(body: body)
            let link = links.link(of: data.handle, at: now, &air)
            mark.link = link
            mark.label = "ACL"
            let handle = "0x" + String(data.handle.rawValue, radix: 16)
            mark.details.append(
                "ACL data: \(data.data.count) bytes of connection \(handle), \(Details.words("\(data.boundary)").lowercased())"
            )
            dissect(data, of: packet, on: link, at: now)
        case .sco, .iso: mark.kind = "data"
        case nil: throw ByteDecodingError("h4.type", .invalidValue(UInt64(packet.bytes.first ?? 0)))
        }
    }

    private mutating func read(_ event: HCIEvent, at now: Int64, into mark: inout HCIMark) throws(ByteDecodingError) {
        let (name, content) = Details.enumeration(event)
        mark.label = Details.words(name)
        mark.details.append("Event: \(mark.label)")
        mark.details += Details.lines(of: content ?? ())
        switch event {
        case .commandComplete(let complete): mark.label = "Complete: \(Details.words("\(complete.opcode)"))"
        case .commandStatus(let status): mark.label = "Status: \(Details.words("\(status.opcode)"))"
        case .leConnectionComplete(let complete): begin(complete.outcome, at: now, &mark)
        case .leEnhancedConnectionComplete(let complete): begin(complete.outcome, at: now, &mark)
        case .leConnectionUpdateComplete(let update):
            mark.link = links.number(of: update.handle)
            if update.status == .success, let link = mark.link {
                air.linkChanged(link, interval: Milliseconds.text(update.interval), at: now, Details.lines(of: update))
            }
        case .disconnectionComplete(let end):
            mark.link = links.end(end.handle)
            if let link = mark.link { air.linkEnded(link, at: now, "\(end.reason)") }
        case .leAdvertisingReport(let reports):
            for report in reports.reports {
                heard(
                    "\(report.address)",
                    Details.words("\(report.type)"),
                    report.data,
                    report.rssiDBm,
                    at: now
                )
            }
        case .leExtendedAdvertisingReport(let reports):
            for report in reports.reports {
                let address = report.address.map { "\($0)" } ?? "an advertiser without address"
                heard(address, "Advertisement", report.data, report.rssiDBm, at: now)
            }
        case .leAdvertisingSetTerminated(let end): air.advertisingEnded(set: end.set, at: now)
        case .leScanTimeout: air.scanningEnded(at: now)
        case .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete,
            .readRemoteVersionInformationComplete, .hardwareError, .numberOfCompletedPackets, .dataBufferOverflow,
            .leReadRemoteFeaturesComplete, .leLongTermKeyRequest, .leRemoteConnectionParameterRequest,
            .leDataLengthChange, .leDirectedAdvertisingReport, .lePHYUpdateComplete, .leScanRequestReceived,
            .leChannelSelectionAlgorithm, .leSubrateChange, .unknown, .unknownLE:
            mark.link = content.flatMap { link(in: $0) }
        }
    }

    /// The link that a command or an event names.
    private func link(in value: Any) -> Int? {
        Mirror(reflecting: value).children.lazy.compactMap { $0.value as? ConnectionHandle }.first
            .flatMap { links.number(of: $0) }
    }

    private mutating func begin(_ outcome: HCIOutcome<LENewConnection>, at now: Int64, _ mark: inout HCIMark) {
        guard case .success(let connection) = outcome else { return air.connectingEnded(at: now) }
        let link = links.begin(connection.handle, peer: "\(connection.peer)")
        mark.link = link
        air.connectingEnded(at: now)
        // Legacy advertising ends with the connection, and no event says so.
        if connection.role == .peripheral { air.legacyAdvertisingEnded(at: now) }
        air.linkBegan(
            link,
            peer: "\(connection.peer)",
            interval: Milliseconds.text(connection.interval),
            at: now,
            Details.lines(of: connection)
        )
    }

    private mutating func heard(
        _ address: String,
        _ kind: String,
        _ data: ArraySlice<UInt8>,
        _ rssi: Int8?,
        at now: Int64
    ) {
        let name = AdvertisingNames.name(in: data)
        add(
            .air,
            at: now,
            packet: packetCount,
            .received,
            link: nil,
            size: data.count,
            kind: kind,
            label: name ?? address,
            ["\(kind) of \(address)\(rssi.map { ", \($0) dBm" } ?? "")"] + AdvertisingNames.lines(data),
            isProblem: false
        )
    }

    // MARK: - L2CAP and above

    private mutating func dissect(_ data: ACLPacket, of packet: CapturedPacket, on link: Int, at now: Int64) {
        for finding in links.receive(data, isFromHost: packet.isFromHost) {
            add(finding, on: link, isFromHost: packet.isFromHost, at: now)
        }
    }

    private mutating func add(_ finding: LinkFinding, on link: Int, isFromHost: Bool, at now: Int64) {
        add(
            finding.lane,
            at: now,
            packet: packetCount,
            isFromHost ? .sent : .received,
            link: link,
            size: finding.size,
            kind: finding.kind,
            label: finding.label,
            finding.details,
            isProblem: finding.isProblem
        )
    }

    private mutating func add(
        _ lane: Timeline.Lane,
        at now: Int64,
        packet: Int,
        _ direction: Timeline.Direction,
        link: Int?,
        size: Int,
        kind: String,
        label: String,
        _ details: [String],
        isProblem: Bool
    ) {
        guard isDrawn(at: now) else { return }
        if isProblem { problemCount += 1 }
        guard selection.lanes.contains(lane) else { return }
        if let wanted = selection.link, lane != .watch, lane != .air, link != wanted { return }
        marks.append(
            Timeline.Mark(
                lane: lane,
                time: now,
                packet: packet,
                direction: direction,
                link: link,
                size: size,
                kind: kind,
                label: String(label.prefix(60)),
                details: details.prefix(Details.lineLimit + 4).map { $0.count > 300 ? $0.prefix(300) + "…" : $0 },
                isProblem: isProblem
            )
        )
    }
}

/// What advertising data says, for a person.
enum AdvertisingNames {
    /// The name that is advertised, if one is.
    static func name(in data: ArraySlice<UInt8>) -> String? {
        for case .localName(let name, _) in structures(data) { return name }
        return nil
    }

    static func lines(_ data: ArraySlice<UInt8>) -> [String] {
        structures(data).flatMap { Details.lines(of: $0) }
    }

    private static func structures(_ data: ArraySlice<UInt8>) -> [ADStructure] {
        var structures: [ADStructure] = []
        var reader = ByteReader(data)
        while !reader.isEmpty, let length = try? reader.readUInt8("ad.length"), length > 0,
            let bytes = try? reader.readBytes(Int(length), "ad.data")
        {
            structures.append(ADStructure(type: ADType(rawValue: bytes.first ?? 0), data: bytes.dropFirst()))
        }
        return structures
    }
}

/// Times as people read them.
enum Seconds {
    /// Seconds with as many decimals as are not zero, three at least: `1.250`, `0.000125`.
    static func text(_ microseconds: Int64) -> String {
        let sign = microseconds < 0 ? "-" : ""
        let whole = microseconds.magnitude / 1_000_000
        var fraction = String(String(1_000_000 + microseconds.magnitude % 1_000_000).dropFirst())
        while fraction.count > 3, fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(sign)\(whole).\(fraction)"
    }
}

/// A span of the link layer as people say it.
enum Milliseconds {
    /// Milliseconds with the decimals that are not zero: `30 ms`, `7.5 ms`, `1021.875 ms`.
    static func text(_ time: some HCITime) -> String {
        let microseconds = time.duration / .microseconds(1)
        let whole = Int64(microseconds.rounded())
        var fraction = String(String(1000 + whole % 1000).dropFirst())
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(whole / 1000)" + (fraction.isEmpty ? "" : "." + fraction) + " ms"
    }
}
