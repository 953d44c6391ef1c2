import Glibc
import NIOCore

/// Which watches there are: those that were named, and those whose sockets are in a directory.
public struct WatchPlaces: Sendable {
    /// A watch that was named.
    struct Named: Sendable {
        let name: String
        let path: String
    }

    /// Those that are there from the beginning.
    private(set) var named: [Named] = []
    /// Directories that are looked into again and again.
    var directories: [String] = []

    /// Nowhere.
    public init() {}

    /// Adds a watch.
    /// - Parameter text: `NAME=PATH`, or a path, whose file gives the name.
    /// - Throws: `WebError` if the name is none, or there already.
    public mutating func add(watch text: String) throws(WebError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let isNamed = parts.count == 2 && !parts[0].contains("/")
        let path = isNamed ? parts[1] : text
        let name = isNamed ? parts[0] : Self.name(of: path)
        guard !path.isEmpty else {
            throw WebError(.usage, "“\(text)” names no socket", advice: "write --watch NAME=PATH")
        }
        guard Self.isName(name) else {
            throw WebError(
                .usage,
                "“\(name)” is no name of a watch: it has 1 to 64 bytes, and no slash or control character",
                advice: "write --watch NAME=PATH"
            )
        }
        guard !named.contains(where: { $0.name == name }) else {
            throw WebError(
                .usage,
                "two watches are called “\(name)”",
                advice: "give one another name: --watch NAME=PATH"
            )
        }
        named.append(Named(name: name, path: path))
    }

    /// Adds a directory: each socket `NAME.sock` or `NAME-control.sock` in it is a watch, and `NAME/control.sock`.
    public mutating func add(directory: String) { directories.append(directory) }

    /// Where `cairn` looks if nothing is named: `CAIRN_CONTROL`, `CAIRN_STATE`, and the place of the service.
    /// - Parameter environment: gives a variable's value.
    public mutating func addUsual(environment: (String) -> String?) throws(WebError) {
        if let path = environment("CAIRN_CONTROL")?.split(separator: ":").first {
            try add(watch: String(path))
        } else if let directory = environment("CAIRN_STATE")?.split(separator: ":").first {
            try add(watch: directory + "/control.sock")
        } else {
            add(directory: "/run/cairn")
        }
    }

    /// A name that can stand in an address, as one part of its path.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0 > 0x1F && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }

    /// The file's name without what sockets end in; that of the directory for `control.sock`.
    static func name(of path: String) -> String {
        let parts = path.split(separator: "/")
        var name = parts.last.map(String.init) ?? ""
        if name.hasSuffix(".sock") { name.removeLast(5) }
        if name == "control", parts.count > 1 { return String(parts[parts.count - 2]) }
        if name.hasSuffix("-control") { name.removeLast(8) }
        return name
    }

    /// What is in the directories now.
    func found() -> [Named] {
        var all: [Named] = []
        for directory in directories {
            for entry in Self.entries(of: directory) {
                let path = directory + "/" + entry
                let candidate = entry.hasSuffix(".sock") ? path : path + "/control.sock"
                let name = Self.name(of: candidate)
                // What a phone listens at lies beside the watch's.
                guard name != "phone", Self.isName(name), Self.isSocket(candidate) else { continue }
                all.append(Named(name: name, path: candidate))
            }
        }
        return all
    }

    private static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var entries: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { entries.append(name) }
        }
        return entries.sorted()
    }

    private static func isSocket(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
}

/// All watches, and what follows them.
actor Bench {
    /// How many watches there are at most.
    static let limit = 64
    /// How often the directories are looked into.
    private static let interval: Duration = .seconds(1)

    private let places: WatchPlaces
    private let patience: Duration
    private var byName: [String: Watch] = [:]
    private var followers: [Task<Void, Never>] = []

    /// - Parameter patience: how long a watch may take for a common answer.
    init(_ places: WatchPlaces, patience: Duration) {
        self.places = places
        self.patience = patience
    }

    /// All, by name.
    var watches: [Watch] { byName.values.sorted { $0.name < $1.name } }

    /// The watch of a name.
    func watch(_ name: String) throws(APIError) -> Watch {
        guard let watch = byName[name] else { throw .unknownWatch(name, among: byName.keys.sorted()) }
        return watch
    }

    /// Takes in what is there now. A watch that is gone stays: it may come back.
    func look() {
        for place in places.named + places.found() where byName[place.name] == nil && byName.count < Self.limit {
            let watch = Watch(name: place.name, path: place.path, patience: patience)
            byName[place.name] = watch
            followers.append(Task { await watch.feed.run() })
        }
    }

    /// Looks again and again until the task is cancelled; then nothing is followed any more.
    func run() async {
        repeat { look() } while (try? await Task.sleep(for: Self.interval)) != nil
        for follower in followers { follower.cancel() }
        for follower in followers { await follower.value }
    }
}
