import DequeModule

/// What apps are called, as far as the phone was asked; it is asked once.
struct ANCSAppNames: Sendable {
    /// The most apps whose names are remembered; beyond it the oldest is forgotten.
    static let limit = 64

    private var names: [String: String] = [:]
    /// The apps of `names`, oldest first.
    private var order: Deque<String> = []

    /// The name of the app with this identifier, which may be empty; nil while it is not known.
    subscript(app: String) -> String? {
        get { names[app] }
        set {
            guard let newValue else { return }
            if names.updateValue(newValue, forKey: app) == nil { order.append(app) }
            if order.count > Self.limit, let oldest = order.popFirst() { names[oldest] = nil }
        }
    }
}
