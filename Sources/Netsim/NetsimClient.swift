import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import LinuxBluetooth
import NIOCore
import Synchronization

/// A host's way to a controller of netsim's: packets of a socket become messages of a stream, and the other way round.
public struct NetsimClient: Sendable {
    /// How large a message may be. The longest packet of an LE controller is far shorter: what is between the two is left out like
    /// everything else that is no packet.
    private static let longestMessage = 4 << 20

    let service: NetsimAddress.Service
    let place: NetsimAddress.Place
    let name: String
    let version: String
    let report: HelperReport

    /// - Parameters:
    ///   - name: what netsim calls the device.
    ///   - version: of this program; netsim shows it.
    public init(
        _ service: NetsimAddress.Service,
        at place: NetsimAddress.Place,
        name: String,
        version: String,
        report: HelperReport
    ) {
        self.service = service
        self.place = place
        self.name = name
        self.version = version
        self.report = report
    }

    /// Carries packets between a socket and netsim, until either ends. An end that the socket's other side did not bring about is
    /// reported before the socket closes.
    /// - Returns: how the stream ended; nil if the socket's other side has closed it.
    public func run(over descriptor: Int32) async -> NetsimEnd? {
        let progress = Progress()
        do {
            let socket = try await PacketSocket.open(descriptor)
            return try await socket.executeThenClose { inbound, outbound in
                let end = await carry(inbound, outbound, progress)
                if let end { report.ended(end) }
                return end
            }
        } catch {
            // Only the socket is left that can fail.
            return nil
        }
    }

    private func carry(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ progress: Progress
    ) async -> NetsimEnd? {
        do {
            return try await withGRPCClient(transport: try transport()) { client in
                try await stream(client, inbound, outbound, progress)
            }
        } catch {
            return progress.hostIsGone ? nil : end(by: error, wasReady: progress.isReady)
        }
    }

    /// How many bytes of packets that were not read gRPC holds, at most. By itself it holds 8 MiB, which decoded as packets take ten
    /// times as much memory.
    private static let windowSize = 65_535

    private func transport() throws -> HTTP2ClientTransport.Posix {
        try .http2NIOPosix(
            target: .dns(host: place.host, port: Int(place.port)),
            transportSecurity: .plaintext,
            config: .defaults { config in
                // Packets leave at once.
                config.connection.flushCoalescing = nil
                config.http2.targetWindowSize = Self.windowSize
            }
        )
    }

    private func stream(
        _ client: GRPCClient<HTTP2ClientTransport.Posix>,
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ progress: Progress
    ) async throws -> NetsimEnd? {
        var options = CallOptions.defaults
        options.waitForReady = false
        options.maxResponseMessageBytes = Self.longestMessage
        switch service {
        case .netsim:
            let request = StreamingClientRequest<Netsim_Packet_PacketRequest> { writer in
                try await writer.write(.with { $0.initialInfo = chipInfo })
                try await pump(inbound, progress) { packet in
                    try await writer.write(.with { $0.hciPacket = .init(packet) })
                }
            }
            return try await Netsim_Packet_PacketStreamer.Client(wrapping: client)
                .streamPackets(request: request, options: options) { response in
                    for try await message in response.messages {
                        switch message.responseType {
                        case .hciPacket(let packet): try await forward(packet.message, to: outbound)
                        case .error(let text):
                            return NetsimEnd(.refused, "netsim at \(place) says: \(PlainText.line(text))")
                        case .packet(let bytes): report.skipped(HCIMessage(type: 0, body: Array(bytes)))
                        case nil: report.skipped(HCIMessage(type: 0, body: []))
                        }
                    }
                    return ending(progress)
                }
        case .emulator:
            let request = StreamingClientRequest<Android_Emulation_Bluetooth_HCIPacket> { writer in
                try await pump(inbound, progress) { packet in try await writer.write(.init(packet)) }
            }
            return try await Android_Emulation_Bluetooth_EmulatedBluetoothService.Client(wrapping: client)
                .registerHCIDevice(request: request, options: options) { response in
                    for try await packet in response.messages { try await forward(packet.message, to: outbound) }
                    return ending(progress)
                }
        }
    }

    /// What is known about the device that this is.
    private var chipInfo: Netsim_Packet_ChipInfo {
        .with {
            $0.name = name
            $0.chip = .with {
                $0.kind = .bluetooth
                $0.id = name
                $0.manufacturer = "Cairn"
                $0.productName = "Cairn"
            }
            $0.deviceInfo = .with {
                $0.name = name
                $0.kind = "CAIRN"
                $0.version = version
                $0.variant = "watch"
            }
        }
    }

    /// Carries the host's packets until the host is gone.
    private func pump(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ progress: Progress,
        _ send: (HCIMessage) async throws -> Void
    ) async throws {
        progress.becameReady()
        report.ready()
        var cutter = PacketCutter(from: .host)
        for try await bytes in inbound {
            var packets: [HCIMessage] = []
            cutter.take(bytes.readableBytesView) { packets.append($0) }
            for packet in packets { try await send(packet) }
        }
        if !Task.isCancelled { progress.hostLeft() }
    }

    private func forward(
        _ message: HCIMessage,
        to outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        guard let packet = message.packet(from: .controller) else { return report.skipped(message) }
        try await outbound.write(ByteBuffer(bytes: packet))
    }

    private func ending(_ progress: Progress) -> NetsimEnd? {
        progress.hostIsGone ? nil : NetsimEnd(.closed, "netsim at \(place) ended the stream")
    }

    /// What an error of gRPC means here.
    func end(by error: any Error, wasReady: Bool) -> NetsimEnd {
        guard let error = error as? RPCError else {
            return NetsimEnd(.lost, "the stream to netsim at \(place) broke: \(PlainText.line("\(error)"))")
        }
        let words = PlainText.line(error.message)
        switch error.code {
        case .unimplemented:
            return NetsimEnd(
                .unknownService,
                "what answers at \(place) has no service \(serviceName): it is another program, or another version"
            )
        case .unavailable where !wasReady:
            return NetsimEnd(.unreachable, "nothing that speaks gRPC answers at \(place): \(words)")
        case .unavailable, .cancelled, .aborted:
            return NetsimEnd(.lost, "the stream to netsim at \(place) broke: \(words)")
        case .resourceExhausted:
            return NetsimEnd(
                .notUnderstood,
                "netsim at \(place) sent a message that is too long: \(words)"
            )
        case .internalError, .invalidArgument, .dataLoss, .unknown:
            return NetsimEnd(.notUnderstood, "what answers at \(place) does not speak the protocol of netsim: \(words)")
        default:
            return NetsimEnd(.refused, "netsim at \(place) says: \(error.code): \(words)")
        }
    }

    private var serviceName: String {
        switch service {
        case .netsim: Netsim_Packet_PacketStreamer.descriptor.fullyQualifiedService
        case .emulator: Android_Emulation_Bluetooth_EmulatedBluetoothService.descriptor.fullyQualifiedService
        }
    }
}

/// How far a stream has come.
private final class Progress: Sendable {
    private let state = Mutex((isReady: false, hostIsGone: false))

    var isReady: Bool { state.withLock(\.isReady) }

    var hostIsGone: Bool { state.withLock(\.hostIsGone) }

    func becameReady() { state.withLock { $0.isReady = true } }

    func hostLeft() { state.withLock { $0.hostIsGone = true } }
}
