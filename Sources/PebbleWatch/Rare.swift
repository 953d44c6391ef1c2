/// A part that few watches have: one without it has eight bytes for it, where an optional has room for the whole part.
///
///     var mirror = Rare<FirmwareMirror>()
///
/// It is no property wrapper, since what such a property reads is the whole of its owner, which may be copied for that.
struct Rare<Part: Sendable>: Sendable {
    /// The part, or nothing.
    private var parts: [Part?] = []

    init() {}

    init(_ part: Part) { parts = [part] }

    /// Whether the part is there, at the cost of a comparison. To ask `part` costs the room for one, which every message would pay.
    var isThere: Bool { !parts.isEmpty }

    /// The part, which is used where it lies.
    var part: Part? {
        // They are inlined because what an accessor needs beyond four words is allocated, and a part that is not there is as large as one
        // that is.
        @inline(__always) _read {
            if parts.isEmpty { yield nil } else { yield parts[0] }
        }
        @inline(__always) _modify {
            if parts.isEmpty {
                var part: Part?
                defer { if part != nil { parts = [part] } }
                yield &part
            } else {
                defer { if parts[0] == nil { parts = [] } }
                yield &parts[0]
            }
        }
    }
}
