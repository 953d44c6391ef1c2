import Foundation
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

/// sysfs and procfs, made of plain files.
@Suite struct AdapterFilesTests {
    private let folder: TemporaryFolder
    private let files: AdapterFiles

    init() throws {
        folder = try TemporaryFolder()
        files = AdapterFiles(systemRoot: folder.path + "/sys", processRoot: folder.path + "/proc")
    }

    private func write(_ path: String, _ text: String) throws {
        let url = URL(fileURLWithPath: folder.path + "/" + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func link(_ path: String, to target: String) throws {
        let url = URL(fileURLWithPath: folder.path + "/" + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: target)
    }

    @Test func aDongle() throws {
        let interface = "sys/devices/usb1/1-2/1-2:1.0"
        try write(interface + "/bInterfaceNumber", "00\n")
        try write("sys/devices/usb1/1-2/idVendor", "0a12\n")
        try write("sys/devices/usb1/1-2/idProduct", "0001\n")
        try write("sys/devices/usb1/1-2/product", "CSR8510 A10\n")
        try link(interface + "/driver", to: "../../../../bus/usb/drivers/btusb")
        try link("sys/class/bluetooth/hci0/device", to: "../../../devices/usb1/1-2/1-2:1.0")
        try write("sys/class/bluetooth/hci0/rfkill4/soft", "1\n")
        try write("sys/class/bluetooth/hci0/rfkill4/hard", "0\n")
        #expect(files.driver(of: "hci0") == "btusb")
        #expect(files.usbDevice(of: "hci0") == Adapter.USBDevice(identifier: "0a12:0001", name: "CSR8510 A10"))
        #expect(
            files.radioSwitch(of: "hci0") == Adapter.RadioSwitch(index: 4, isSoftBlocked: true, isHardBlocked: false)
        )
    }

    @Test func oneOnASerialPortAndOneThatIsNotThere() throws {
        try link("sys/devices/serial0-0/driver", to: "../../bus/serial/drivers/hci_uart_bcm")
        try link("sys/class/bluetooth/hci1/device", to: "../../../devices/serial0-0")
        #expect(files.driver(of: "hci1") == "hci_uart_bcm")
        #expect(files.usbDevice(of: "hci1") == nil)
        #expect(files.radioSwitch(of: "hci1") == nil)
        #expect(files.driver(of: "hci9") == nil)
        #expect(files.radioSwitch(of: "hci9") == nil)
    }

    @Test func whoHasSockets() throws {
        try write(
            "proc/net/hci",
            """
            sk               RefCnt Rmem   Wmem   User   Inode  Parent
            0000000018083268 2      0      0      0      11045  0
            0000000018083269 2      0      0      0      11046  0

            """
        )
        try write("proc/12/comm", "cairn\n")
        try link("proc/12/fd/3", to: "/dev/null")
        try link("proc/12/fd/7", to: "socket:[11045]")
        // Its files cannot be seen by other users: known by its name.
        try write("proc/99/comm", "bluetoothd\n")
        try write("proc/100/comm", "sshd\n")
        try link("proc/100/fd/3", to: "socket:[4711]")
        try write("proc/200/comm", "btmon\n")
        try link("proc/200/fd/3", to: "socket:[11046]")
        try write("proc/meminfo", "")
        #expect(
            files.hciUsers(except: 4).map(\.description) == [
                "cairn (process 12)", "bluetoothd (process 99)", "btmon (process 200)",
            ]
        )
        #expect(files.hciUsers(except: 12).map(\.name) == ["bluetoothd", "btmon"])
    }

    @Test func withoutSocketsNobodyHasAny() throws {
        try write("proc/99/comm", "bluetoothd\n")
        #expect(files.hciUsers(except: 4).isEmpty, "there is no table on a kernel without Bluetooth")
        try write("proc/net/hci", "sk RefCnt Rmem Wmem User Inode Parent\n")
        #expect(files.hciUsers(except: 4).isEmpty)
    }
}
