import BluetoothHCI
import ByteCoding

/// A command that a simulated controller carries out at once and answers with Command Complete.
protocol ImmediateCommand: HCICommandWithReturn {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters>
}

/// A command that a simulated controller begins, answers with Command Status, and tells the end of in an event.
protocol LongCommand: HCICommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus
}

/// A command of which only the legacy or only the extended variant may be used between two resets.
protocol CommandOfFamily: HCICommand {
    static var family: SimulatedController.CommandFamily { get }
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
        if let family = (type as? any CommandOfFamily.Type)?.family, !controllers[slot].mayUse(family) {
            return refuse(type, .commandDisallowed, slot)
        }
        switch type {
        case let type as any ImmediateCommand.Type: perform(type, packet.parameters, slot)
        case let type as any LongCommand.Type: begin(type, packet.parameters, slot)
        default: answerStatus(.unknownHCICommand, to: packet.opcode, slot)
        }
        tellOfDelayedResults(slot)
    }

    private mutating func perform<Command: ImmediateCommand>(
        _ type: Command.Type,
        _ parameters: ArraySlice<UInt8>,
        _ slot: Int
    ) {
        let outcome: HCIOutcome<Command.ReturnParameters>
        do {
            outcome = try Command(parameters: parameters).perform(in: &self, by: slot)
        } catch {
            outcome = .failure(.invalidHCICommandParameters)
        }
        // The only command that is answered only when it is wrong (Core 5.4, Vol 4, Part E, 7.3.40).
        if type == HostNumberOfCompletedPackets.self, outcome.status == .success { return }
        let event = CommandComplete(commandCredits: Self.commandCredits, to: type, outcome)
        controllers[slot].send(unmasked: event)
    }

    private mutating func begin<Command: LongCommand>(
        _ type: Command.Type,
        _ parameters: ArraySlice<UInt8>,
        _ slot: Int
    ) {
        let status: HCIStatus
        do {
            status = try Command(parameters: parameters).begin(in: &self, by: slot)
        } catch {
            status = .invalidHCICommandParameters
        }
        answerStatus(status, to: Command.opcode, slot)
    }

    private mutating func refuse(_ type: any HCICommand.Type, _ status: HCIStatus, _ slot: Int) {
        guard let type = type as? any HCICommandWithReturn.Type else {
            return answerStatus(status, to: type.opcode, slot)
        }
        refuseComplete(type, status, slot)
    }

    private mutating func refuseComplete<Command: HCICommandWithReturn>(
        _ type: Command.Type,
        _ status: HCIStatus,
        _ slot: Int
    ) {
        controllers[slot]
            .send(unmasked: CommandComplete(commandCredits: Self.commandCredits, to: type, .failure(status)))
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
