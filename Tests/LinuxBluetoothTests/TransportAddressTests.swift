import BluetoothHCI
import LinuxBluetooth
import Testing

@Suite struct TransportAddressTests {
    @Test(arguments: [
        ("virtual", TransportAddress.virtual),
        ("tcp:127.0.0.1:6402", .tcp(host: "127.0.0.1", port: 6402)),
        ("tcp:[::1]:1", .tcp(host: "::1", port: 1)),
        ("tcp:raspberry.local:65535", .tcp(host: "raspberry.local", port: 65535)),
        ("unix:/run/a:b,c.sock", .unix(path: "/run/a:b,c.sock")),
        ("hci0", .adapter(.index(0))),
        ("hci12", .adapter(.index(12))),
        ("hci", .adapter(.first)),
        ("usb", .adapter(.firstUSB)),
        ("hci:00:1A:7D:DA:71:13", .adapter(.address(DeviceAddress(0x001A_7DDA_7113)))),
    ])
    func readsEachKind(text: String, address: TransportAddress) throws {
        #expect(try TransportAddress(parsing: text) == address)
        #expect(address.description == text, "it prints as it is written")
    }

    @Test func readsSerialPorts() throws {
        for (text, bitsPerSecond) in [("serial:/dev/ttyUSB0,115200", 115_200), ("serial:/dev/a,b,3000000", 3_000_000)] {
            let address = try TransportAddress(parsing: text)
            guard case .serial(_, let rate, .hardware) = address else {
                Issue.record("\(address)")
                continue
            }
            #expect(rate.bitsPerSecond == bitsPerSecond)
            #expect(address.description == text)
        }
    }

    @Test func readsHowSerialPortsAreStopped() throws {
        let rate = try #require(BaudRate(921_600))
        #expect(try TransportAddress(parsing: "serial:/dev/a,921600,noflow") == .serial(device: "/dev/a", rate, .none))
        #expect(
            try TransportAddress(parsing: "serial:/dev/a,921600,flow") == .serial(device: "/dev/a", rate, .hardware)
        )
        #expect(TransportAddress.serial(device: "/dev/a", rate, .none).description == "serial:/dev/a,921600,noflow")
    }

    @Test(arguments: [
        (
            "",
            "“” is no way to reach a controller; write hci0 (cairn adapters lists what there is), virtual, netsim, "
                + "android-emulator, tcp:HOST:PORT, unix:PATH or serial:DEVICE,BAUD"
        ),
        ("hci-1", "“hci-1” is no way to reach a controller"),
        ("hci65536", "“hci65536” is no way to reach a controller"),
        ("hci:00:1A", "“hci:00:1A” is no way to reach a controller"),
        ("serial:/dev/ttyS0,115200,xon", "“xon” in “serial:/dev/ttyS0,115200,xon” is no standard baud rate"),
        ("serial:/dev/ttyS0,flow", "“serial:/dev/ttyS0,flow” names no baud rate"),
        ("usb:0", "“usb:0” is no way to reach a controller"),
        ("virtual:1", "“virtual:1” is no way to reach a controller"),
        ("tcp:localhost", "“tcp:localhost” names no port; write tcp:HOST:PORT"),
        ("tcp", "“tcp” names no port"),
        ("tcp::6402", "“tcp::6402” names no host"),
        ("tcp:localhost:0", "“0” in “tcp:localhost:0” is no TCP port (1 to 65535)"),
        ("tcp:localhost:65536", "“65536” in “tcp:localhost:65536” is no TCP port"),
        ("tcp:localhost:http", "“http” in “tcp:localhost:http” is no TCP port"),
        ("tcp:::1:6402", "“tcp:::1:6402” has an IPv6 address without brackets"),
        ("unix:", "“unix:” names no socket"),
        ("serial:/dev/ttyS0", "“serial:/dev/ttyS0” names no baud rate; write serial:DEVICE,BAUD"),
        ("serial:,115200", "“serial:,115200” names no device"),
        (
            "serial:/dev/ttyS0,115201",
            "“115201” in “serial:/dev/ttyS0,115201” is no standard baud rate; use one of 1200,"
        ),
        ("serial:/dev/ttyS0,fast", "“fast” in “serial:/dev/ttyS0,fast” is no standard baud rate"),
    ])
    func saysWhatIsWrong(text: String, beginning: String) {
        do {
            Issue.record("read as \(try TransportAddress(parsing: text))")
        } catch {
            #expect(error.description.hasPrefix(beginning), "\(error)")
        }
    }

    @Test func refusesAUnixPathThatTheKernelCannotHold() throws {
        // sockaddr_un has 108 bytes for the path and its terminating zero: unix(7).
        let longest = "unix:/" + String(repeating: "x", count: 106)
        #expect(try TransportAddress(parsing: longest).description == longest)
        #expect(throws: TransportAddressError.self) { try TransportAddress(parsing: longest + "x") }
    }
}
