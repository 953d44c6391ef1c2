import PebbleProtocol

// What the watch does of its own accord, or a person at it.

extension WatchServices {
    /// Does one of the actions of a notification, pin or reminder.
    /// - Returns: false if there is no such item or action.
    mutating func perform(
        _ action: UInt8,
        of item: PebbleUUID,
        text: String?,
        in context: inout ServiceContext
    ) -> Bool {
        guard let found = context.store.databases.shown(item)?.item,
            let action = found.actions.first(where: { $0.id == action })
        else { return false }
        if found.isFromOwnANCS {
            performANCS(action, of: found, in: &context)
        } else {
            timeline.perform(action, of: found, text: text, in: &context)
        }
        return true
    }

    /// Installs a whole app.
    /// - Returns: why not; nil if it is on its way into the store.
    mutating func install(
        _ package: AppPackage,
        launches: Bool,
        in context: inout ServiceContext
    ) -> WatchCommandError? {
        do throws(WatchCommandError) {
            try fetch.install(package, launches: launches, in: &context)
            return nil
        } catch {
            return error
        }
    }

    /// Removes an app that was installed.
    func remove(_ uuid: PebbleUUID, in context: inout ServiceContext) { fetch.remove(uuid, in: &context) }

    /// Asks the phone's player for something.
    /// - Returns: false when there is no phone.
    mutating func send(_ command: MusicMessage.Command, in context: inout ServiceContext) -> Bool {
        music.send(command, in: &context)
    }

    /// Takes the call that rings, or ends the call there is.
    /// - Returns: false when there is none, or no phone.
    mutating func answerCall(_ isAccepted: Bool, in context: inout ServiceContext) -> Bool {
        isAccepted ? phoneControl.answer(in: &context) : phoneControl.hangUp(in: &context)
    }

    /// Changes a setting on the watch; a phone that keeps up with settings hears of it.
    /// - Returns: false if that is no setting.
    mutating func changeSetting(_ key: [UInt8], to value: [UInt8], in context: inout ServiceContext) -> Bool {
        guard let rules = DatabaseRules(.settings), let key = SettingKeys.setting(key[...]), !value.isEmpty,
            value.count <= rules.byteLimit,
            context.store.databases[.settings, key] != nil
                || context.store.databases.count(of: .settings) < rules.recordLimit
        else { return false }
        let record = BlobDatabases.Record(
            value: value,
            timestamp: context.clock.seconds(at: context.now),
            isDirty: true
        )
        context.set(.settings, key, record)
        context.emit(.recordChanged(.settings, key: key, value: value))
        blobDB2.settingChanged(in: &context)
        return true
    }

    /// Spools items that an app logs.
    /// - Returns: false if there is no room, or the bytes are not whole items.
    mutating func log(
        _ items: [UInt8],
        as description: DataLoggingMessage.Session,
        in context: inout ServiceContext
    ) -> Bool {
        dataLogging.log(items, as: description, in: &context)
    }

    /// An app logs no more.
    mutating func finishLogging(_ id: LoggingSessionID, in context: inout ServiceContext) {
        dataLogging.finish(id, in: &context)
    }
}
