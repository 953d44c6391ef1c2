/// The names of the firmware's preferences: which of them phones may write, and how long their values are.
///
/// From the firmware's tables of preferences and of what it syncs (PebbleOS 4.35).
enum SettingKeys {
    /// What database 7 takes, and the lengths that its values can have.
    static let preferenceLengths: [String: ClosedRange<Int>] = [
        "activityPreferences": 9...9,
        // Firmware before 4.35 had one byte of the three.
        "hrmPreferences": 1...3,
        "heartRatePreferences": 6...6, "unitsDistance": 1...1, "clock24h": 1...1, "timezoneSource": 1...1,
        "timeSource": 1...1, "automaticTimezoneID": 2...2, "lightEnabled": 1...1, "lightAmbientSensorEnabled": 1...1,
        "lightTimeoutMs": 4...4, "lightIntensity": 1...1, "lightColor": 4...4, "lightMotion": 1...1,
        "lightTouch": 1...1, "lightDynamicMode": 1...1, "lightPreset": 1...1, "lightAmbientThreshold": 4...4,
        "touchEnabled": 1...1, "touchNavMenuEnabled": 1...1, "motionSensitivity": 1...1, "stationaryMode": 1...1,
        "displayOrientationLeftHanded": 1...1, "workerId": 16...16, "watchface": 16...16, "welcomeVersion": 1...1,
        "textStyle": 1...1, "langEnglish": 1...1, "language": 1...1, "qlUp": 17...17, "qlDown": 17...17,
        "qlSelect": 17...17, "qlBack": 17...17, "qlSetupOpened": 1...1, "qlSingleClickUp": 17...17,
        "qlSingleClickDown": 17...17, "qlComboBackUp": 17...17, "qlComboUpDown": 17...17,
        "activityActivated": 4...8, "activityActivationDelayInsights": 4...4, "activityHealthAppOpened": 1...1,
        "activityWorkoutAppOpened": 1...1, "alarmsAppOpened": 1...1, "timelineSettingsOpened": 1...1,
        "timelineQuickViewEnabled": 1...1, "timelineQuickViewBeforeTimeMin": 2...2,
        "timelineQuickViewWatchfaceFit": 1...1, "coredumpOnRequest": 1...1, "accelShakeLogInfo": 1...1,
        "vibeLogInfo": 1...1, "legacyAppRenderMode": 1...1, "themeHighlightColor": 1...1,
        "menuScrollWrapAround": 1...1, "menuScrollVibeBehavior": 1...1, "musicShowVolumeControls": 1...1,
        "musicShowProgressBar": 1...1, "musicShowAlbumArt": 1...1,
    ]

    /// The settings of database 12 that are the firmware's own preferences.
    private static let preferences: Set<String> = [
        "clock24h", "timezoneSource", "automaticTimezoneID", "unitsDistance", "textStyle", "stationaryMode",
        "displayOrientationLeftHanded", "motionSensitivity", "lightEnabled", "lightAmbientSensorEnabled",
        "lightTimeoutMs", "lightIntensity", "lightMotion", "lightTouch", "lightAmbientThreshold", "lightDynamicMode",
        "lightPreset", "lightColor", "langEnglish", "language", "qlUp", "qlDown", "qlSelect", "qlBack",
        "qlSetupOpened", "qlSingleClickUp", "qlSingleClickDown", "qlComboBackUp", "qlComboUpDown",
        "settingsMenuHighlightColor", "appsMenuHighlightColor", "timelineQuickViewEnabled",
        "timelineQuickViewBeforeTimeMin", "timelineQuickViewWatchfaceFit", "timelineSettingsOpened",
        "activityPreferences", "activityHealthAppOpened", "activityWorkoutAppOpened", "alarmsAppOpened",
        "hrmPreferences", "heartRatePreferences", "menuScrollWrapAround", "menuScrollVibeBehavior", "workerId",
        "musicShowVolumeControls", "musicShowProgressBar", "musicShowAlbumArt",
    ]

    /// The settings of database 12 that concern alerts.
    private static let alerts: Set<String> = [
        "mask", "dndInterruptionsMask", "dndShowNotifications", "vibeIntensity", "vibeScoreNotifications",
        "vibeScoreIncomingCalls", "vibeScoreAlarms", "dndManuallyEnabled", "dndSmartEnabled", "dndWeekdaySchedule",
        "dndWeekdayScheduleEnabled", "dndWeekendSchedule", "dndWeekendScheduleEnabled", "notifWindowTimeout",
        "notifDesignStyle", "notifVibeDelay", "notifBacklight", "dndMotionBacklight", "dndTouchBacklight",
    ]

    /// The key under which a setting of database 12 is kept: without the NUL that a phone may send.
    /// - Returns: nil for what is no setting, or not one that phones may write.
    static func setting(_ key: ArraySlice<UInt8>) -> [UInt8]? {
        let plain = key.last == 0 ? key.dropLast() : key
        let name = String(decoding: plain, as: UTF8.self)
        return preferences.contains(name) || alerts.contains(name) ? Array(plain) : nil
    }

    /// The key as the watch sends it: the firmware's own preferences have a NUL behind them.
    static func sentKey(of setting: [UInt8]) -> [UInt8] {
        preferences.contains(String(decoding: setting, as: UTF8.self)) ? setting + [0] : setting
    }
}
