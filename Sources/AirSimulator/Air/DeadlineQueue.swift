/// The number of one of those who have deadlines in a queue.
struct DeadlineActor: Hashable, Sendable {
    let number: Int
}

/// Who is due when: a binary heap in which every actor has at most one deadline, which may be moved at any time.
///
/// Actors are small integers handed out by `makeActor()`. Ties go to the lower number, so the order of events is a
/// function of the inputs alone.
struct DeadlineQueue<Time: Comparable & Sendable>: Sendable {
    private struct Entry {
        var deadline: Time
        var number: Int

        func isBefore(_ other: Entry) -> Bool {
            deadline == other.deadline ? number < other.number : deadline < other.deadline
        }
    }

    private var heap: [Entry] = []
    /// Where in the heap each actor stands; -1 for those without a deadline.
    private var positions: [Int] = []
    private var free: [Int] = []

    /// The earliest deadline of all.
    var next: Time? { heap.first?.deadline }

    /// A new actor, without a deadline.
    mutating func makeActor() -> DeadlineActor {
        if let number = free.popLast() { return DeadlineActor(number: number) }
        positions.append(-1)
        return DeadlineActor(number: positions.count - 1)
    }

    /// Forgets an actor; its number is used again.
    mutating func remove(_ actor: DeadlineActor) {
        set(nil, for: actor)
        free.append(actor.number)
    }

    /// Moves an actor's deadline, or takes it away.
    mutating func set(_ deadline: Time?, for actor: DeadlineActor) {
        let position = positions[actor.number]
        guard let deadline else {
            if position >= 0 { removeEntry(at: position) }
            return
        }
        if position < 0 {
            heap.append(Entry(deadline: deadline, number: actor.number))
            positions[actor.number] = heap.count - 1
            siftUp(heap.count - 1)
        } else if heap[position].deadline != deadline {
            heap[position].deadline = deadline
            siftUp(position)
            siftDown(positions[actor.number])
        }
    }

    /// Takes the actor that is due first, if it is due by `now`. It keeps no deadline until it is given a new one.
    mutating func popActor(dueBy now: Time) -> (actor: DeadlineActor, deadline: Time)? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        removeEntry(at: 0)
        return (DeadlineActor(number: first.number), first.deadline)
    }

    private mutating func removeEntry(at position: Int) {
        positions[heap[position].number] = -1
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[last.number] = position
        siftUp(position)
        siftDown(positions[last.number])
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].isBefore(heap[first]) {
                first = child
            }
            guard first != parent else { return }
            exchange(parent, first)
            parent = first
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        positions[heap[left].number] = left
        positions[heap[right].number] = right
    }
}
