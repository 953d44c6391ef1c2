import BluetoothHCI

/// What a layer keeps for one connection, as far as a `ConnectionTable` has to know.
protocol ConnectionMachine: Sendable {
    /// The connection. It does not change.
    var handle: ConnectionHandle { get }
    /// When time brings something to do; nil for never. It is asked for after every change, so that it must not be searched
    /// for.
    var deadline: Duration? { get }
    /// Whether there ever is one; if not, nothing is looked at after a change.
    static var hasDeadline: Bool { get }
}

extension ConnectionMachine {
    static var hasDeadline: Bool { true }

    /// The deadline, found where the machine stands: a getter of an element may be called on a copy, a mutating function is not.
    fileprivate mutating func findDeadline() -> Duration? { deadline }
}

/// What a layer keeps for its connections, oldest first, and the earliest of their deadlines.
///
/// The earliest deadline is kept, not searched for when it is asked for: every change of a machine goes through the table's
/// subscripts, which look at the machine's deadline afterwards. The deadlines are compared only if the earliest one moved
/// away, and stand apart from the machines for that.
struct ConnectionTable<Machine: ConnectionMachine>: Sendable {
    /// What is known of a machine without touching it.
    private struct Slot: Sendable {
        let handle: ConnectionHandle
        var deadline: Duration?
    }

    private var machines: [Machine] = []
    /// One for each machine, in the same order.
    private var slots: [Slot] = []
    /// When the first of the machines has something to do.
    private(set) var nextDeadline: Duration?
    /// The connections whose machines were changed since that was last settled.
    private(set) var stirred: StirredConnections = []

    /// A table without connections.
    init() {}

    /// Where the machine of a connection is.
    func index(of handle: ConnectionHandle) -> Int? {
        for index in slots.indices where slots[index].handle == handle { return index }
        return nil
    }

    /// Whether a machine's deadline has come.
    func isDue(_ index: Int, at now: Duration) -> Bool {
        guard let deadline = slots[index].deadline else { return false }
        return deadline <= now
    }

    /// Whether any machine's deadline has come.
    func isAnyDue(at now: Duration) -> Bool {
        guard let nextDeadline else { return false }
        return nextDeadline <= now
    }

    mutating func append(_ machine: Machine) {
        machines.append(machine)
        slots.append(Slot(handle: machine.handle))
        stirred.insert(StirredConnections(machine.handle))
        keepDeadline(machines.endIndex - 1)
    }

    @discardableResult
    mutating func remove(at index: Int) -> Machine {
        let deadline = slots.remove(at: index).deadline
        if deadline != nil, deadline == nextDeadline { compareDeadlines() }
        return machines.remove(at: index)
    }

    /// The machine of a connection, as a value of its own; nil if there is none.
    subscript(handle: ConnectionHandle) -> Machine? {
        get { index(of: handle).map { machines[$0] } }
        set {
            guard let index = index(of: handle) else {
                if let newValue { append(newValue) }
                return
            }
            if let newValue { self[index] = newValue } else { remove(at: index) }
        }
    }

    /// Which connection a machine is for, without touching the machine.
    func handle(at index: Int) -> ConnectionHandle { slots[index].handle }

    /// Changes a machine in a way that gives it nothing to send and leaves its deadline alone: nobody need look at it after that.
    @inline(__always)
    mutating func changeQuietly<Result, Failure>(
        _ index: Int,
        _ change: (inout Machine) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var span = machines.mutableSpan
        return try change(&span[index])
    }

    /// A machine may have something to send.
    mutating func stir(_ index: Int) { stirred.insert(StirredConnections(slots[index].handle)) }

    /// What was changed at some connections has been looked at.
    mutating func settle(_ connections: StirredConnections) { stirred.subtract(connections) }

    /// A machine's deadline. It takes no span: with one, release builds of Swift 6.3.1 changed `slots` of a copy of the table, too.
    private mutating func deadline(of index: Int) -> Duration? {
        machines[index].findDeadline()
    }

    /// Notes that a machine's deadline is another one.
    @inline(never)
    private mutating func keepDeadline(_ index: Int) {
        let old = slots[index].deadline
        let new = deadline(of: index)
        slots[index].deadline = new
        if let old, old == nextDeadline {
            compareDeadlines()
        } else {
            nextDeadline.lower(to: new)
        }
    }

    private mutating func compareDeadlines() {
        nextDeadline = nil
        for index in slots.indices { nextDeadline.lower(to: slots[index].deadline) }
    }
}

extension ConnectionTable: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { machines.endIndex }

    subscript(index: Int) -> Machine {
        // Runs no other accessor: what an accessor needs beyond four words is allocated.
        _read {
            let span = machines.span
            yield span[index]
        }
        _modify {
            stirred.insert(StirredConnections(slots[index].handle))
            defer {
                if Machine.hasDeadline, deadline(of: index) != slots[index].deadline { keepDeadline(index) }
            }
            var span = machines.mutableSpan
            yield &span[index]
        }
    }
}

extension Duration? {
    /// Takes another deadline if it comes earlier; nil is none.
    mutating func lower(to other: Duration?) {
        guard let other else { return }
        if let self, self <= other { return }
        self = other
    }
}
