import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What a look at the watch shows besides its status: parts that cost less than all of it, or that it leaves out.

extension WatchStatus {
    /// An app that can be launched.
    public struct App: Sendable, Equatable {
        /// Its UUID, by which companions and commands name it.
        public let uuid: PebbleUUID
        /// What the launcher calls it.
        public let name: String
        /// The app's own version, such as `1.2`; nil for one that has none of its own, because it is part of the watch.
        public let version: String?
        /// Whether it is a watchface, or else an app for the launcher's menu.
        public let isWatchface: Bool
        /// Whether it came with the watch, and stays.
        public let isBuiltIn: Bool
        /// Whether everything is there that it needs to run: otherwise the phone is asked for it first.
        public let isInstalled: Bool
        /// Whether it runs.
        public let isRunning: Bool
    }

    /// A link to a phone, with its parameters and what has gone over it.
    public struct LinkDetails: Sendable {
        /// The handle, role, addresses, parameters and security.
        public let connection: Connection
        /// Who it is: its identity if it is bonded, else the address that it uses.
        public let phone: LEAddress
        /// The MTU of its ATT bearer.
        public let mtu: Int
        /// What has gone over it, layer by layer.
        package let traffic: LinkTraffic
    }
}

extension Watch {
    /// The apps that can be launched: those that came with the watch, then those that were installed, in the order in which they
    /// were.
    public var apps: [WatchStatus.App] {
        let store = core.system.services.store.apps
        var builtIn: [WatchStatus.App] = []
        for app in [configuration.defaultApp] + configuration.builtInApps
        where !builtIn.contains(where: { $0.uuid == app.uuid }) {
            builtIn.append(
                WatchStatus.App(
                    uuid: app.uuid,
                    name: app.name,
                    version: nil,
                    isWatchface: app.flags.contains(.watchFace),
                    isBuiltIn: true,
                    isInstalled: true,
                    isRunning: app.uuid == runningApp
                )
            )
        }
        for app in configuration.apps
        where store[app.metadata.uuid] == nil && isAppInstalled(app.metadata.uuid)
            && !builtIn.contains(where: { $0.uuid == app.metadata.uuid })
        {
            builtIn.append(status(of: app.metadata, isBuiltIn: true, isInstalled: true))
        }
        return builtIn + store.all.map { status(of: $0.metadata, isBuiltIn: false, isInstalled: $0.isCached) }
    }

    private func status(of metadata: AppMetadata, isBuiltIn: Bool, isInstalled: Bool) -> WatchStatus.App {
        WatchStatus.App(
            uuid: metadata.uuid,
            name: metadata.name,
            version: "\(metadata.majorVersion).\(metadata.minorVersion)",
            isWatchface: metadata.flags.contains(.watchFace),
            isBuiltIn: isBuiltIn,
            isInstalled: isInstalled,
            isRunning: metadata.uuid == runningApp
        )
    }

    /// Why the store did not take the app that a command installed last; nil if it did, or has not said so yet.
    public var installationFailure: WatchStoreError? { core.system.services.fetch.installationFailure }

    /// The links to phones, in the order of their handles.
    public var linkDetails: [WatchStatus.LinkDetails] {
        links.keys.sorted().compactMap { handle in
            guard let link = links[handle], let connection = core.host.connection(handle),
                let traffic = core.host.traffic(on: handle)
            else { return nil }
            return WatchStatus.LinkDetails(
                connection: connection,
                phone: link.identity,
                mtu: link.mtu,
                traffic: traffic
            )
        }
    }

    /// The watch's clock.
    public var clock: WatchClock { core.system.clock }

    /// Whether apps show the hours counted to 24.
    public var is24HourStyle: Bool { controls.sensors.is24HourStyle }

    /// The notifications that are shown, oldest first: neither dismissed nor removed.
    public var notifications: [TimelineItem] {
        core.system.services.store.databases.items(of: .notifications).filter { $0.isShown }
    }

    /// The settings, in the order in which they were first set: a key and its value, as the phone or the watch wrote it.
    public var settings: [(key: String, value: [UInt8])] {
        let databases = core.system.services.store.databases
        return databases.keys(of: .settings).compactMap { key in
            databases[.settings, key].map { (String(decoding: key, as: UTF8.self), $0.value) }
        }
    }

    /// Whether a phone is connected.
    public var isConnected: Bool { !links.isEmpty }

    /// Whether a companion has a session.
    public var hasSession: Bool { !core.system.sessions.open.isEmpty }

    /// Whether a phone is remembered whose bond would survive a power cut now.
    public var hasStoredBond: Bool { bondedPhones.contains { core.phones.stored.contains($0) } }
}
