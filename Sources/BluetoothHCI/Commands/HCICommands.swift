/// The commands that this library knows.
public enum HCICommands {
    /// The command with an opcode; nil if it is not known.
    public static func command(_ opcode: HCIOpcode) -> HCICommandID? { all.first { $0.opcode == opcode } }
}
