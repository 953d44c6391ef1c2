import CLinux
import Glibc
import LinuxBluetooth
import SeededRandomness
import SystemTestSupport
import Testing

@testable import Board

/// Requests to the kernel, and its answers. The layouts and numbers are those of include/uapi/linux/gpio.h, written
/// down here by hand; the real kernel is asked in Tests/Kernel.
@Suite struct GPIOTests {
    private func bytes(of request: GPIORequest) -> [UInt8] {
        withUnsafeBytes(of: request.structure) { Array($0) }
    }

    private func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> UInt64 {
        bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @Test func requestsHaveTheKernelsNumbers() {
        // _IOC(direction, 0xB4, number, size): read 2, write 1.
        #expect(gpio_get_chip_info_request == 0x8044_B401)
        #expect(gpio_get_line_info_request == 0xC100_B405)
        #expect(gpio_get_lines_request == 0xC250_B407)
        #expect(gpio_get_values_request == 0xC010_B40E)
        #expect(gpio_set_values_request == 0xC010_B40F)
        #expect(MemoryLayout<gpio_v2_line_event>.size == 48)
    }

    @Test(arguments: [
        // INPUT 0x4, EDGE_RISING 0x10, EDGE_FALLING 0x20; ACTIVE_LOW 0x2; BIAS_PULL_UP 0x100, _DOWN 0x200, _DISABLED 0x400.
        (GPIOLevel.low, GPIOPull.up, UInt64(0x136)),
        (.high, .down, 0x234),
        (.high, .none, 0x434),
    ])
    func buttonsAreAskedForWithTheirFlags(active: GPIOLevel, pull: GPIOPull, flags: UInt64) {
        let request = GPIORequest(
            lines: [5, 6, 13, 300],
            active: active,
            direction: .input(pull, debounce: .milliseconds(10))
        )
        let bytes = bytes(of: request)
        #expect(bytes.count == 592)
        #expect((0..<5).map { number(bytes, $0 * 4, 4) } == [5, 6, 13, 300, 0])
        #expect(bytes[256..<262].elementsEqual("cairn\0".utf8))
        #expect(number(bytes, 288, 8) == flags)
        #expect(number(bytes, 296, 4) == 1, "one attribute")
        // The attribute: id 3, debouncing, 10 000 microseconds; for the first four lines.
        #expect(number(bytes, 320, 4) == 3)
        #expect(number(bytes, 328, 4) == 10_000)
        #expect(number(bytes, 336, 8) == 0b1111)
        #expect(number(bytes, 560, 4) == 4, "four lines")
        #expect(bytes[564...].allSatisfy { $0 == 0 })
    }

    @Test func withoutDebouncingThereIsNoAttribute() {
        let request = GPIORequest(lines: [1], active: .low, direction: .input(.up, debounce: nil))
        #expect(number(bytes(of: request), 296, 4) == 0)
        #expect(bytes(of: request)[320..<560].allSatisfy { $0 == 0 })
    }

    @Test func anLEDIsAnOutput() {
        let low = bytes(of: GPIORequest(lines: [26], active: .low, direction: .output))
        #expect(number(low, 288, 8) == 0x8 | 0x2)
        let high = bytes(of: GPIORequest(lines: [26], active: .high, direction: .output))
        #expect(number(high, 288, 8) == 0x8)
        #expect(number(high, 296, 4) == 0)
    }

    /// A line as struct gpio_v2_line_event: time, kind, line, two sequence numbers, six words of padding.
    private func event(_ nanoseconds: UInt64, _ kind: UInt32, _ line: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: nanoseconds >> shift))
        }
        for word in [kind, line, 1, 1, 0, 0, 0, 0, 0, 0] {
            for shift in stride(from: 0, to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    @Test func edgesAreReadAsTheKernelWritesThem() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let inputs = GPIOInputs(
            lines: [5, 6],
            reading: FileDescriptor(owning: ends[0]),
            isDebounced: true
        )
        #expect(try inputs.nextEdges() == [])
        do {
            let kernel = RawSocket(ends[1])
            try kernel.write(
                event(1_500_000_000, 1, 5) + event(1_600_000_000, 2, 5) + event(.max, 1, 6) + event(1, 9, 6)
            )
            #expect(
                try inputs.nextEdges() == [
                    GPIOEdge(line: 5, isActive: true, time: .milliseconds(1500)),
                    GPIOEdge(line: 5, isActive: false, time: .milliseconds(1600)),
                    GPIOEdge(line: 6, isActive: true, time: .nanoseconds(Int64.max)),
                ]
            )
            #expect(try inputs.nextEdges() == [])
        }
        // A chip that was unplugged.
        #expect(throws: GPIOError.self) { try inputs.nextEdges() }
    }

    @Test func aChipThatIsNotThereIsExplained() throws {
        let folder = try TemporaryFolder()
        let none = try #require(throws: GPIOError.self) {
            try GPIOChip.named("pinctrl-rp1", folder: folder.path)
        }
        #expect(none.description == "there is no GPIO chip with the label “pinctrl-rp1”")
        #expect(none.advice.contains("no GPIO chips"))
        let missing = try #require(throws: GPIOError.self) { try GPIOChip.named("/nowhere/gpiochip0") }
        #expect(
            missing.description
                == "cannot use the GPIO chip /nowhere/gpiochip0: No such file or directory"
        )
        let other = try #require(throws: GPIOError.self) { try GPIOChip.named("/dev/null") }
        #expect(
            other.description == "cannot use the GPIO chip /dev/null: Inappropriate ioctl for device"
        )
        #expect(!other.isPermission)
    }

    @Test func chipsAreLookedAtInTheOrderOfTheirNumbers() throws {
        let folder = try TemporaryFolder()
        for name in ["gpiochip10", "gpiochip2", "gpiochip", "gpiochipx", "gpio3", "null"] {
            close(open(folder.file(name), O_CREAT | O_WRONLY, 0o600))
        }
        #expect(GPIOChip.paths(in: folder.path) == [2, 10].map { "\(folder.path)/gpiochip\($0)" })
        #expect(GPIOChip.paths(in: "/nowhere") == [])
    }

    // MARK: Buttons

    private func take(_ edge: GPIOEdge, _ lines: inout HeldLines) -> Bool { lines.receive(edge) }

    private func debounced(_ debouncer: inout LineDebouncer, _ time: Duration) -> [GPIOEdge] {
        debouncer.advance(to: time)
    }

    private func edge(_ line: UInt32, _ isActive: Bool, _ milliseconds: Int) -> GPIOEdge {
        GPIOEdge(line: line, isActive: isActive, time: .milliseconds(milliseconds))
    }

    @Test func aBouncingContactIsOneEdge() {
        var debouncer = LineDebouncer(period: .milliseconds(10))
        for (active, time) in [(true, 100), (false, 102), (true, 103), (false, 104), (true, 109)] {
            debouncer.receive(edge(5, active, time))
            #expect(debounced(&debouncer, .milliseconds(time)) == [])
        }
        #expect(debouncer.nextDeadline == .milliseconds(119))
        #expect(debounced(&debouncer, .milliseconds(118)) == [])
        #expect(debounced(&debouncer, .milliseconds(119)) == [edge(5, true, 109)])
        #expect(debouncer.nextDeadline == nil)
        // A disturbance after which the level is the same is not reported.
        debouncer.receive(edge(5, false, 200))
        debouncer.receive(edge(5, true, 203))
        #expect(debounced(&debouncer, .milliseconds(300)) == [])
        debouncer.receive(edge(5, false, 400))
        #expect(debounced(&debouncer, .milliseconds(500)) == [edge(5, false, 400)])
    }

    @Test func linesDoNotDisturbEachOther() {
        var debouncer = LineDebouncer(period: .milliseconds(10), active: [6])
        debouncer.receive(edge(6, false, 5))
        debouncer.receive(edge(5, true, 1))
        debouncer.receive(edge(7, false, 2))
        #expect(debouncer.nextDeadline == .milliseconds(11))
        #expect(debounced(&debouncer, .milliseconds(100)) == [edge(5, true, 1), edge(6, false, 5)])
    }

    /// For any bouncing: the reported levels alternate, end as the contact does, and come after it was quiet.
    @Test(arguments: 0..<20) func debouncingKeepsItsPromises(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var debouncer = LineDebouncer(period: .milliseconds(10))
        var now = Duration.zero
        var isActive = false
        var reported: [GPIOEdge] = []
        for _ in 0..<500 {
            let step = Duration.milliseconds(Int64.random(in: 0...15, using: &random))
            let edges = debouncer.advance(to: now + step)
            #expect(edges.allSatisfy { $0.time + .milliseconds(10) <= now + step })
            reported += edges
            now += step
            isActive.toggle()
            debouncer.receive(GPIOEdge(line: 1, isActive: isActive, time: now))
        }
        reported += debouncer.advance(to: now + .seconds(1))
        #expect(
            reported.enumerated().allSatisfy { $0.element.isActive == $0.offset.isMultiple(of: 2) },
            "seed \(seed)"
        )
        #expect(reported.last?.isActive ?? false == isActive, "seed \(seed)")
    }

    @Test func aButtonThatIsStuckAtTheStartDoesNotCount() {
        var lines = HeldLines(active: [5])
        #expect(lines.held.isEmpty)
        #expect(!take(edge(5, true, 1), &lines))
        #expect(take(edge(6, true, 2), &lines))
        #expect(lines.held == [6])
        #expect(!take(edge(6, true, 3), &lines), "it is down already")
        #expect(!take(edge(5, false, 4), &lines), "it never counted")
        #expect(take(edge(5, true, 5), &lines))
        #expect(lines.held == [5, 6])
        #expect(take(edge(6, false, 6), &lines))
        #expect(!take(edge(6, false, 7), &lines))
        #expect(lines.held == [5])
    }
}
