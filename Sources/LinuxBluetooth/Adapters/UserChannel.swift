import BluetoothHCI
import CBluetooth
import CLinux
import Glibc

/// A whole adapter for this process alone: the kernel's HCI user channel.
///
/// The kernel's own stack lets go of the adapter when the channel is opened and takes it back when it is closed.
/// Source: Linux, `net/bluetooth/hci_sock.c`.
public enum UserChannel {
    /// An opened adapter.
    public struct Opened {
        /// The adapter as it was before.
        public let adapter: Adapter
        /// Carries its packets. When the last reference to it goes away, the adapter is the kernel's again.
        public let connection: PacketConnection
    }

    /// How much memory the kernel may spend on packets that wait for this process.
    ///
    /// The kernel doubles the figure, to 64 MB, and a packet costs it 768 bytes or more: some 87 000 of those that a busy radio
    /// brings 2000 a second, so more than 40 s of it. A phone gives a watch up that has said nothing for 30 s (Core 5.4, Vol 3,
    /// Part F, 3.3.3), so that there is nothing to win beyond. It is a limit: none of it is used unless this process stands
    /// still, and then a board with 512 MB has it to spare.
    static let receiveBuffer: Int32 = 32 << 20

    /// Opens an adapter: turns its radio on and switches it off first if need be, but takes it from no other program.
    /// - Parameter reclaims: this process had the adapter before. BlueZ's daemon takes every adapter that is plugged in,
    ///   so an adapter that comes back is taken from it.
    public static func open(
        _ reference: AdapterReference,
        reclaims: Bool = false
    ) throws(AdapterProblem) -> Opened {
        let control = try AdapterControl.opened()
        let adapter = try AdapterChoice.choose(reference, among: try control.listed(), reclaims: reclaims)
        try turnRadioOn(adapter)
        if adapter.isUp { try control.switchOff(adapter) }
        do throws(SystemError) {
            let socket = try bind(adapter.index)
            return Opened(adapter: adapter, connection: PacketConnection(owning: socket, kind: .userChannel))
        } catch {
            if adapter.isUp { try? control.switchOn(adapter.index) }
            throw AdapterProblem(error, to: "open", name: adapter.name)
        }
    }

    /// Switches an adapter on for the kernel's stack, as it was before it was opened. One that is gone by now stays gone.
    public static func giveBack(_ index: UInt16) {
        guard let control = try? AdapterControl() else { return }
        try? control.switchOn(index)
    }

    private static func bind(_ index: UInt16) throws(SystemError) -> FileDescriptor {
        let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = try FileDescriptor.checking(Glibc.socket(AF_BLUETOOTH, kind, BTPROTO_HCI))
        guard cbluetooth_bind(socket.number, index, UInt16(HCI_CHANNEL_USER)) == 0 else { throw .last }
        try socket.setOption(level: SOL_SOCKET, name: SO_RCVBUFFORCE, to: receiveBuffer)
        return socket
    }

    private static func turnRadioOn(_ adapter: Adapter) throws(AdapterProblem) {
        guard let radio = adapter.radioSwitch, radio.isSoftBlocked else { return }
        var event = rfkill_event()
        event.idx = radio.index
        event.op = UInt8(RFKILL_OP_CHANGE.rawValue)
        event.soft = 0
        let size = MemoryLayout<rfkill_event>.size
        guard let file = try? FileDescriptor.checking(Glibc.open("/dev/rfkill", O_WRONLY | O_CLOEXEC)),
            write(file.number, &event, size) == size
        else { throw .radioOff(name: adapter.name, isHard: false) }
    }
}

extension AdapterControl {
    /// The same as `init`, for a caller that wants words.
    static func opened() throws(AdapterProblem) -> AdapterControl {
        do {
            return try AdapterControl()
        } catch {
            throw AdapterProblem(asking: error)
        }
    }

    /// The same as `adapters`, for a caller that wants words.
    func listed() throws(AdapterProblem) -> [Adapter] {
        do {
            return try adapters()
        } catch {
            throw AdapterProblem(asking: error)
        }
    }

    fileprivate func switchOff(_ adapter: Adapter) throws(AdapterProblem) {
        do {
            try switchOff(adapter.index)
        } catch {
            throw AdapterProblem(error, to: "switch off", name: adapter.name)
        }
    }
}
