import Bundles
import HCIRuntime
import PebbleProtocol
import PebbleWatch
import Settings

/// Which watchapps are installed from the start, and what they do.
enum AppSettings: SettingGroup {
    static let title = "WATCHAPPS"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "apps.install",
            option: "app",
            .paths("paths of .pbw files", placeholder: "file.pbw"),
            into: \.bundles,
            help: "Install this watchapp. Its own code does not run; see --behaviour. May be given several times.",
            page: "watchapps.md"
        ),
        Setting(
            "apps.behaviour",
            option: "behaviour",
            .each("entries UUID=echo, UUID=external or UUID=FILE", placeholder: "uuid=echo|external|script") {
                try NamedBehavior(parsing: $0)
            },
            otherwise: "external",
            help: """
                What an installed app does: echo sends every dictionary back, external takes every one, and a script (JSON) \
                answers by rules and draws.
                """,
            page: "watchapps.md"
        ) { $0.behaviors = $1 },
    ]

    /// What an app is to do.
    struct NamedBehavior: Sendable {
        let application: PebbleUUID
        let behavior: AppBehavior

        /// Reads an app's UUID and what it does, with an equals sign between.
        init(parsing text: String) throws(SettingRefusal) {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let application = PebbleUUID(parts[0]) else {
                throw .because(
                    "“\(text)” names no app; write UUID=echo, UUID=external or UUID=FILE, with a UUID as in appinfo.json"
                )
            }
            self.application = application
            do throws(BundleError) {
                behavior = try BehaviorFile.behavior(named: parts[1])
            } catch {
                throw .because("\(parts[1]): \(error)")
            }
        }
    }
}

extension RunPlan {
    /// Reads the bundles, picks the app in each that is for this kind of watch, and installs it.
    mutating func loadApps() throws(ProgramError) {
        for named in behaviors { watch.behaviors[named.application] = named.behavior }
        for path in bundles {
            do throws(BundleError) {
                watch.apps.append(try AppBundle.package(atPath: path, for: platform))
            } catch {
                throw ProgramError(
                    error.isUnreadable ? .unavailable : .usage,
                    "\(path) is not installed: \(error)",
                    advice:
                        "name a .pbw that you may read and that has a whole app for \(platform.rawValue), as the SDK builds it"
                )
            }
        }
    }
}
