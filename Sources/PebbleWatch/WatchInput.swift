import BluetoothHCI

/// Everything that can move a watch: what its owner hands to it, one at a time.
///
/// A watch is a function of its configuration, its memory, these inputs in their order, the random numbers that it draws, and
/// what is taken from it when. A flight recorder keeps exactly that.
public enum WatchInput: Sendable {
    /// Begins the conversation with a controller, as `Watch.start(at:)` does.
    case start
    /// The controller is out of reach, and every link with it.
    case controllerLost
    /// A packet from the controller, packet type byte first.
    case packet(ArraySlice<UInt8>)
    /// Time passed.
    case time
    /// Somebody, or a part of the board, does something to the watch.
    case command(WatchCommand)
    /// The store has carried out a change, or could not.
    case memoryChangeFinished(MemoryChangeID, failure: WatchStoreError?)
    /// Every connection ends, as of a watch that is being switched off.
    case shutdown
    /// A tool of the SDK connected.
    case toolConnected(DeveloperCarrier)
    /// A tool has gone, and why.
    case toolLeft(DeveloperConnectionID, reason: String)
    /// Bytes of a tool.
    case toolBytes(ArraySlice<UInt8>, from: DeveloperConnectionID)
    /// A tool has room: it is given the next bytes that wait for it.
    case toolHasRoom(DeveloperConnectionID)
    /// The emulator does something that the firmware runs in, which is the watch's brain.
    case firmware(FirmwareInput)
}

/// What an input is answered with at once. Packets, events and changes of the memory are taken from the watch.
public enum WatchInputResult: Sendable, Equatable {
    /// Nothing.
    case none
    /// A command was carried out.
    case command(WatchCommandResult)
    /// A tool is connected under this name.
    case tool(DeveloperConnectionID)
    /// Bytes for a tool; none when nothing waits.
    case toolBytes([UInt8])
    /// Bytes for the emulator; none when nothing waits.
    case firmwareBytes([UInt8])
}

extension Watch {
    /// Takes an input.
    /// - Throws: `WatchCommandError` when it is a command that cannot be carried out now; nothing has changed then.
    @discardableResult
    public mutating func take(
        _ input: WatchInput,
        at now: Duration
    ) throws(WatchCommandError) -> WatchInputResult {
        switch input {
        case .start: start(at: now)
        case .controllerLost: controllerLost(at: now)
        case .packet(let packet): receive(packet, at: now)
        case .time: advance(to: now)
        case .command(let command): return .command(try perform(command, at: now))
        case .memoryChangeFinished(let id, let failure): memoryChangeFinished(id, failure: failure, at: now)
        case .shutdown:
            disconnectAll(at: now)
            finishMirror(at: now)
        case .toolConnected(let carrier): return .tool(openDeveloperConnection(carrier, at: now))
        case .toolLeft(let tool, let reason): closeDeveloperConnection(tool, reason: reason, at: now)
        case .toolBytes(let bytes, let tool): receive(bytes, from: tool, at: now)
        case .toolHasRoom(let tool): return .toolBytes(nextBytes(for: tool, at: now))
        case .firmware(let input): return .firmwareBytes(take(input, at: now))
        }
        return .none
    }
}
