import FoundationEssentials
import Glibc
import NIOCore

/// `GET /metrics`: how the watches and this program are doing, for Prometheus.
///
/// Source: Prometheus, Exposition formats, text format 0.0.4.
struct Metrics {
    /// What the format is called.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private var text = ""

    /// What one watch says of itself when it is asked.
    struct Look: Sendable {
        let name: String
        let isUp: Bool
        let status: JSON?
        let traffic: [LinkTotals.Key: LinkTotals.Count]
        let latencies: AppMessageLatency
    }

    /// The page.
    static func page(of looks: [Look], _ counts: Counts.Values) -> String {
        var metrics = Metrics()
        metrics.addWatches(looks)
        metrics.addProgram(counts)
        return metrics.text
    }

    private mutating func addWatches(_ looks: [Look]) {
        family("cairn_up", "gauge", "Whether the watch answers.", looks.map { ([("watch", $0.name)], $0.isUp ? 1 : 0) })
        let statuses = looks.compactMap { look in look.status.map { (look.name, $0) } }
        family(
            "cairn_info",
            "gauge",
            "The watch's version and address.",
            statuses.map { name, status in
                let labels = [
                    ("watch", name), ("version", status["version"]?.text ?? ""),
                    ("address", status["address"]?.text ?? ""),
                ]
                return (labels, 1)
            }
        )
        gauge("cairn_ready", "Whether the watch's controller can be used.", statuses) {
            $0["isReady"] == .flag(true) ? 1 : 0
        }
        gauge("cairn_uptime_seconds", "How long the watch has run.", statuses) { $0["uptimeSeconds"]?.number }
        gauge("cairn_links", "Links to phones.", statuses) { Double($0["links"]?.elements.count ?? 0) }
        gauge("cairn_sessions", "Sessions of companions.", statuses) { Double($0["sessions"]?.elements.count ?? 0) }
        gauge("cairn_phones", "Phones that are remembered.", statuses) { Double($0["phones"]?.elements.count ?? 0) }
        gauge("cairn_battery_ratio", "The battery's charge.", statuses) {
            $0["battery"]?["percent"]?.number.map { $0 / 100 }
        }
        gauge("cairn_resident_memory_bytes", "The memory of the watch's process.", statuses) { status in
            status["pid"]?.number.flatMap { Self.residentMemory(of: "\(Int($0))") }
        }
        addEvents(statuses)
        addTraffic(looks)
        addLatencies(looks)
    }

    private mutating func addEvents(_ statuses: [(String, JSON)]) {
        func count(_ status: JSON, _ name: String) -> Double { status["events"]?["counts"]?[name]?.number ?? 0 }
        func counter(_ name: String, of event: String, _ help: String) {
            family(name, "counter", help, statuses.map { ([("watch", $0)], count($1, event)) })
        }
        counter("cairn_reconnections_total", of: "phone-back", "Phones that came back after their link had ended.")
        counter("cairn_pairings_refused_total", of: "pairing-refused", "Phones that wanted to pair, and might not.")
        counter("cairn_pairings_failed_total", of: "pairing-failed", "Pairings that failed.")
        let resets = [("controller", "controller-restarting"), ("watch", "restarting")]
        family(
            "cairn_resets_total",
            "counter",
            "Restarts of the controller, and of the watch by command or update.",
            statuses.flatMap { name, status in
                resets.map { ([("watch", name), ("of", $0)], count(status, $1)) }
            }
        )
        family(
            "cairn_events_total",
            "counter",
            "Events of the watch since it was started, by name.",
            statuses.flatMap { name, status in
                (status["events"]?["counts"]?.members ?? [:]).sorted { $0.key < $1.key }
                    .map { ([("watch", name), ("event", $0.key)], $0.value.number ?? 0) }
            }
        )
    }

    private mutating func addTraffic(_ looks: [Look]) {
        func samples(_ value: (LinkTotals.Count) -> Double) -> [([(String, String)], Double)] {
            looks.flatMap { look in
                look.traffic.sorted { $0.key < $1.key }.map { key, count in
                    ([("watch", look.name), ("layer", key.layer), ("direction", key.direction)], value(count))
                }
            }
        }
        family("cairn_link_packets_total", "counter", "PDUs of all links, by layer.", samples { $0.packets })
        family("cairn_link_bytes_total", "counter", "Bytes of those PDUs, without headers.", samples { $0.bytes })
    }

    private mutating func addLatencies(_ looks: [Look]) {
        let name = "cairn_app_message_seconds"
        head(name, "histogram", "From an AppMessage on its way to the other side's answer, as the watch sees them.")
        for look in looks {
            for direction in AppMessageLatency.Direction.allCases {
                let histogram = look.latencies.histograms[direction] ?? .init()
                let labels = [("watch", look.name), ("direction", direction.rawValue)]
                for (limit, count) in zip(AppMessageLatency.Histogram.limits, histogram.counts) {
                    sample(name + "_bucket", labels + [("le", Self.number(limit))], Double(count))
                }
                sample(name + "_bucket", labels + [("le", "+Inf")], Double(histogram.count))
                sample(name + "_sum", labels, histogram.sum)
                sample(name + "_count", labels, Double(histogram.count))
            }
        }
    }

    private mutating func addProgram(_ counts: Counts.Values) {
        family("cairn_web_info", "gauge", "The version of cairn-web.", [([("version", webVersion)], 1)])
        family(
            "cairn_web_requests_total",
            "counter",
            "Requests, by route and status.",
            counts.requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
                .map { ([("route", $0.key.route), ("status", "\($0.key.status)")], Double($0.value)) }
        )
        family(
            "cairn_web_streams",
            "gauge",
            "Streams that are open.",
            counts.streams.sorted { $0.key < $1.key }.map { ([("kind", $0.key)], Double($0.value)) }
        )
        family(
            "cairn_web_overruns_total",
            "counter",
            "Readers that were cut off as too slow.",
            [([], Double(counts.overruns))]
        )
        family(
            "cairn_web_capture_lost_packets_total",
            "counter",
            "Packets that captures have lost, because a client read too slowly.",
            [([], Double(counts.lostPackets))]
        )
        if let memory = Self.residentMemory(of: "self") {
            family("process_resident_memory_bytes", "gauge", "The memory of cairn-web.", [([], memory)])
        }
    }

    private mutating func gauge(
        _ name: String,
        _ help: String,
        _ statuses: [(String, JSON)],
        _ value: (JSON) -> Double?
    ) {
        family(
            name,
            "gauge",
            help,
            statuses.compactMap { watch, status in value(status).map { ([("watch", watch)], $0) } }
        )
    }

    private mutating func family(
        _ name: String,
        _ type: String,
        _ help: String,
        _ samples: [([(String, String)], Double)]
    ) {
        guard !samples.isEmpty else { return }
        head(name, type, help)
        for (labels, value) in samples { sample(name, labels, value) }
    }

    private mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
        let labels = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        text += name + (labels.isEmpty ? "" : "{\(labels)}") + " \(Self.number(value))\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    /// The resident set of a process of this machine, in bytes; nil if it cannot be seen.
    private static func residentMemory(of process: String) -> Double? {
        guard let statistics = Resources.contents(of: "/proc/\(process)/statm") else { return nil }
        let words = String(buffer: statistics).split(separator: " ")
        guard words.count > 1, let pages = Double(words[1]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }
}

/// What has gone over all links of a watch, also over those that have ended: a counter does not go back.
struct LinkTotals: Sendable {
    struct Key: Hashable, Comparable, Sendable {
        let layer: String
        let direction: String

        static func < (one: Key, other: Key) -> Bool { (one.layer, one.direction) < (other.layer, other.direction) }
    }

    struct Count: Hashable, Sendable {
        var packets = 0.0
        var bytes = 0.0
    }

    /// Of links that have ended.
    private var ended: [Key: Count] = [:]
    /// Of those that were there at the last look, by the controller's handle.
    private var present: [Int: [Key: Count]] = [:]

    /// Takes the answer to `links`.
    mutating func take(_ links: [JSON]) {
        var seen: [Int: [Key: Count]] = [:]
        for link in links {
            guard let handle = link["connection"]?.number else { continue }
            for traffic in link["traffic"]?.elements ?? [] {
                for direction in ["received", "sent"] {
                    let key = Key(layer: traffic["layer"]?.text ?? "", direction: direction)
                    seen[Int(handle), default: [:]][key] = Count(
                        packets: traffic[direction + "Packets"]?.number ?? 0,
                        bytes: traffic[direction + "Bytes"]?.number ?? 0
                    )
                }
            }
        }
        for (handle, counts) in present {
            for (key, count) in counts {
                // The same handle with less is another link.
                if let now = seen[handle]?[key], now.packets >= count.packets { continue }
                ended[key, default: Count()].packets += count.packets
                ended[key, default: Count()].bytes += count.bytes
            }
        }
        present = seen
    }

    /// Of all links.
    var totals: [Key: Count] {
        present.values.reduce(into: ended) { totals, counts in
            for (key, count) in counts {
                totals[key, default: Count()].packets += count.packets
                totals[key, default: Count()].bytes += count.bytes
            }
        }
    }
}
