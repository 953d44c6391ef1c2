extension FuzzTarget {
    /// Decoders: a value is read, or an error is thrown, and either costs no more than the bytes do.
    private static let small = Budget(bytes: 64 * 1024, bytesEach: 512, edges: 20_000, edgesEach: 2_000)
    /// Machines keep whole conversations, and some of their bytes ask for a great deal.
    private static let conversation = Budget(
        bytes: 48 * 1024 * 1024,
        bytesEach: 96 * 1024,
        edges: 50_000_000,
        edgesEach: 500_000
    )
    /// Lines and scripts: a tree is made of them, and what is wrong is said in words.
    private static let text = Budget(bytes: 4 * 1024 * 1024, bytesEach: 16 * 1024, edges: 200_000, edgesEach: 2_000)
    /// YAML, whose aliases repeat values up to a limit, and whose files include each other up to another.
    private static let yaml = Budget(bytes: 32 * 1024 * 1024, bytesEach: 64 * 1024, edges: 4_000_000, edgesEach: 20_000)

    /// What a controller says.
    private static let hci = ["ByteCoding", "BluetoothHCI"]
    /// The protocols of a Bluetooth host.
    private static let host = hci + ["BluetoothHost"]
    /// The Pebble Protocol.
    private static let pebble = ["ByteCoding", "PebbleProtocol"]
    /// What a board, a scenario or a request is made of.
    private static let files = ["YAML", "Settings", "Control", "Scenarios"]
    /// The watch, and all that it stands on.
    private static let watch =
        host + ["BluetoothCryptography", "BluetoothPeripheral", "PebbleProtocol", "Faults", "PebbleWatch"]

    /// Every target, by its name.
    package static let all: [FuzzTarget] = [
        FuzzTarget(
            "hci-events",
            "Events of a controller",
            inputLimit: 260,
            budget: small,
            rooms: hci,
            HCIDecoders.event
        ),
        FuzzTarget(
            "h4",
            "The stream of packets, whole and in pieces",
            inputLimit: 4096,
            budget: small,
            rooms: hci,
            HCIDecoders.stream
        ),
        FuzzTarget(
            "advertising",
            "Advertising data",
            inputLimit: 512,
            budget: small,
            rooms: hci,
            HCIDecoders.advertisingData
        ),
        FuzzTarget(
            "link",
            "ACL packets of both directions: L2CAP frames, signaling, ATT and SMP as captures show them",
            inputLimit: 4096,
            budget: Budget(bytes: 256 * 1024, bytesEach: 2048, edges: 50_000, edgesEach: 5_000),
            rooms: host,
            LinkDecoders.link
        ),
        FuzzTarget(
            "signaling",
            "L2CAP signaling commands",
            inputLimit: 512,
            budget: small,
            rooms: ["ByteCoding", "BluetoothHost"],
            LinkDecoders.signaling
        ),
        FuzzTarget(
            "endpoints",
            "The messages of every endpoint",
            inputLimit: 2048,
            budget: small,
            rooms: pebble,
            EndpointDecoders.message
        ),
        FuzzTarget(
            "appmessage",
            "AppMessage dictionaries",
            inputLimit: 2048,
            budget: small,
            rooms: pebble,
            EndpointDecoders.dictionary
        ),
        FuzzTarget(
            "records",
            "Timeline items and app metadata",
            inputLimit: 2048,
            budget: small,
            rooms: pebble,
            RecordDecoders.record
        ),
        FuzzTarget(
            "framing",
            "Streams of the Pebble Protocol and of the emulator, whole and in pieces",
            inputLimit: 4096,
            budget: Budget(bytes: 1024 * 1024, bytesEach: 64 * 1024, edges: 100_000, edgesEach: 10_000),
            rooms: pebble,
            RecordDecoders.streams
        ),
        FuzzTarget(
            "values",
            "PPoGATT packets and meta values, Pebble's characteristics, executables and resources",
            inputLimit: 2048,
            budget: small,
            rooms: pebble,
            RecordDecoders.value
        ),
        FuzzTarget(
            "att",
            "A GATT layer in both roles, with an owner who answers, refuses or forgets",
            inputLimit: 2048,
            budget: conversation,
            weight: 50,
            rooms: host,
            ATTMachine.run
        ),
        FuzzTarget(
            "security",
            "Two Security Managers with a man between them",
            inputLimit: 1024,
            budget: conversation,
            weight: 50,
            rooms: host + ["BluetoothCryptography"],
            SecurityMachine.run
        ),
        FuzzTarget(
            "ppogatt",
            "Two ends of PPoGATT, and air that loses, repeats and makes up packets",
            inputLimit: 2048,
            budget: conversation,
            weight: 50,
            rooms: pebble,
            PPoGATTMachine.run
        ),
        FuzzTarget(
            "host",
            "The LE host on a controller that says anything",
            inputLimit: 2048,
            budget: conversation,
            weight: 50,
            rooms: host + ["BluetoothCryptography"],
            HostMachine.run
        ),
        FuzzTarget(
            "watch",
            "A watch, its store, a phone and a hostile one, on simulated controllers",
            inputLimit: 512,
            budget: Budget(
                bytes: 512 * 1024 * 1024,
                bytesEach: 8 * 1024 * 1024,
                edges: 400_000_000,
                edgesEach: 8_000_000
            ),
            weight: 1000,
            rooms: watch + ["AirSimulator", "PebblePhone"],
            WatchMachine.run
        ),
        FuzzTarget(
            "controller",
            "Simulated controllers, hosts that send them anything, and the air between them",
            inputLimit: 2048,
            budget: conversation,
            weight: 50,
            rooms: hci + ["AirSimulator"],
            ControllerMachine.run
        ),
        FuzzTarget(
            "archive",
            "Zip archives, and the apps and firmware in them",
            inputLimit: 16 * 1024,
            budget: Budget(bytes: 8 * 1024 * 1024, bytesEach: 4096, edges: 6_000_000, edgesEach: 2_000),
            weight: 4,
            rooms: pebble + ["Bundles"],
            BundleFiles.archive
        ),
        FuzzTarget(
            "script",
            "Scripts of app behaviour",
            inputLimit: 4096,
            budget: text,
            rooms: ["Bundles"],
            BundleFiles.script
        ),
        FuzzTarget(
            "board",
            "Board files, up to the values of settings",
            inputLimit: 4096,
            budget: yaml,
            weight: 4,
            rooms: files,
            YAMLFiles.board
        ),
        FuzzTarget(
            "scenario",
            "Scenarios, and what they include",
            inputLimit: 8192,
            budget: yaml,
            weight: 4,
            rooms: files,
            YAMLFiles.scenario
        ),
        FuzzTarget(
            "control",
            "Lines of both control vocabularies",
            inputLimit: 4096,
            budget: text,
            weight: 4,
            rooms: ["Control"],
            ControlText.line
        ),
        FuzzTarget(
            "control-stream",
            "The stream of control lines, whole and in pieces",
            inputLimit: 8192,
            budget: text,
            weight: 4,
            rooms: ["Control"],
            ControlText.stream
        ),
        FuzzTarget(
            "recording",
            "Recordings: read, told and replayed",
            inputLimit: 32 * 1024,
            budget: conversation,
            weight: 20,
            rooms: watch + ["FlightRecorder"],
            RecordingFiles.recording
        ),
        FuzzTarget(
            "database",
            "A watch's database whose rows and pages are anything",
            inputLimit: 1024,
            budget: conversation,
            weight: 100,
            rooms: watch + ["WatchStorage"],
            DatabaseFiles.database
        ),
    ]

    /// The target of a name; nil if there is none.
    package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}
