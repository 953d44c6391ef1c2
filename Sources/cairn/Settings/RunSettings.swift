import Settings

/// Every setting of `cairn run`, of the environment and of board files.
enum RunSettings: SettingCatalog {
    static let groups: [AnySettingGroup<RunPlan>] = [
        AnySettingGroup(ControllerSettings.self),
        AnySettingGroup(WatchSettings.self),
        AnySettingGroup(ProcessSettings.self),
        AnySettingGroup(PairingSettings.self),
        AnySettingGroup(LinkSettings.self),
        AnySettingGroup(DiagnosticSettings.self),
        AnySettingGroup(AdvertisingSettings.self),
        AnySettingGroup(BoardSettings.self),
        AnySettingGroup(AppSettings.self),
        AnySettingGroup(DeveloperSettings.self),
        AnySettingGroup(AirSettings.self),
    ]

    static func conflict(in plan: RunPlan) -> SettingConflict? {
        AdvertisingSettings.conflict(in: plan) ?? BoardSettings.conflict(in: plan)
    }
}
