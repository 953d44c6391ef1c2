/// What is drawn of a capture: marks in lanes, and spans on the air, over one axis of time.
///
/// All times are in microseconds since the first packet of the capture.
package struct Timeline: Hashable, Sendable {
    /// A layer, or who acts, from the air up to the watch.
    package enum Lane: String, Hashable, Sendable, CaseIterable {
        /// Advertising, scanning and links, and the reports of what a scanner heard.
        case air
        /// Every packet between host and controller.
        case hci
        /// Whole L2CAP PDUs.
        case l2cap
        /// ATT PDUs.
        case att
        /// Packets of PPoGATT.
        case ppogatt
        /// Messages of the Pebble Protocol.
        case pebble
        /// What a running watch says that it does, and why.
        case watch

        /// What stands in front of the lane.
        package var title: String {
            switch self {
            case .air: "Air"
            case .hci: "HCI"
            case .l2cap: "L2CAP"
            case .att: "ATT"
            case .ppogatt: "PPoGATT"
            case .pebble: "Pebble Protocol"
            case .watch: "The watch"
            }
        }
    }

    /// Who sent what a mark stands for.
    package enum Direction: Int, Hashable, Sendable {
        /// The host whose capture it is.
        case sent = 0
        /// Its peer, or its controller.
        case received = 1
        /// Nothing was sent.
        case none = 2
    }

    /// Something that happened at one time.
    package struct Mark: Hashable, Sendable {
        /// Where it is drawn.
        package var lane: Lane
        /// When it was there as a whole.
        package var time: Int64
        /// The number of the packet that ended it, from 1 on, as Wireshark counts; 0 if it was none.
        package var packet: Int
        /// Which way it went.
        package var direction: Direction
        /// The link, from 1 on in the order of their beginning; nil if it is about none.
        package var link: Int?
        /// Its length in octets.
        package var size: Int
        /// What kind it is, in the words of its layer, such as `event` or `Write Command`.
        package var kind: String
        /// What stands beside it where there is room.
        package var label: String
        /// What it says, a line each.
        package var details: [String]
        /// Whether something is wrong with it.
        package var isProblem: Bool
    }

    /// Something on the air that lasts.
    package struct Span: Hashable, Sendable {
        /// Which row of the lane: spans of one row never overlap.
        package var row: Int
        /// What lasts.
        package var kind: Kind
        /// The link, if it is one.
        package var link: Int?
        /// When it begins.
        package var start: Int64
        /// When it ends; the end of the picture if it went on.
        package var end: Int64
        /// What stands in it.
        package var label: String
        /// What it says, a line each.
        package var details: [String]

        /// What can last.
        package enum Kind: String, Hashable, Sendable {
            case advertising, scanning, link
        }
    }

    /// The lanes that are drawn, from above.
    package var lanes: [Lane]
    /// In the order of their times.
    package var marks: [Mark]
    /// In the order of their beginnings.
    package var spans: [Span]
    /// The first time that is drawn.
    package var start: Int64
    /// The last.
    package var end: Int64
    /// When the capture began, in microseconds since 1970-01-01 00:00 UTC; nil if it has no packet.
    package var origin: Int64?
    /// What a reader has to know: what was left out, and why.
    package var notes: [String]
}
