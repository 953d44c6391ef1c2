import LinuxBluetooth

/// The radio of Android emulators in words, and as JSON.
struct NetsimReport {
    private let instance: UInt8
    private let result: Result<NetsimFile, NetsimFile.Problem>

    init(instance: UInt8, result: Result<NetsimFile, NetsimFile.Problem>) {
        self.instance = instance
        self.result = result
    }

    /// Whether a watch can have a controller of it now.
    var isUsable: Bool { if case .success = result { true } else { false } }

    /// What people write after `--controller`.
    private var address: NetsimAddress { NetsimAddress(.netsim, instance: instance == 0 ? nil : instance) }

    /// For a person.
    var text: String {
        switch result {
        case .success(let file):
            """
            \(address)  \(file.place)  the radio of Android emulators
                  is   announced in \(file.path)
                  use  cairn run --controller \(address)
            """
        case .failure(let problem):
            """
            \(address)  the radio of Android emulators
                  is   of no use: \(problem)
                  so   \(problem.advice)
            """
        }
    }

    var record: AdapterReport.Record {
        let file = try? result.get()
        var problem: NetsimFile.Problem?
        if case .failure(let found) = result { problem = found }
        return AdapterReport.Record(
            name: "\(address)",
            bus: "netsim",
            le: true,
            up: problem == nil,
            use: "free",
            users: [],
            port: file?.port,
            file: file?.path,
            problem: problem.map { "\($0)" },
            advice: problem?.advice
        )
    }
}
