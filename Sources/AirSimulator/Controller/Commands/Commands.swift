import BluetoothHCI
import ByteCoding

/// A command that simulated controllers carry out. What one needs is asked of its type, and not by casts: the first to each
/// protocol searches all conformances of the program, and a watch's start was one quarter such searches.
protocol SimulatedCommand: HCICommand {
    /// Of which only the legacy or only the extended variant may be used between two resets; nil for all others.
    static var family: SimulatedController.CommandFamily? { get }
    /// Carries it out, and answers it.
    static func execute(_ parameters: ArraySlice<UInt8>, in air: inout Air, by slot: Int)
    /// Answers it with an error.
    static func refuse(_ status: HCIStatus, in air: inout Air, by slot: Int)
}

extension SimulatedCommand {
    static var family: SimulatedController.CommandFamily? { nil }
}

/// A command that a simulated controller carries out at once and answers with Command Complete.
protocol ImmediateCommand: SimulatedCommand, HCICommandWithReturn {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters>
}

extension ImmediateCommand {
    static func execute(_ parameters: ArraySlice<UInt8>, in air: inout Air, by slot: Int) {
        let outcome: HCIOutcome<ReturnParameters>
        do {
            outcome = try Self(parameters: parameters).perform(in: &air, by: slot)
        } catch {
            outcome = .failure(.invalidHCICommandParameters)
        }
        // The only command that is answered only when it is wrong (Core 5.4, Vol 4, Part E, 7.3.40).
        if Self.self == HostNumberOfCompletedPackets.self, outcome.status == .success { return }
        air.answerComplete(Self.self, outcome, slot)
    }

    static func refuse(_ status: HCIStatus, in air: inout Air, by slot: Int) {
        air.answerComplete(Self.self, .failure(status), slot)
    }
}

/// A command that a simulated controller begins, answers with Command Status, and tells the end of in an event.
protocol LongCommand: SimulatedCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus
}

extension LongCommand {
    static func execute(_ parameters: ArraySlice<UInt8>, in air: inout Air, by slot: Int) {
        let status: HCIStatus
        do {
            status = try Self(parameters: parameters).begin(in: &air, by: slot)
        } catch {
            status = .invalidHCICommandParameters
        }
        air.answerStatus(status, to: opcode, slot)
    }

    static func refuse(_ status: HCIStatus, in air: inout Air, by slot: Int) {
        air.answerStatus(status, to: opcode, slot)
    }
}

extension HCIOutcome<NoParameters> {
    /// Success of a command that returns nothing else.
    static var done: Self { .success(NoParameters()) }
}

extension Air {
    /// Controllers here take one command at a time, and are never busy with one.
    static let commandCredits: UInt8 = 1

    /// Takes a command packet, without the packet type byte.
    mutating func receiveCommand(_ body: ArraySlice<UInt8>, _ slot: Int) {
        guard controllers[slot].hasRoomForEvents else {
            return drop("command while \(SimulatedController.outboxLimit) packets wait for the host", slot)
        }
        let packet: HCICommandPacket
        do {
            packet = try HCICommandPacket(body: body)
        } catch {
            return drop("\(error)", slot)
        }
        if controllers[slot].configuration.isDualMode, let command = BREDRCommand.command(packet.opcode) {
            return perform(command, packet.parameters, slot)
        }
        let type = SimulatedCommands.command(packet.opcode)
        guard let type, controllers[slot].configuration.knows(type.id) else {
            return answerStatus(.unknownHCICommand, to: packet.opcode, slot)
        }
        if let family = type.family, !controllers[slot].mayUse(family) {
            return type.refuse(.commandDisallowed, in: &self, by: slot)
        }
        type.execute(packet.parameters, in: &self, by: slot)
        tellOfDelayedResults(slot)
    }

    mutating func answerComplete<Command: HCICommandWithReturn>(
        _ type: Command.Type,
        _ outcome: HCIOutcome<Command.ReturnParameters>,
        _ slot: Int
    ) {
        controllers[slot].send(unmasked: CommandComplete(commandCredits: Self.commandCredits, to: type, outcome))
    }

    mutating func answerStatus(_ status: HCIStatus, to opcode: HCIOpcode, _ slot: Int) {
        controllers[slot]
            .send(unmasked: CommandStatus(status: status, commandCredits: Self.commandCredits, opcode: opcode))
    }

    /// Sends what a command has brought about, now that the command itself has been answered.
    private mutating func tellOfDelayedResults(_ slot: Int) {
        if controllers[slot].hasCancelledInitiator {
            controllers[slot].hasCancelledInitiator = false
            sendConnectionFailure(.unknownConnectionIdentifier, slot)
        }
        for connection in controllers[slot].connections { finishLinkChange(connection.link) }
    }

    private mutating func sendConnectionFailure(_ status: HCIStatus, _ slot: Int) {
        if controllers[slot].wants(LEEnhancedConnectionComplete.self) {
            controllers[slot].send(LEEnhancedConnectionComplete(.failure(status)))
        } else {
            controllers[slot].send(LEConnectionComplete(.failure(status)))
        }
    }

    /// Asks the link layer at one end of a connection for something.
    mutating func withLink<Result>(
        of handle: ConnectionHandle,
        _ slot: Int,
        _ body: (inout LinkLayerConnection, LinkRole, Microseconds) -> Result
    ) -> Result? {
        guard let connection = controllers[slot].connection(handle) else { return nil }
        return body(&links[connection.link].machine, connection.role, now)
    }
}
