/// Whose a symbol is, by its name.
enum SymbolOwner {
    /// Swift modules by what brings them.
    private static let packages: [String: [String]] = [
        "Cairn": [
            "cairn", "AirSimulator", "BluetoothHCI", "BluetoothHost", "Board", "Bundles", "ByteCoding", "Control",
            "Daemon",
            "LinuxBluetooth", "PebblePhone", "PebbleProtocol", "PebbleWatch", "WatchStorage",
        ],
        "Foundation": [
            "Foundation", "FoundationEssentials", "FoundationInternationalization", "_FoundationCollections",
            "_FoundationCShims",
        ],
        "Swift's standard library": [
            "Dispatch", "Observation", "RegexBuilder", "Synchronization", "_Concurrency", "_RegexParser",
            "_StringProcessing",
        ],
        "swift-crypto": ["Crypto", "CryptoBoringWrapper", "CryptoExtras", "SwiftASN1", "_CryptoExtras"],
        "swift-argument-parser": ["ArgumentParser", "ArgumentParserToolInfo"],
        "swift-collections": ["DequeModule", "InternalCollectionsUtilities"],
        "swift-log": ["Logging"],
    ]

    private static let owners: [String: String] = Dictionary(
        uniqueKeysWithValues: packages.flatMap { owner, modules in modules.map { ($0, owner) } }
    )

    /// How the names of C and C++ begin, after the marks that compilers put in front.
    private static let prefixes: [(prefix: String, owner: String)] = [
        ("icudt", "ICU's data, of Foundation"), ("N3icu", "ICU's code, of Foundation"),
        ("u_", "ICU's code, of Foundation"),
        ("ucol_", "ICU's code, of Foundation"), ("uprv_", "ICU's code, of Foundation"),
        ("ucnv_", "ICU's code, of Foundation"),
        ("CCryptoBoringSSL", "swift-crypto"), ("N4bssl", "swift-crypto"), ("Keccak", "swift-crypto"),
        ("CF", "Foundation"), ("NS", "Foundation"), ("kCF", "Foundation"),
        ("dispatch_", "Swift's standard library"),
        ("swift", "Swift's standard library"), ("N5swift", "Swift's standard library"),
    ]

    static func name(for symbol: String) -> String {
        if symbol.hasPrefix("$s") { return owner(ofMangled: symbol.dropFirst(2)) }
        var rest = symbol.drop { $0 == "_" }
        // Mangled as C++ does: a Z, then for functions that change nothing or only this file knows a K or an L, and a length.
        if symbol.hasPrefix("_Z") {
            rest = rest.dropFirst()
            if rest.hasPrefix("NK") { rest = "N" + rest.dropFirst(2) }
            if !rest.hasPrefix("N") { rest = rest.drop { $0 == "L" || $0 == "Z" || $0.isNumber || $0 == "_" } }
        }
        return prefixes.first { rest.hasPrefix($0.prefix) }?.owner ?? "other C and C++"
    }

    /// A Swift name begins with its module's length and name, or with an abbreviation for the standard library.
    private static func owner(ofMangled name: Substring) -> String {
        let digits = name.prefix { $0.isASCII && $0.isNumber }
        guard let length = Int(digits) else { return "Swift's standard library" }
        let module = String(name.dropFirst(digits.count).prefix(length))
        return owners[module] ?? "other Swift"
    }
}
