import ArgumentParser

/// Settings that stand together in the help.
public protocol SettingGroup: SendableMetatype {
    /// What their values go into.
    associatedtype Target: SettingTarget
    /// The group's heading in the help; empty for those that stand under `OPTIONS`.
    static var title: String { get }
    /// Its settings, in the order in which they are listed and applied.
    static var settings: [Setting<Target>] { get }
}

/// Every setting of a command.
public protocol SettingCatalog: SendableMetatype {
    /// What their values go into.
    associatedtype Target: SettingTarget
    /// The groups, in the order in which they are listed and applied.
    static var groups: [AnySettingGroup<Target>] { get }
    /// Finds settings that do not go together, besides those that need another.
    static func conflict(in target: Target) -> SettingConflict?
}

extension SettingCatalog {
    /// All settings, in order.
    public static var settings: [Setting<Target>] { groups.flatMap(\.settings) }
}

/// A group of settings, whichever it is.
public struct AnySettingGroup<Target: SettingTarget>: Sendable {
    let settings: [Setting<Target>]
    /// ArgumentParser's definition of the group.
    let definition: @Sendable () -> Any
    /// What was typed, out of what ArgumentParser has parsed.
    let typed: @Sendable (KeyedDecodingContainer<SettingOptionKey>, SettingOptionKey) throws -> [SettingKey: [String]]

    /// Takes a group.
    public init<Group: SettingGroup>(_ group: Group.Type) where Group.Target == Target {
        settings = Group.settings
        definition = { OptionGroup<SettingGroupOptions<Group>>(title: Group.title) }
        typed = { try $0.decode(OptionGroup<SettingGroupOptions<Group>>.self, forKey: $1).wrappedValue.typed }
    }
}
