/// A part that few watches have: one without it has eight bytes for it, where an optional has room for the whole part.
///
///     @Rare var mirror: FirmwareMirror?
///
/// It is used like the optional that it stands for, and a part that is there is used where it lies.
@propertyWrapper
struct Rare<Part: Sendable>: Sendable {
    /// The part, or nothing.
    private var parts: [Part?]

    /// Whether the part is there, at the cost of a comparison. To ask the optional costs the room for a part, which every message would
    /// pay.
    var isThere: Bool { !parts.isEmpty }

    init(wrappedValue: Part?) { parts = wrappedValue == nil ? [] : [wrappedValue] }

    // They are inlined because what an accessor needs beyond four words is allocated, and a part that is not there is as large as one
    // that is.
    var wrappedValue: Part? {
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
