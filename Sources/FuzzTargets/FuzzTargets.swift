extension FuzzTarget {
    /// Decoders: a value is read, or an error is thrown, and either costs no more than the bytes do.
    private static let small = Budget(bytes: 64 * 1024, bytesEach: 512)
    /// Machines keep whole conversations, and some of their bytes ask for a great deal.
    private static let conversation = Budget(bytes: 48 * 1024 * 1024, bytesEach: 96 * 1024)

    /// Every target, by its name.
    package static let all: [FuzzTarget] = [
        FuzzTarget("hci-events", "Events of a controller", inputLimit: 260, budget: small, HCIDecoders.event),
        FuzzTarget(
            "h4",
            "The stream of packets, whole and in pieces",
            inputLimit: 4096,
            budget: small,
            HCIDecoders.stream
        ),
        FuzzTarget("advertising", "Advertising data", inputLimit: 512, budget: small, HCIDecoders.advertisingData),
        FuzzTarget(
            "link",
            "ACL packets of both directions: L2CAP frames, signaling, ATT and SMP as captures show them",
            inputLimit: 4096,
            budget: Budget(bytes: 256 * 1024, bytesEach: 2048),
            LinkDecoders.link
        ),
        FuzzTarget("signaling", "L2CAP signaling commands", inputLimit: 512, budget: small, LinkDecoders.signaling),
        FuzzTarget(
            "endpoints",
            "The messages of every endpoint",
            inputLimit: 2048,
            budget: small,
            EndpointDecoders.message
        ),
        FuzzTarget(
            "appmessage",
            "AppMessage dictionaries",
            inputLimit: 2048,
            budget: small,
            EndpointDecoders.dictionary
        ),
        FuzzTarget(
            "records",
            "Timeline items and app metadata",
            inputLimit: 2048,
            budget: small,
            RecordDecoders.record
        ),
        FuzzTarget(
            "framing",
            "Streams of the Pebble Protocol and of the emulator, whole and in pieces",
            inputLimit: 4096,
            budget: Budget(bytes: 1024 * 1024, bytesEach: 64 * 1024),
            RecordDecoders.streams
        ),
        FuzzTarget(
            "values",
            "PPoGATT packets and meta values, Pebble's characteristics, executables and resources",
            inputLimit: 2048,
            budget: small,
            RecordDecoders.value
        ),
        FuzzTarget(
            "att",
            "A GATT layer in both roles, with an owner who answers, refuses or forgets",
            inputLimit: 2048,
            budget: conversation,
            isMachine: true,
            ATTMachine.run
        ),
        FuzzTarget(
            "security",
            "Two Security Managers with a man between them",
            inputLimit: 1024,
            budget: conversation,
            isMachine: true,
            SecurityMachine.run
        ),
        FuzzTarget(
            "ppogatt",
            "Two ends of PPoGATT, and air that loses, repeats and makes up packets",
            inputLimit: 2048,
            budget: conversation,
            isMachine: true,
            PPoGATTMachine.run
        ),
        FuzzTarget(
            "host",
            "The LE host on a controller that says anything",
            inputLimit: 2048,
            budget: conversation,
            isMachine: true,
            HostMachine.run
        ),
        FuzzTarget(
            "watch",
            "A watch, its store, a phone and a hostile one, on simulated controllers",
            inputLimit: 512,
            budget: Budget(bytes: 512 * 1024 * 1024, bytesEach: 8 * 1024 * 1024),
            isMachine: true,
            WatchMachine.run
        ),
    ]

    /// The target of a name; nil if there is none.
    package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}
