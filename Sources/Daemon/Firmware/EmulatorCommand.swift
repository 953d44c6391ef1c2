import PebbleProtocol

/// How a board's emulator is started. SDKs up to 4.9.148 have other machines than later ones, and QEMU has other options from
/// version 7 on. (What the `pebble` tool starts, 5.0.40.)
struct EmulatorCommand: Sendable {
    /// What the files are called in the emulator's working directory.
    enum Name {
        static let flash = "flash.bin"
        static let port = "pebble"
        static let console = "console"
    }

    /// The last SDK with the machines of before.
    private static let lastOfBefore = SDKRelease("4.9.148")
    /// Before that one, emery was another machine.
    private static let firstWithSnowyEmery = SDKRelease("4.9")
    /// The first version of QEMU with the options of today.
    private static let firstModernQEMU = 7

    /// The emulator's arguments, without the program itself.
    let arguments: [String]

    /// - Parameters:
    ///   - version: QEMU's, its first number.
    ///   - hasDisplay: whether there is a screen for its window.
    init(_ images: EmulatorImages.Found, qemu version: Int, hasDisplay: Bool) {
        let isModern = version >= Self.firstModernQEMU
        let machine = Machine(images.board, sdk: images.version)
        var arguments = ["-rtc", "base=localtime", "-machine", machine.name, "-cpu", machine.processor]
        arguments += [isModern ? "-kernel" : "-pflash", images.firmware]
        switch machine.flash {
        case .drive: arguments += ["-drive", "if=mtd,format=raw,file=\(Name.flash)"]
        case .block: arguments += ["-mtdblock", Name.flash]
        case .parallel:
            arguments +=
                isModern
                ? ["-drive", "if=none,id=spi-flash,file=\(Name.flash),format=raw"] : ["-pflash", Name.flash]
        }
        let server = isModern ? "server=on,wait=off" : "server,nowait"
        arguments += ["-serial", "null"]
        for name in [Name.port, Name.console] { arguments += ["-serial", "unix:\(name),\(server)"] }
        arguments += ["-monitor", "none"]
        if machine.hasSound { arguments += ["-audio", "driver=none,id=audio0"] }
        if !hasDisplay {
            arguments += ["-display", "none"]
        } else if isModern {
            arguments += ["-display", "sdl,show-cursor=on"]
        }
        self.arguments = arguments
    }

    /// The first number of QEMU's version, in what it prints of itself; nil if it is not there.
    static func version(in text: String) -> Int? {
        guard let word = text.split(separator: " ").drop(while: { $0 != "version" }).dropFirst().first else {
            return nil
        }
        return Int(word.prefix { $0.isNumber })
    }

    /// A machine of QEMU's.
    private struct Machine {
        /// How it is given its flash.
        enum Flash {
            /// As a drive of memory technology devices.
            case drive
            /// By QEMU's older option for one.
            case block
            /// As parallel flash.
            case parallel
        }

        let name: String
        var processor = "cortex-m4"
        let flash: Flash
        var hasSound = false

        init(_ board: AppPlatform, sdk: SDKRelease?) {
            let isBefore = sdk.map { release in lastOfBefore.map { release <= $0 } ?? false } ?? false
            let isOldest = sdk.map { release in firstWithSnowyEmery.map { release < $0 } ?? false } ?? false
            switch board {
            case .aplite:
                name = "pebble-bb2"
                processor = "cortex-m3"
                flash = .block
            case .basalt:
                name = "pebble-snowy-bb"
                flash = .parallel
            case .chalk:
                name = "pebble-s4-bb"
                flash = .parallel
            case .diorite:
                name = "pebble-silk-bb"
                flash = .block
            case .emery:
                name = isOldest ? "pebble-robert-bb" : isBefore ? "pebble-snowy-emery-bb" : "pebble-emery"
                processor = isBefore ? "cortex-m4" : "cortex-m33"
                flash = isBefore ? .parallel : .drive
                hasSound = !isBefore
            case .flint:
                name = isBefore ? "pebble-silk-bb" : "pebble-flint"
                flash = isBefore ? .block : .drive
                hasSound = !isBefore
            case .gabbro:
                name = isBefore ? "pebble-spalding-gabbro-bb" : "pebble-gabbro"
                processor = isBefore ? "cortex-m4" : "cortex-m33"
                flash = isBefore ? .parallel : .drive
            }
        }
    }
}
