// swift-tools-version: 6.2

import PackageDescription

/// Set in CI: a warning in our own code fails the build.
let warningsAreErrors = Context.environment["CAIRN_STRICT"] != nil
let strict: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []
/// Tests spend their time in simulations: there, what runs in them is optimized in debug builds too, each room as a
/// whole, which compiles in half the time. Traps stay.
let optimized = SwiftSetting.unsafeFlags(["-O", "-wmo", "-num-threads", "2"], .when(configuration: .debug))
let simulated: [SwiftSetting] = strict + (warningsAreErrors ? [optimized] : [])
/// Rooms that no packet goes through are made small: what waits there is a person, a disk or a program's start.
let small: [SwiftSetting] = strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]
/// The sans-I/O rooms also promise that nothing in them is memory-unsafe.
let core: [SwiftSetting] = simulated + [.strictMemorySafety()]

let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "cairn",
    products: [
        .executable(name: "cairn", targets: ["cairn"]),
        .executable(name: "cairn-bench", targets: ["cairn-bench"]),
        .executable(name: "cairn-netsim", targets: ["cairn-netsim"]),
        .executable(name: "cairn-web", targets: ["cairn-web"]),
        .library(name: "BluetoothHost", targets: ["BluetoothHCI", "BluetoothHost", "BluetoothCryptography"]),
        .library(name: "BluetoothPeripheral", targets: ["BluetoothHCI", "BluetoothHost", "BluetoothPeripheral"]),
        .library(name: "BluetoothCentral", targets: ["BluetoothHCI", "BluetoothHost", "BluetoothCentral"]),
        .library(name: "HCIRuntime", targets: ["HCIRuntime"]),
        .library(name: "PebbleProtocol", targets: ["PebbleProtocol"]),
        .library(name: "PebbleWatch", targets: ["PebbleWatch", "Faults"]),
        .library(name: "AirSimulator", targets: ["AirSimulator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .target(name: "ByteCoding", swiftSettings: core),
        .target(name: "SeededRandomness", swiftSettings: core),
        .target(
            name: "BluetoothHCI",
            dependencies: ["ByteCoding"],
            exclude: ["Commands/commands.txt", "Commands/generate"],
            swiftSettings: core
        ),
        .target(
            name: "BluetoothHost",
            dependencies: ["ByteCoding", "BluetoothHCI", collections],
            swiftSettings: core
        ),
        .target(
            name: "BluetoothCryptography",
            dependencies: [
                "ByteCoding", "BluetoothHost",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: core
        ),
        .target(
            name: "BluetoothPeripheral",
            dependencies: ["ByteCoding", "BluetoothHCI", "BluetoothHost", collections],
            swiftSettings: core
        ),
        .target(
            name: "BluetoothCentral",
            dependencies: ["BluetoothHCI", "BluetoothHost", collections],
            swiftSettings: core
        ),
        .target(name: "PebbleProtocol", dependencies: ["ByteCoding", collections], swiftSettings: core),
        .target(
            name: "Faults",
            dependencies: ["ByteCoding", "SeededRandomness", "BluetoothHCI", "BluetoothHost"],
            swiftSettings: core
        ),
        .target(
            name: "PebbleWatch",
            dependencies: [
                "ByteCoding", "BluetoothHCI", "BluetoothHost", "BluetoothPeripheral", "Faults", "PebbleProtocol",
                collections,
            ],
            swiftSettings: core
        ),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "WatchStorage",
            dependencies: [
                "ByteCoding", "BluetoothHCI", "BluetoothHost", "PebbleProtocol", "PebbleWatch", "PrivateFiles",
                "CSQLite",
            ],
            swiftSettings: small
        ),
        .target(
            name: "AirSimulator",
            dependencies: [
                "ByteCoding", "SeededRandomness", "BluetoothHCI", collections,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: simulated
        ),
        .target(
            name: "PebblePhone",
            dependencies: [
                "ByteCoding", "BluetoothHCI", "BluetoothHost", "BluetoothCryptography", "PebbleProtocol", collections,
            ],
            swiftSettings: simulated
        ),
        .target(
            name: "Control",
            dependencies: [
                "Faults", "ByteCoding", "BluetoothHCI", "BluetoothHost", "PebbleProtocol", "PebbleWatch", "PebblePhone",
                "CZlib", collections,
            ],
            swiftSettings: strict
        ),
        .target(name: "CMappings"),
        .target(name: "PrivateFiles", dependencies: ["CMappings"], swiftSettings: strict),
        .target(
            name: "Progress",
            dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CZlib"),
        .target(
            name: "Bundles",
            dependencies: ["ByteCoding", "PebbleProtocol", "PebbleWatch", "CZlib"],
            swiftSettings: small
        ),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
        .target(
            name: "LinuxBluetooth",
            dependencies: ["ByteCoding", "BluetoothHCI", "PrivateFiles", "CBluetooth", "CLinux"],
            swiftSettings: strict
        ),
        .target(
            name: "Timeline",
            dependencies: ["ByteCoding", "BluetoothHCI", "BluetoothHost", "PebbleProtocol", "LinuxBluetooth"],
            swiftSettings: small
        ),
        .target(
            name: "FlightRecorder",
            dependencies: [
                "ByteCoding", "SeededRandomness", "Faults", "BluetoothHCI", "BluetoothHost", "PebbleProtocol",
                "PebbleWatch", collections,
            ],
            swiftSettings: simulated
        ),
        .target(
            name: "HCIRuntime",
            dependencies: [
                "Faults", "ByteCoding", "BluetoothHCI", "BluetoothHost", "BluetoothCryptography", "BluetoothCentral",
                "BluetoothPeripheral", "LinuxBluetooth", "AirSimulator", "PrivateFiles", "CLinux", logging,
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "heart-rate",
            dependencies: ["BluetoothHCI", "BluetoothHost", "BluetoothPeripheral", "HCIRuntime"],
            path: "Sources/Examples/HeartRate",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "l2cap-echo",
            dependencies: ["BluetoothHCI", "BluetoothHost", "BluetoothPeripheral", "HCIRuntime"],
            path: "Sources/Examples/L2CAPEcho",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ibeacon",
            dependencies: ["BluetoothHCI", "BluetoothHost", "BluetoothPeripheral", "HCIRuntime"],
            path: "Sources/Examples/IBeacon",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "battery-reader",
            dependencies: ["BluetoothHost", "BluetoothCentral", "HCIRuntime"],
            path: "Sources/Examples/BatteryReader",
            swiftSettings: strict
        ),
        .target(
            name: "Daemon",
            dependencies: [
                "Faults", "HCIRuntime",
                "BluetoothHCI", "BluetoothHost", "BluetoothCryptography", "PebbleProtocol", "PebbleWatch",
                "WatchStorage", "LinuxBluetooth", "AirSimulator", "Board", "Bundles", "Control", "PrivateFiles",
                "CLinux", "PebblePhone", "ByteCoding", "Scenarios", "SeededRandomness", "FlightRecorder",
                logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Scenarios",
            dependencies: [
                "Control", "Faults", "PebblePhone", "Settings", "YAML", collections,
            ],
            exclude: ["Shipped", "generate"],
            swiftSettings: small
        ),
        .target(name: "Board", dependencies: ["CLinux", "LinuxBluetooth"], swiftSettings: strict),
        .systemLibrary(name: "CYAML", providers: [.apt(["libyaml-dev"])]),
        .target(name: "YAML", dependencies: ["CYAML"], swiftSettings: small),
        .testTarget(name: "YAMLTests", dependencies: ["YAML", "SeededRandomness"], swiftSettings: strict),
        .target(
            name: "Settings",
            dependencies: [
                "YAML",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: small
        ),
        .executableTarget(
            name: "cairn",
            dependencies: [
                "Faults", "Settings", "Board", "Daemon", "HCIRuntime", "Control", "AirSimulator", "BluetoothHCI",
                "BluetoothHost",
                "BluetoothCryptography", "Bundles", "LinuxBluetooth", "PrivateFiles",
                "PebblePhone", "PebbleProtocol", "PebbleWatch", "Progress", "Scenarios", "Timeline", "FlightRecorder",
                "ByteCoding", logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["Settings/generate"],
            swiftSettings: small
        ),
        .target(
            name: "Web",
            dependencies: [
                "PrivateFiles", "CZlib", logging,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            resources: [.copy("Page"), .copy("Vocabulary")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cairn-web",
            dependencies: [
                "Web", "PrivateFiles", logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Netsim",
            dependencies: [
                "BluetoothHCI", "LinuxBluetooth",
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            exclude: ["Interface"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cairn-netsim",
            dependencies: [
                "Netsim", "LinuxBluetooth",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .target(name: "CAllocationCounter"),
        .executableTarget(
            name: "cairn-bench",
            dependencies: [
                "CAllocationCounter",
                "ByteCoding", "SeededRandomness", "BluetoothHCI", "BluetoothHost", "BluetoothCryptography", "Faults",
                "PebbleProtocol", "PebbleWatch", "AirSimulator", "PebblePhone", "Daemon", "HCIRuntime",
                "LinuxBluetooth", "Progress", "FlightRecorder", "FuzzTargets", logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "ByteCoding", "SeededRandomness", "BluetoothHCI", "BluetoothHost", "BluetoothCryptography", "Faults",
                "PebbleProtocol", "PebbleWatch", "PebblePhone", "AirSimulator", "Bundles", "Control", "FlightRecorder",
                "Scenarios", "Settings", "WatchStorage", "CSQLite", "CZlib",
            ],
            swiftSettings: simulated
        ),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "FuzzTargets", "SeededRandomness", "AirSimulator", "BluetoothHCI", "BluetoothHost",
                "BluetoothCryptography", "Faults", "PebblePhone", "PebbleProtocol", "PebbleWatch", "WatchStorage",
            ],
            swiftSettings: simulated
        ),
        .testTarget(
            name: "FaultsTests",
            dependencies: [
                "Faults", "AirSimulator", "BluetoothHCI", "BluetoothHost", "BluetoothCryptography", "ByteCoding",
                "PebbleProtocol", "PebbleWatch", "PebblePhone", "SeededRandomness",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BluetoothPeripheralTests",
            dependencies: [
                "BluetoothPeripheral", "BluetoothHost", "BluetoothCryptography", "BluetoothHCI", "AirSimulator",
                "SeededRandomness",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BluetoothCentralTests",
            dependencies: [
                "BluetoothCentral", "BluetoothPeripheral", "BluetoothHost", "BluetoothCryptography", "BluetoothHCI",
                "AirSimulator", "SeededRandomness",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "AirSimulator", "BluetoothCentral", "BluetoothCryptography", "BluetoothHost", "BluetoothPeripheral",
            ],
            path: "Sources/Examples/ServiceTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "AirSimulator", "BluetoothCentral", "BluetoothCryptography", "BluetoothHCI", "BluetoothHost",
                "BluetoothPeripheral", "HCIRuntime", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HCIRuntimeTests",
            dependencies: [
                "HCIRuntime", "AirSimulator", "BluetoothCentral", "BluetoothPeripheral", "BluetoothHost", "Faults",
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "ByteCodingTests", dependencies: ["ByteCoding"], swiftSettings: strict),
        .testTarget(
            name: "BluetoothHCITests",
            dependencies: ["BluetoothHCI", "SeededRandomness"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BluetoothHostTests",
            dependencies: [
                "ByteCoding", "SeededRandomness", "BluetoothHost", "BluetoothCryptography", "BluetoothHCI",
                "AirSimulator",
            ],
            resources: [.copy("Vectors")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PebbleProtocolTests",
            dependencies: ["PebbleProtocol", "ByteCoding", "SeededRandomness"],
            resources: [.copy("Vectors")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PebbleWatchTests",
            dependencies: [
                "PebbleWatch", "PebblePhone", "BluetoothHost", "BluetoothPeripheral", "BluetoothCryptography",
                "AirSimulator", "SeededRandomness",
            ],
            resources: [.copy("Vectors")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FlightRecorderTests",
            dependencies: [
                "FlightRecorder", "Faults", "PebbleWatch", "PebblePhone", "PebbleProtocol", "BluetoothHost",
                "BluetoothHCI", "BluetoothCryptography", "AirSimulator", "SeededRandomness",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BundlesTests",
            dependencies: ["Bundles", "ByteCoding", "SeededRandomness", "PebbleProtocol", "PebbleWatch", "CZlib"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "StorageWriter",
            dependencies: ["WatchStorage"],
            path: "Tests/StorageWriter",
            swiftSettings: strict
        ),
        .testTarget(
            name: "WatchStorageTests",
            dependencies: [
                "WatchStorage", "StorageWriter", "SeededRandomness", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PebblePhoneTests",
            dependencies: [
                "PebblePhone", "PebbleWatch", "PebbleProtocol", "BluetoothHost", "BluetoothCryptography",
                "BluetoothHCI", "AirSimulator", "LinuxBluetooth", "SeededRandomness", "Control",
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "ProgressTests", dependencies: ["Progress"], swiftSettings: strict),
        .testTarget(
            name: "TimelineTests",
            dependencies: ["Timeline", "BluetoothHCI", "LinuxBluetooth", "PebbleProtocol", "SeededRandomness"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AirSimulatorTests",
            dependencies: ["AirSimulator", "BluetoothHCI", "SeededRandomness"],
            resources: [.copy("Vectors")],
            swiftSettings: strict
        ),
        .testTarget(name: "BenchTests", dependencies: ["cairn-bench", "BluetoothHCI"], swiftSettings: strict),
        .testTarget(
            name: "BoardTests",
            dependencies: ["Board", "CLinux", "LinuxBluetooth", "SeededRandomness"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SettingsTests",
            dependencies: ["Settings", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PrivateFilesTests",
            dependencies: ["PrivateFiles", "SystemTestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ScenariosTests",
            dependencies: [
                "Scenarios", "Daemon", "HCIRuntime", "Control", "Faults", "PebblePhone", "PebbleWatch", "BluetoothHCI",
                "cairn",
            ],
            swiftSettings: strict
        ),
        .target(name: "SystemTestSupport", path: "Tests/SystemTestSupport", swiftSettings: strict),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "Daemon", "Faults", "HCIRuntime", "AirSimulator", "LinuxBluetooth", "BluetoothHCI", "BluetoothHost",
                "PebbleProtocol",
                "PebbleWatch",
                "Control", "SystemTestSupport", "FlightRecorder", "BluetoothCryptography", "SeededRandomness", "cairn",
                logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "Control", "PebbleWatch", "PebblePhone", "PebbleProtocol", "BluetoothHost", "BluetoothCryptography",
                "BluetoothHCI", "ByteCoding", "SeededRandomness", "CZlib",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "WebTests",
            dependencies: [
                "Web", "CZlib", logging,
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NetsimTests",
            dependencies: [
                "Netsim", "LinuxBluetooth", "BluetoothHCI", "SeededRandomness",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LinuxBluetoothTests",
            dependencies: [
                "LinuxBluetooth", "BluetoothHCI", "ByteCoding", "CBluetooth", "SeededRandomness", "SystemTestSupport",
            ],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The fuzzer's own program, without instruments: `CAIRN_FUZZ=1 swift build --product cairn-fuzz`. What libFuzzer drives is
// compiled by `Tests/Fuzz/run`.
if Context.environment["CAIRN_FUZZ"] != nil {
    package.products.append(.executable(name: "cairn-fuzz", targets: ["cairn-fuzz"]))
    package.targets.append(
        .executableTarget(
            name: "cairn-fuzz",
            dependencies: ["FuzzTargets", "SeededRandomness"],
            exclude: ["LibFuzzer"],
            swiftSettings: simulated
        )
    )
}
