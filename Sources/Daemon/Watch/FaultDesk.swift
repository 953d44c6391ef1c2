import BluetoothHCI
import BluetoothHost
import Control
import Faults
import HCIRuntime
import PebbleWatch

/// Where faults are added: it gives each a number, and hands it to the seam that has it.
///
/// Nothing of it is remembered: a process that starts has no faults.
package final class FaultDesk {
    private let watch: HostRunner<WatchHost>
    private let hasStore: Bool
    private let isAllowed: Bool
    private var last = 0
    /// The air, if it is in this process.
    weak var air: VirtualAir?

    /// - Parameters:
    ///   - hasStore: whether the watch keeps its state.
    ///   - isAllowed: whether faults can be added at all.
    init(watch: HostRunner<WatchHost>, hasStore: Bool, isAllowed: Bool) {
        self.watch = watch
        self.hasStore = hasStore
        self.isAllowed = isAllowed
    }

    /// The faults that are there, in the order of their numbers.
    var running: [RunningFault] {
        let all =
            (air?.runningFaults ?? []) + watch.runningFaults + watch.look { $0.watch.runningFaults }
        return all.sorted { $0.id < $1.id }
    }

    /// Adds a fault.
    /// - Returns: its number.
    func add(_ fault: Fault, at now: Duration) throws(WatchCommandError) -> FaultID {
        guard isAllowed else { throw .fault(.notAllowed) }
        let need = fault.definition.need
        let isThere =
            switch need {
            case .nothing: true
            case .virtualAir: air != nil
            case .store: hasStore
            }
        if !isThere, let refusal = need.refusal { throw .fault(.notHere(fault.name, refusal)) }
        let id = FaultID(rawValue: last + 1)
        do throws(FaultError) {
            switch fault.kind {
            case .radio: try air?.add(fault, as: id)
            case .hci: try watch.add(fault, as: id, basis: { $0.watch.faultBasis }, at: now)
            case .ppogatt, .message, .watch:
                do throws(WatchCommandError) {
                    try watch.perform(.addFault(fault, id), at: now)
                } catch {
                    // The number is given to the next one.
                    if case .fault(let error) = error { throw error }
                }
            }
        } catch {
            throw .fault(error)
        }
        last = id.rawValue
        return id
    }

    /// Takes a fault away, or all of them.
    func clear(_ id: FaultID?, at now: Duration) throws(WatchCommandError) {
        guard isAllowed else { throw .fault(.notAllowed) }
        if let id, !running.contains(where: { $0.id == id }) { throw .fault(.unknownNumber(id.rawValue)) }
        _ = air?.clearFault(id)
        _ = watch.clearFault(id, at: now)
        guard id == nil || watch.look({ $0.watch.runningFaults.contains { $0.id == id } }) else { return }
        try watch.perform(.clearFaults(id), at: now)
    }
}
