import Glibc
import LinuxBluetooth
import SystemTestSupport
import Testing

/// The terminal end of a serial line and its device, without hardware.
private struct PseudoTerminal {
    let master: RawSocket
    let device: String

    init() throws {
        let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        try #require(descriptor >= 0)
        master = RawSocket(descriptor)
        var unlocked: Int32 = 0
        var number: Int32 = -1
        // Source: ioctl_tty(2), TIOCSPTLCK and TIOCGPTN.
        try #require(ioctl(descriptor, 0x4004_5431, &unlocked) == 0 && ioctl(descriptor, 0x8004_5430, &number) == 0)
        device = "/dev/pts/\(number)"
    }
}

@Suite struct SerialPortTests {
    private let rate: BaudRate

    init() throws { rate = try #require(BaudRate(921_600)) }

    @Test func passesEveryByteUnchanged() throws {
        let line = try PseudoTerminal()
        let stream = try connect(to: .serial(device: line.device, rate))
        // Every value there is, control characters and flow control characters included.
        let packet: [UInt8] = [0x02, 0x40, 0x20, 0x00, 0x01] + Array(0...255)
        stream.send(packet)
        try stream.flush()
        #expect(try line.master.read(packet.count) == packet)
        try line.master.write(packet)
        var packets: [[UInt8]] = []
        while packets.isEmpty {
            try #require(isReadable(stream.descriptor))
            try stream.receive { packets.append(Array($0)) }
        }
        #expect(packets == [packet])
    }

    @Test func setsSpeedFormatAndFlowControl() throws {
        let line = try PseudoTerminal()
        let stream = try connect(to: .serial(device: line.device, rate))
        var settings = termios()
        try #require(tcgetattr(stream.descriptor, &settings) == 0)
        #expect(cfgetispeed(&settings) == speed_t(B921600))
        #expect(cfgetospeed(&settings) == speed_t(B921600))
        #expect(settings.c_cflag & tcflag_t(CRTSCTS) != 0, "RTS/CTS")
        #expect(settings.c_cflag & tcflag_t(CSIZE) == tcflag_t(CS8))
        #expect(settings.c_cflag & tcflag_t(PARENB | CSTOPB) == 0)
        #expect(settings.c_iflag & tcflag_t(IXON | IXOFF | ICRNL) == 0)
        #expect(settings.c_lflag & tcflag_t(ICANON | ECHO | ISIG) == 0)
        #expect(settings.c_oflag & tcflag_t(OPOST) == 0)
    }

    @Test func leavesRTSAndCTSAloneWhereTheyAreNotWired() throws {
        let line = try PseudoTerminal()
        let stream = try connect(to: .serial(device: line.device, rate, .none))
        var settings = termios()
        try #require(tcgetattr(stream.descriptor, &settings) == 0)
        #expect(settings.c_cflag & tcflag_t(CRTSCTS) == 0)
        #expect(cfgetospeed(&settings) == speed_t(B921600))
    }

    @Test func dropsWhatIsLeftOfAnEarlierConversation() throws {
        let line = try PseudoTerminal()
        let keepsLineOpen = open(line.device, O_RDWR | O_NOCTTY)
        defer { close(keepsLineOpen) }
        try line.master.write([0x0A])
        try #require(isReadable(keepsLineOpen))
        let stream = try connect(to: .serial(device: line.device, rate))
        try line.master.write([0x04, 0x13, 0x01, 0x00])
        var packets: [[UInt8]] = []
        while packets.isEmpty {
            try #require(isReadable(stream.descriptor))
            try stream.receive { packets.append(Array($0)) }
        }
        #expect(packets == [[0x04, 0x13, 0x01, 0x00]])
        #expect(stream.takeGarbage() == nil)
    }

    @Test func noticesAHangUp() throws {
        let device: String
        let stream: any HCIConnection
        do {
            let line = try PseudoTerminal()
            device = line.device
            stream = try connect(to: .serial(device: device, rate))
            try line.master.write([0x04, 0x0E])
            try #require(isReadable(stream.descriptor))
            try stream.receive { _ in }
        }
        try #require(isReadable(stream.descriptor))
        let loss = try #require(throws: ConnectionLoss.self) { try stream.receive { _ in } }
        #expect(loss == .closed(unfinishedPacketBytes: 2) || loss == .failed(SystemError(code: EIO)))
    }

    @Test func isHeldByOneProgramAtATime() throws {
        let line = try PseudoTerminal()
        let address = TransportAddress.serial(device: line.device, rate)
        let first = try connect(to: address)
        let error = try #require(throws: TransportError.self) { try connect(to: address) }
        #expect(error.cause == .held)
        #expect(error.description == "cannot use \(address): another program holds the serial port")
        withExtendedLifetime(first) {}
    }

    @Test func refusesWhatIsNoSerialPort() throws {
        let error = try #require(throws: TransportError.self) {
            try connect(to: .serial(device: "/dev/null", rate))
        }
        #expect(error.cause == .notASerialPort)
    }
}
