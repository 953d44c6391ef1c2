/// The commands that this library knows.
package enum HCICommands {
    /// The command with an opcode; nil if it is not known.
    package static func command(_ opcode: HCIOpcode) -> HCICommandID? { all.first { $0.opcode == opcode } }
}
