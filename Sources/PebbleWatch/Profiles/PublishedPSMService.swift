import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import PebbleProtocol

/// Says which PSM a stream has now; 0 while it has none.
struct PublishedPSMService: GATTService {
    enum Value: String, CaseIterable { case psm = "PSM" }

    let stream: WatchStream
    let declaration: Service
    private(set) var spsm: SPSM?
    /// A watch that does not bond has promised that its database stays: there, a PSM of 0 says that no service listens.
    private let canHide: Bool
    /// Whether phones are to see the service, if that is to change.
    private var wantsShown: Bool?
    private var isChanged = false

    init(_ stream: WatchStream, _ configuration: WatchConfiguration) {
        self.stream = stream
        canHide = configuration.isBondable
        let permissions: AttributePermissions = configuration.linkSecurity == .required ? .encrypted : .open
        declaration = Service(stream.service, isPublished: configuration.streams.contains(stream)) {
            Characteristic(
                .uuid128(PebbleAttribute.publishedPSM),
                .read,
                of: Value.psm,
                permissions: permissions,
                keeping: .fixedLength(WatchStream.value(of: nil))
            )
        }
    }

    /// The stream can be opened at this PSM from now on; nil for not any more.
    mutating func publish(_ spsm: SPSM?) {
        self.spsm = spsm
        isChanged = true
        if canHide { wantsShown = spsm != nil }
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .psm: .value(WatchStream.value(of: spsm))
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    mutating func advance(_ output: inout Output) {
        if isChanged { output.set(.psm, WatchStream.value(of: spsm)) }
        isChanged = false
        if let isShown = wantsShown { output.show(isShown) }
        wantsShown = nil
    }
}
