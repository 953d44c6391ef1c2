import BluetoothHCI
import Bundles
import Daemon
import FlightRecorder
import HCIRuntime
import PebbleProtocol
import PebbleWatch
import Settings

// What a recording has to say about the watch's configuration, and how a replay makes the same of it.

extension RunPlan {
    /// The names of the settings that a recording has in another form: apps whole, and behaviours with their files.
    private static let installedApps = "apps.install"
    private static let behaviours = "apps.behaviour"
    private static let scriptLimit = 1024 * 1024

    /// Takes down what was set, for whoever replays the recording.
    mutating func describeRecording(_ values: [SettingValue]) throws(ProgramError) {
        for value in values where value.origin != .standard {
            for word in value.values {
                process.recording.settings.append(RecordingHeader.Setting(name: value.key.name, value: word))
                guard value.key.name == Self.behaviours, let script = Self.script(in: word) else { continue }
                let content = try RecordingInput.bytes(of: script, limit: Self.scriptLimit, what: "script")
                process.recording.files.append(RecordingHeader.File(path: script, content: content))
            }
        }
    }

    /// The file that an entry of the behaviours names.
    private static func script(in word: String) -> String? {
        guard let name = word.split(separator: "=", maxSplits: 1).last.map(String.init),
            !["echo", "external"].contains(name)
        else { return nil }
        return name
    }

    /// The watch that a recording began with.
    static func watch(of header: RecordingHeader) throws(ProgramError) -> WatchConfiguration {
        var typed: [SettingKey: [String]] = [:]
        var behaviours: [String] = []
        for setting in header.settings {
            if setting.name == Self.behaviours {
                behaviours.append(setting.value)
            } else if setting.name != installedApps {
                guard let known = RunSettings.settings.first(where: { $0.key.name == setting.name }) else {
                    throw unknown(setting, "this version of the program has no such setting", header)
                }
                typed[known.key, default: []].append(setting.value)
            }
        }
        let layers = SettingLayers(of: RunSettings.settings, typed: typed)
        let reading = RunSettings.read(layers.settings(RunSettings.settings.map(\.key)))
        guard let plan = reading.target else {
            throw ProgramError(
                .configuration,
                "the recording's settings are none for this version of the program: "
                    + reading.problems.map(\.description).joined(separator: "\n"),
                advice: "replay it with Cairn \(header.program), which recorded it"
            )
        }
        let circumstances = header.circumstances
        guard let type = AddressType(rawValue: circumstances.addressType) else {
            throw ProgramError(
                .inputOutput,
                "the recording's watch has an address of no known type",
                advice: "name another recording"
            )
        }
        var watch = plan.watch(at: LEAddress(type: type, address: DeviceAddress(circumstances.address)))
        watch.startTime = circumstances.startTime
        watch.wallClock = circumstances.wallClock
        watch.apps = header.apps
        for word in behaviours {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let application = PebbleUUID(parts[0]) else { continue }
            do throws(BundleError) {
                watch.behaviors[application] =
                    if let file = header.files.first(where: { $0.path == parts[1] }) {
                        .scripted(try BehaviorFile.script(in: file.content))
                    } else {
                        try BehaviorFile.behavior(named: parts[1])
                    }
            } catch {
                throw unknown(RecordingHeader.Setting(name: Self.behaviours, value: word), "\(error)", header)
            }
        }
        return watch
    }

    private static func unknown(
        _ setting: RecordingHeader.Setting,
        _ reason: String,
        _ header: RecordingHeader
    ) -> ProgramError {
        ProgramError(
            .configuration,
            "the recording's setting \(setting.name) = \(setting.value) cannot be used: \(reason)",
            advice: "replay it with Cairn \(header.program), which recorded it"
        )
    }
}
