import Glibc

/// The end of standard input: the process that started this one is gone.
public enum EndOfInput {
    /// Waits for it, on the event loops that carry everything else.
    public static func wait() async {
        guard let socket = try? await PacketSocket.open(STDIN_FILENO) else { return }
        try? await socket.executeThenClose { inbound, _ in
            // Nothing is said there.
            for try await _ in inbound {}
        }
    }
}
