import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import Glibc
import LinuxBluetooth
import NIOCore

/// A netsim whose radio is Cairn's air: each stream becomes a host at the air's socket, where it finds a controller.
public struct NetsimServer: Sendable {
    /// How many streams one connection may have.
    private static let streamsPerConnection = 32
    /// How large a request may be, in bytes: a packet, or what is known about a device.
    private static let longestRequest = 64 * 1024

    let port: UInt16
    let airPath: String
    /// Is told what a person may want to know.
    let log: @Sendable (String) -> Void

    /// - Parameters:
    ///   - port: the one that the listening socket is bound to.
    ///   - airPath: the socket where the air gives controllers.
    public init(port: UInt16, airPath: String, log: @escaping @Sendable (String) -> Void) {
        self.port = port
        self.airPath = airPath
        self.log = log
    }

    /// Serves with a socket that listens, until the task is cancelled.
    public func run(listener: Int32) async throws {
        let transport = HTTP2ServerTransport.Posix(
            listeningSocketDescriptor: Int(listener),
            transportSecurity: .plaintext,
            config: .defaults { config in
                config.rpc.maxRequestPayloadSize = Self.longestRequest
                config.http2.maxConcurrentStreams = Self.streamsPerConnection
                // Packets leave at once.
                config.connection.flushCoalescing = nil
            }
        )
        try await GRPCServer(transport: transport, services: [PacketStreamer(server: self)]).serve()
    }
}

/// The messages of a stream. One task at a time reads them: first the one that the stream is for, then the one that carries packets.
private final class RequestReader: @unchecked Sendable {
    private var messages: RPCAsyncSequence<Netsim_Packet_PacketRequest, any Error>.AsyncIterator

    init(_ request: RPCAsyncSequence<Netsim_Packet_PacketRequest, any Error>) { messages = request.makeAsyncIterator() }

    /// The next message; nil at the end of the stream.
    func next() async throws -> Netsim_Packet_PacketRequest? { try await messages.next() }
}

/// The service that emulators look for.
private struct PacketStreamer: Netsim_Packet_PacketStreamer.SimpleServiceProtocol {
    let server: NetsimServer

    func streamPackets(
        request: RPCAsyncSequence<Netsim_Packet_PacketRequest, any Error>,
        response: RPCWriter<Netsim_Packet_PacketResponse>,
        context: ServerContext
    ) async throws {
        try checkUser(context.remotePeer)
        let messages = RequestReader(request)
        guard let first = try await messages.next() else { return }
        guard case .initialInfo(let info) = first.requestType else {
            return try await refuse("the first message of a stream says which chip it is (initial_info)", response)
        }
        guard info.chip.kind == .bluetooth else {
            return try await refuse("this radio has Bluetooth chips only", response)
        }
        let name = PlainText.line(info.name.isEmpty ? "a device without a name" : info.name)
        let air: PacketSocket.Channel
        do {
            air = try await PacketSocket.open(server.airPath)
        } catch {
            server.log("\(name) gets no controller: \(error)")
            return try await refuse("the radio has no controller for another device", response)
        }
        server.log("\(name) is on the air")
        // An air that has closed its end is an error to who writes to it, and to who closes.
        var end = StreamEnd.airClosed
        try? await air.executeThenClose { inbound, outbound in
            end = try await withThrowingTaskGroup(of: StreamEnd.self) { group in
                group.addTask {
                    var cutter = PacketCutter(from: .controller)
                    for try await bytes in inbound {
                        var packets: [HCIMessage] = []
                        cutter.take(bytes.readableBytesView) { packets.append($0) }
                        for packet in packets {
                            do { try await response.write(.with { $0.hciPacket = .init(packet) }) } catch {
                                return .deviceLeft
                            }
                        }
                    }
                    return .airClosed
                }
                group.addTask {
                    // A stream that is cut is an error, and has ended as well.
                    while let message = try? await messages.next() {
                        guard case .hciPacket(let packet) = message.requestType,
                            let bytes = packet.message.packet(from: .host)
                        else { return .noPacket }
                        try await outbound.write(ByteBuffer(bytes: bytes))
                    }
                    return .deviceLeft
                }
                defer { group.cancelAll() }
                return try await group.next() ?? .deviceLeft
            }
        }
        server.log("\(name) is off the air: \(end.rawValue)")
        switch end {
        case .deviceLeft: break
        case .airClosed: try await refuse("the radio has no controller for this device any more", response)
        case .noPacket: try await refuse("a message of the stream holds no HCI packet of a host", response)
        }
    }

    private enum StreamEnd: String, Sendable {
        case deviceLeft = "it ended its stream"
        case airClosed = "the radio has no controller for it"
        case noPacket = "it sent what is no packet"
    }

    private func refuse(_ reason: String, _ response: RPCWriter<Netsim_Packet_PacketResponse>) async throws {
        try await response.write(.with { $0.error = reason })
    }

    /// A port is open to all users of a machine; the radio is this user's.
    /// - Parameter peer: such as `ipv4:127.0.0.1:40000`.
    private func checkUser(_ peer: String) throws {
        let words = peer.split(separator: ":")
        let loopback = UInt32(0x7F00_0001).bigEndian
        guard words.count == 3, let port = UInt16(words[2]),
            let table = try? TCPSocketTable(connectedTo: server.port),
            let user = table.owner(
                of: .init(address: loopback, port: port),
                connectedTo: .init(address: loopback, port: server.port)
            ), user == 0 || user == geteuid()
        else {
            server.log("refused a stream from \(PlainText.line(peer)): it is not this user's")
            throw RPCError(code: .permissionDenied, message: "this radio is another user's")
        }
    }
}
