import NIOConcurrencyHelpers

/// How many streams are open: a limit for each client, and one for all.
final class StreamPlaces: Sendable {
    /// Of one client.
    static let clientLimit = 64
    /// Of all clients.
    static let limit = 256

    /// A stream that is open, until this is gone.
    final class Place: Sendable {
        private let places: StreamPlaces
        private let client: String
        private let kind: String

        fileprivate init(_ places: StreamPlaces, _ client: String, _ kind: String) {
            self.places = places
            self.client = client
            self.kind = kind
        }

        deinit { places.leave(client, kind) }
    }

    private let clients = NIOLockedValueBox<[String: Int]>([:])
    private let counts: Counts

    init(counts: Counts) { self.counts = counts }

    /// A place for a stream of a client.
    /// - Parameter kind: what it is counted as.
    /// - Throws: `APIError` if there is none.
    func take(for client: String, kind: String) throws(APIError) -> Place {
        let problem: APIError? = clients.withLockedValue { clients in
            guard clients.values.reduce(0, +) < Self.limit else { return .tooMany("\(Self.limit) streams are open") }
            guard clients[client, default: 0] < Self.clientLimit else {
                return .tooMany("\(Self.clientLimit) streams of this client are open")
            }
            clients[client, default: 0] += 1
            return nil
        }
        if let problem { throw problem }
        counts.change { $0.streams[kind, default: 0] += 1 }
        return Place(self, client, kind)
    }

    private func leave(_ client: String, _ kind: String) {
        clients.withLockedValue { clients in
            clients[client, default: 1] -= 1
            if clients[client] == 0 { clients[client] = nil }
        }
        counts.change { $0.streams[kind, default: 1] -= 1 }
    }
}
