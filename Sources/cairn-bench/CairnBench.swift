import ArgumentParser

/// Measures what Cairn costs, and what it achieves on the air.
@main
struct CairnBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cairn-bench",
        abstract: "Measures what Cairn costs in time and memory, and what it achieves on a simulated air.",
        discussion: "Build it for release, or the figures mean nothing: swift run -c release cairn-bench",
        subcommands: [
            CostCommand.self, ListCommand.self, LadderCommand.self, DiscoveryCommand.self, ReconnectCommand.self,
            MergeCommand.self, CrowdCommand.self, HeldCommand.self, CompareCommand.self, PeripheralCommand.self,
            CyclesCommand.self, FootprintCommand.self, ReadingsCommand.self,
        ],
        defaultSubcommand: CostCommand.self
    )
}
