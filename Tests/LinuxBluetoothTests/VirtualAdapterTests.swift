import Glibc
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

@Suite struct VirtualAdapterTests {
    @Test func asksForAnAdapterAndReadsWhichOne() throws {
        let (descriptor, driver) = try RawSocket.packetPair()
        let connection = try VirtualAdapter.create(on: FileDescriptor(owning: descriptor))
        #expect(try driver.readPacket() == [0xFF, 0x00])
        // The driver's answer, and the kernel's first command, which may come before it.
        try driver.write([0x01, 0x03, 0x0C, 0x00])
        try driver.write([0xFF, 0x00, 0x02, 0x01])
        var packets: [[UInt8]] = []
        try connection.receive { packets.append(Array($0)) }
        #expect(packets == [[0x01, 0x03, 0x0C, 0x00], [0xFF, 0x00, 0x02, 0x01]])
        #expect(packets.map { VirtualAdapter.isVendorPacket($0[...]) } == [false, true])
        #expect(VirtualAdapter.index(from: packets[1][...]) == 0x0102)
        #expect(VirtualAdapter.index(from: packets[0][...]) == nil)
        #expect(VirtualAdapter.index(from: [0xFF, 0x00, 0x02]) == nil)
        #expect(VirtualAdapter.index(from: []) == nil)
    }

    @Test(arguments: [
        (ENOENT, false, "this kernel has not loaded the driver: run “modprobe hci_vhci” as root"),
        (ENODEV, false, "this kernel has not loaded the driver"),
        (EACCES, true, "only root may: run it with sudo, or give your user the device with “setfacl -m u:$USER:rw"),
        (EMFILE, false, "this machine is short of files or memory: ask for fewer adapters"),
        (EBUSY, false, "see what the kernel says about it: dmesg"),
    ])
    func saysWhatToDo(code: Int32, isPermission: Bool, advice: String) {
        let error = VirtualAdapterError(path: "/dev/vhci", cause: SystemError(code: code))
        #expect(error.advice.hasPrefix(advice))
        #expect(error.isPermission == isPermission)
        #expect(error.description.hasPrefix("cannot make a virtual adapter with /dev/vhci: "))
    }

    @Test func aDriverThatIsNotThere() throws {
        let folder = try TemporaryFolder()
        let error = try #require(throws: VirtualAdapterError.self) {
            _ = try VirtualAdapter.create(path: folder.path + "/vhci")
        }
        #expect(error.cause.code == ENOENT)
    }
}
