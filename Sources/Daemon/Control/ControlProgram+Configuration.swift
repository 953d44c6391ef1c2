import Control
import Glibc
import HCIRuntime
import LinuxBluetooth

extension ControlProgram {
    /// What is known before the watch is made; ports are known when it listens there.
    init(_ configuration: WatchDaemonConfiguration, controlPath: String) {
        self.init(
            pid: Int(getpid()),
            version: configuration.version,
            controller: "\(configuration.controller)"
        )
        paths.state = configuration.stateDirectory.map(Self.wholePath)
        paths.control = Self.wholePath(controlPath)
        paths.capture = configuration.capturePath.map(Self.wholePath)
        paths.serial = configuration.serialPortPath.map(Self.wholePath)
    }

    /// A path that means the same in every working directory.
    static func wholePath(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        return String(cString: directory) + "/" + path
    }
}
