import ArgumentParser
import Bundles
import Daemon
import HCIRuntime
import PebbleProtocol
import PebbleWatch

/// Which watchapps are installed from the start, and what they do.
struct AppOptions: ParsableArguments {
    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "Install this watchapp. Its own code does not run; see --behaviour. May be given several times.",
            valueName: "file.pbw"
        ),
        transform: pathArgument
    )
    var bundles: [String] = []

    @Option(
        name: .customLong("behaviour"),
        help: ArgumentHelp(
            "What an installed app does: echo sends every dictionary back, external takes every one, and a script "
                + "(JSON) answers by rules and draws. (default: external)",
            valueName: "uuid=echo|external|script"
        ),
        transform: NamedBehavior.argument
    )
    var behaviors: [NamedBehavior] = []

    /// What an app is to do.
    struct NamedBehavior {
        let application: PebbleUUID
        let behavior: AppBehavior

        @Sendable
        static func argument(_ text: String) throws -> NamedBehavior {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let application = PebbleUUID(parts[0]) else {
                throw ValidationError(
                    "“\(text)” names no app; write UUID=echo, UUID=external or UUID=FILE, with a UUID as in appinfo.json"
                )
            }
            do throws(BundleError) {
                return NamedBehavior(application: application, behavior: try BehaviorFile.behavior(named: parts[1]))
            } catch {
                throw ValidationError("\(parts[1]): \(error)")
            }
        }
    }

    /// Reads the bundles, and picks the app in each that is for a kind of watch.
    func load(for platform: AppPlatform) throws(ProgramError) -> LoadedApps {
        var loaded = LoadedApps()
        for named in behaviors { loaded.behaviors[named.application] = named.behavior }
        for path in bundles {
            do throws(BundleError) {
                loaded.packages.append(try AppBundle.package(atPath: path, for: platform))
            } catch {
                throw ProgramError(
                    error.isUnreadable ? .unavailable : .usage,
                    "\(path) is not installed: \(error)",
                    advice:
                        "name a .pbw that you may read and that has a whole app for \(platform.rawValue), as the SDK builds it"
                )
            }
        }
        return loaded
    }
}

/// Apps and behaviours, read and checked.
struct LoadedApps: Sendable {
    var packages: [AppPackage] = []
    var behaviors: [PebbleUUID: AppBehavior] = [:]

    /// Says all this to a watch's configuration.
    func apply(to watch: inout WatchConfiguration) {
        watch.apps = packages
        watch.behaviors = behaviors
    }
}
