import ArgumentParser
import PebbleWatch

/// What a watch offers to a person who tries it out.
struct DiagnosticOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Publish so many L2CAP streams that send every byte back, 0 to \(WatchStream.loopbacks.count). Each has a service "
                + "51000000-328E-0FBB-C642-1AA6699BDADA, in which the characteristic "
                + "ABDD3056-28FA-441D-A470-55A75A52553A says the PSM.",
            valueName: "count"
        )
    )
    var loopbackStreams = 0

    func validate() throws {
        guard (0...WatchStream.loopbacks.count).contains(loopbackStreams) else {
            throw ValidationError("--loopback-streams takes a number from 0 to \(WatchStream.loopbacks.count)")
        }
    }

    /// Says all this to a watch's configuration.
    func apply(to watch: inout WatchConfiguration) {
        watch.streams.formUnion(WatchStream.loopbacks.prefix(loopbackStreams))
    }
}
