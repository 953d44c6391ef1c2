import ByteCoding
import PebbleProtocol

/// The typed value of each packet vector, by the vector's name.
enum ExpectedMessages {
    static let specApp = PebbleUUID(upperHalf: 0x6B1F_5C2E_0F3A_4D0E, lowerHalf: 0x9B7A_1C2D_3E4F_5A6B)

    static let byName: [String: ExpectedMessage] = [
        handshake, watchVersions, system, appControl, ExpectedAppMessages.byName, ExpectedServiceMessages.byName,
    ].reduce(into: [:]) { all, part in all.merge(part) { first, _ in first } }

    private static func only(_ messages: [String: any EndpointMessage]) -> [String: ExpectedMessage] {
        messages.mapValues { ExpectedMessage(message: $0) }
    }

    static let handshake = only([
        "meta-unhandled": MetaMessage.unhandled(Endpoint(rawValue: 0x1234)),
        "meta-disallowed": MetaMessage.disallowed(.putBytes),
        "meta-corrupted": MetaMessage.corrupted,
        "phone-version-request": PhoneVersionMessage.request,
        "phone-version-response-libpebble2": PhoneVersionMessage.response(
            PhoneVersion(
                sessionCapabilities: 0x8000_0000,
                platform: PhonePlatform(.android, [.telephony, .sms]),
                appVersion: .init(major: 3, minor: 0, bugfix: 0),
                capabilities: Capabilities(rawValue: .max)
            )
        ),
        "phone-version-response-libpebble3-android": PhoneVersionMessage.response(
            PhoneVersion(
                platform: PhonePlatform(.android),
                appVersion: .init(major: 4, minor: 4, bugfix: 2),
                capabilities: [
                    .appRunState, .infiniteLogDump, .extendedMusic, .extendedNotifications, .appMessage8K, .voiceAPI,
                    .weatherApp, .imageFetch, .settingsSync,
                ]
            )
        ),
        "phone-version-response-libpebble3-ios": PhoneVersionMessage.response(
            PhoneVersion(
                platform: PhonePlatform(.iOS),
                appVersion: .init(major: 4, minor: 4, bugfix: 2),
                capabilities: [
                    .appRunState, .infiniteLogDump, .appMessage8K, .voiceAPI, .notificationFiltering, .weatherApp,
                    .settingsSync,
                ]
            )
        ),
        "phone-version-response-gadgetbridge": PhoneVersionMessage.response(
            PhoneVersion(
                platform: PhonePlatform(.android),
                appVersion: .init(major: 4, minor: 1, bugfix: 1),
                capabilities: [
                    .appRunState, .infiniteLogDump, .extendedMusic, .extendedNotifications, .appMessage8K, .voiceAPI,
                    .sendText, .weatherApp, .workoutApp,
                ]
            )
        ),
        "phone-version-response-v1": PhoneVersionMessage.response(
            PhoneVersion(
                sessionCapabilities: 0x8000_0000,
                platform: PhonePlatform(.android, [.telephony, .sms])
            )
        ),
        "phone-version-response-v2": PhoneVersionMessage.response(
            PhoneVersion(
                sessionCapabilities: 0x8000_0000,
                platform: PhonePlatform(.android, [.telephony, .sms]),
                appVersion: .init(major: 2, minor: 6, bugfix: 5)
            )
        ),
        "time-get-request": TimeMessage.getRequest,
        "time-get-response": TimeMessage.getResponse(seconds: 1_700_000_000),
        "time-set-local": TimeMessage.setLocal(seconds: 1_700_003_600),
        "time-set-utc-plus": TimeMessage.setUTC(
            .init(seconds: 1_700_000_000, offsetMinutes: 60, zoneName: "Europe/Paris")
        ),
        "time-set-utc-minus": TimeMessage.setUTC(
            .init(seconds: 1_700_000_000, offsetMinutes: -480, zoneName: "America/Los_Angeles")
        ),
        "time-set-utc-pebble-tool": TimeMessage.setUTC(
            .init(seconds: 1_795_264_496, offsetMinutes: 0, zoneName: "UTC+0")
        ),
        "time-request-from-watch": TimeMessage.setUTCRequest,
        "ping": PingMessage.ping(cookie: 0xCAFE_BABE, isIdle: false),
        "ping-from-watch-idle": PingMessage.ping(cookie: 42, isIdle: true),
        "ping-short": PingMessage.ping(cookie: 0xCAFE_BABE, isIdle: nil),
        "pong": PingMessage.pong(cookie: 0xCAFE_BABE),
    ])

    static let watchVersions: [String: ExpectedMessage] = {
        let recovery = FirmwareMetadata(
            timestamp: 1_600_000_000,
            versionTag: "v4.4.2-PRF",
            shortGitHash: "1234567",
            flags: .recovery,
            hardwarePlatform: .snowyS3
        )
        let full = WatchVersion(
            running: FirmwareMetadata(
                timestamp: 1_700_000_000,
                versionTag: "v4.9.100",
                shortGitHash: "abcdef0",
                flags: [],
                hardwarePlatform: .snowyS3
            ),
            recovery: recovery,
            bootLoaderVersion: 1_690_000_000,
            board: "snowy_s3",
            serialNumber: "Q402445E00K7",
            bluetoothAddress: .init(rawValue: 0x1122_3344_5566),
            resourcesCRC: 439_041_101,
            resourcesTimestamp: 1_700_000_000,
            locale: "en_US",
            languageVersion: 1,
            capabilities: Capabilities(rawValue: 23_134_207),
            isUnfaithful: false,
            healthInsightsVersion: 1,
            javaScriptBytecodeVersion: 1
        )
        func changed(_ change: (inout WatchVersion) -> Void) -> WatchVersionMessage {
            var version = full
            change(&version)
            return .response(version)
        }
        return only([
            "watch-version-request": WatchVersionMessage.request,
            "watch-version-response-full": WatchVersionMessage.response(full),
            "watch-version-response-no-js-version": changed { $0.javaScriptBytecodeVersion = nil },
            "watch-version-response-no-insights": changed {
                $0.healthInsightsVersion = nil
                $0.javaScriptBytecodeVersion = nil
            },
            "watch-version-response-no-unfaithful": changed {
                $0.isUnfaithful = nil
                $0.healthInsightsVersion = nil
                $0.javaScriptBytecodeVersion = nil
            },
            "watch-version-response-unfaithful-no-recovery": changed {
                $0.running = FirmwareMetadata(
                    timestamp: 0x68E7_7800,
                    versionTag: "v4.9.142",
                    shortGitHash: "0badf00",
                    flags: [.dualSlot, .slot0],
                    hardwarePlatform: .obelixDVT
                )
                $0.recovery = nil
                $0.board = "obelix"
                $0.isUnfaithful = true
            },
            "watch-version-response-in-recovery": changed {
                $0.running = recovery
                $0.capabilities = []
                $0.isUnfaithful = true
            },
            "watch-version-response-libpebble2-basalt": WatchVersionMessage.response(
                WatchVersion(
                    running: FirmwareMetadata(
                        timestamp: 0x55B6_2380,
                        versionTag: "v3.12.3",
                        shortGitHash: "e0a1b2c",
                        flags: [],
                        hardwarePlatform: .snowyDVT
                    ),
                    recovery: FirmwareMetadata(
                        timestamp: 0x553C_1180,
                        versionTag: "v3.0.1-PRF4",
                        shortGitHash: "e0a1b2d",
                        flags: .recovery,
                        hardwarePlatform: .snowyDVT
                    ),
                    bootLoaderVersion: 0x54A3_7B00,
                    board: "snowy_dvt",
                    serialNumber: "0123456789AB",
                    bluetoothAddress: .init(rawValue: 0xA1A2_A3A4_A5A6),
                    resourcesCRC: 0xDEAD_BEEF,
                    resourcesTimestamp: 0x55B6_2380,
                    locale: "en_US",
                    languageVersion: 3,
                    capabilities: Capabilities(rawValue: 1759),
                    isUnfaithful: true,
                    healthInsightsVersion: nil,
                    javaScriptBytecodeVersion: nil
                )
            ),
        ])
    }()

    static let system = only([
        "system-message-fw-available": SystemMessage.firmwareAvailable,
        "system-message-fw-start": SystemMessage.firmwareUpdateStart(nil),
        "system-message-fw-start-with-sizes": SystemMessage.firmwareUpdateStart(
            .init(alreadyTransferredByteCount: 0, toTransferByteCount: 800_000)
        ),
        "system-message-fw-complete": SystemMessage.firmwareUpdateComplete,
        "system-message-fw-fail": SystemMessage.firmwareUpdateFailed,
        "system-message-fw-up-to-date": SystemMessage.firmwareUpToDate,
        "system-message-stop-reconnecting": SystemMessage.stopReconnecting,
        "system-message-start-reconnecting": SystemMessage.startReconnecting,
        "system-message-map-disabled": SystemMessage.mapDisabled,
        "system-message-map-enabled": SystemMessage.mapEnabled,
        "system-message-fw-start-response-stopped": SystemMessage.firmwareUpdateStartResponse(.stopped),
        "system-message-fw-start-response-started": SystemMessage.firmwareUpdateStartResponse(.running),
        "system-message-fw-start-response-cancelled": SystemMessage.firmwareUpdateStartResponse(.cancelled),
        "system-message-fw-start-response-failed": SystemMessage.firmwareUpdateStartResponse(.failed),
        "system-message-fw-status-request": SystemMessage.firmwareStatusRequest,
        "system-message-fw-status-response": SystemMessage.firmwareStatusResponse(
            .init(resourceByteCount: 1000, resourceCRC: 287_454_020, firmwareByteCount: 0, firmwareCRC: 0)
        ),
        "factory-registry-request": FactoryRegistryMessage.read(key: FactoryRegistryMessage.colorKey),
        "factory-registry-response": FactoryRegistryMessage.color(.timeRoundSilver14),
        "factory-registry-error": FactoryRegistryMessage.failure,
        "reset-reboot": ResetMessage.reboot,
        "reset-coredump": ResetMessage.dumpCore,
        "reset-factory": ResetMessage.factoryReset,
        "reset-prf": ResetMessage.rebootIntoRecovery,
    ])

    static let appControl: [String: ExpectedMessage] = {
        var messages = only([
            "legacy-launcher-start": LauncherMessage(.run, application: specApp, transaction: 1),
            "legacy-launcher-stop": LauncherMessage(.kill, application: specApp, transaction: 2),
            "legacy-launcher-watch-state": LauncherMessage(isRunning: true, application: specApp, transaction: 1),
            "app-run-state-start": AppRunStateMessage.start(specApp),
            "app-run-state-stop": AppRunStateMessage.stop(specApp),
            "app-run-state-request": AppRunStateMessage.request,
            "app-run-state-running-app-fetch-ui": AppRunStateMessage.start(
                PebbleUUID(upperHalf: 0x6742_71BC_F4FA_4536, lowerHalf: 0x97F3_8849_A5BA_75A4)
            ),
            "app-fetch-request": AppFetchRequest(application: specApp, appID: AppID(rawValue: 1)),
            "app-fetch-request-id-258": AppFetchRequest(application: specApp, appID: AppID(rawValue: 258)),
            "app-fetch-response-start": AppFetchResponse.starting,
            "app-fetch-response-busy": AppFetchResponse.busy,
            "app-fetch-response-invalid-uuid": AppFetchResponse.invalidUUID,
            "app-fetch-response-no-data": AppFetchResponse.noData,
        ])
        messages["app-run-state-request-17"] = ExpectedMessage(
            message: AppRunStateMessage.request,
            hasTrailingBytes: true
        )
        return messages
    }()
}
