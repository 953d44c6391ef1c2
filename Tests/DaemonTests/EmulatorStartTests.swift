import PebbleProtocol
import Testing

@testable import Daemon

/// How a board's emulator is found and started.
@Suite struct EmulatorStartTests {
    private func found(_ board: AppPlatform, _ version: String?) throws -> EmulatorImages.Found {
        EmulatorImages.Found(
            board: board,
            version: try version.map { try #require(SDKRelease($0[...])) },
            firmware: "/sdk/qemu_micro_flash.bin",
            flash: "/sdk/qemu_spi_flash.bin.bz2",
            program: "/sdk/qemu-pebble"
        )
    }

    private func arguments(_ board: AppPlatform, sdk: String?, qemu: Int = 10) throws -> String {
        EmulatorCommand(try found(board, sdk), qemu: qemu, hasDisplay: false).arguments.joined(separator: " ")
    }

    /// What `pebble` 5.0.40 starts, but for its ports.
    @Test(
        arguments: [
            (.emery, "4.9.169", 10, "-machine pebble-emery -cpu cortex-m33", "-drive if=mtd,format=raw,file=flash.bin"),
            (.gabbro, "4.9.169", 10, "-machine pebble-gabbro -cpu cortex-m33", "-drive if=mtd,"),
            (.flint, "4.9.149", 10, "-machine pebble-flint -cpu cortex-m4", "-drive if=mtd,"),
            (.emery, nil, 10, "-machine pebble-emery -cpu cortex-m33", "-drive if=mtd,"),
            (.emery, "4.9.148", 9, "-machine pebble-snowy-emery-bb -cpu cortex-m4", "-drive if=none,id=spi-flash,"),
            (.gabbro, "4.9.77", 9, "-machine pebble-spalding-gabbro-bb -cpu cortex-m4", "-drive if=none,id=spi-flash,"),
            (.flint, "4.9.77", 9, "-machine pebble-silk-bb -cpu cortex-m4", "-mtdblock flash.bin"),
            (.emery, "4.3", 2, "-machine pebble-robert-bb -cpu cortex-m4", "-pflash flash.bin"),
            (.diorite, "4.9.169", 10, "-machine pebble-silk-bb -cpu cortex-m4", "-mtdblock flash.bin"),
            (.chalk, "4.9.169", 10, "-machine pebble-s4-bb -cpu cortex-m4", "-drive if=none,id=spi-flash,"),
            (.basalt, "4.9.169", 10, "-machine pebble-snowy-bb -cpu cortex-m4", "-drive if=none,id=spi-flash,"),
            (.aplite, "4.9.169", 10, "-machine pebble-bb2 -cpu cortex-m3", "-mtdblock flash.bin"),
        ] as [(AppPlatform, String?, Int, String, String)]
    )
    func everyBoardHasItsMachine(
        board: AppPlatform,
        sdk: String?,
        qemu: Int,
        machine: String,
        flash: String
    ) throws {
        let text = try arguments(board, sdk: sdk, qemu: qemu)
        #expect(text.hasPrefix("-rtc base=localtime \(machine) "))
        #expect(text.contains(" \(flash)"))
    }

    @Test func olderVersionsOfQEMUHaveOtherOptions() throws {
        let modern = try arguments(.basalt, sdk: "4.3", qemu: 7)
        #expect(modern.contains("-kernel /sdk/qemu_micro_flash.bin"))
        #expect(
            modern.contains(
                "-serial null -serial unix:pebble,server=on,wait=off -serial unix:console,server=on,wait=off"
            )
        )
        let older = try arguments(.basalt, sdk: "4.3", qemu: 2)
        #expect(older.contains("-pflash /sdk/qemu_micro_flash.bin -pflash flash.bin"))
        #expect(older.contains("-serial null -serial unix:pebble,server,nowait -serial unix:console,server,nowait"))
    }

    @Test func aWindowIsShownWhereThereIsAScreen() throws {
        #expect(try arguments(.emery, sdk: nil).hasSuffix("-audio driver=none,id=audio0 -display none"))
        let command = EmulatorCommand(try found(.emery, nil), qemu: 10, hasDisplay: true)
        #expect(command.arguments.suffix(2) == ["-display", "sdl,show-cursor=on"])
    }

    @Test func theVersionIsWhatQEMUPrints() {
        #expect(EmulatorCommand.version(in: "QEMU emulator version 10.1.0 (v10.1.0-2-g9fcb5d0)") == 10)
        #expect(
            EmulatorCommand.version(in: "QEMU emulator version 2.5.0, Copyright (c) 2003-2008 Fabrice Bellard") == 2
        )
        #expect(EmulatorCommand.version(in: "qemu-pebble: command not found") == nil)
    }

    @Test func versionsOfSDKsAreOrdered() throws {
        let texts = ["4.3", "4.9", "4.9.77", "4.9.148", "4.9.169", "4.9.169-rc1", "4.10"]
        let versions = texts.compactMap { SDKRelease($0[...]) }
        #expect(versions.count == texts.count)
        #expect(versions.sorted() == versions)
        for text in ["current", "", "4..1", "tintin"] { #expect(SDKRelease(text[...]) == nil) }
    }

    // MARK: Places

    private func problem(_ text: String) -> String? {
        do {
            _ = try FirmwareAddress(parsing: text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(
        arguments: [
            ("qemu:emery", "emery"), ("qemu:/home/me/.pebble-sdk/SDKs/4.9.169/sdk-core/pebble/chalk/qemu/", "chalk"),
            ("qemu:./flint", "flint"), ("qemu:images/gabbro", "gabbro"),
        ]
    )
    func imagesAreThoseOfABoard(text: String, board: String) throws {
        guard case .images(let images) = try FirmwareAddress(parsing: text) else {
            Issue.record("\(text) names no images")
            return
        }
        #expect(images.board.rawValue == board)
        #expect(try FirmwareAddress(parsing: images.description) == .images(images))
    }

    @Test func otherPlacesAreRefusedWithAdvice() {
        #expect(
            problem("qemu:pebble")
                == "“pebble” is no board; write one of aplite, basalt, chalk, diorite, emery, flint, gabbro, or the path of a directory with its images"
        )
        #expect(problem("qemu:/tmp/images")?.contains("is of no board that is known by its name") == true)
        #expect(problem("emery")?.hasSuffix("unix:PATH, qemu:BOARD or qemu:DIRECTORY") == true)
        #expect(problem("virtual")?.contains("is no place of an emulator") == true)
        #expect(problem("tcp:127.0.0.1:12344") == nil)
    }
}
