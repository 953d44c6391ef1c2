/// Shares, from nothing to all, over a logarithmic axis of time.
struct CurveChart {
    struct Curve {
        let name: String
        /// Values above zero, and the shares reached by them, rising.
        let points: [(value: Double, share: Double)]
    }

    /// A value that matters.
    struct Mark {
        let value: Double
        let label: String
    }

    let title: String
    let axis: String
    let curves: [Curve]
    var mark: Mark?

    private static let colors = [
        "#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4b5563",
    ]
    private static let left = 70.0
    private static let right = 680.0
    private static let top = 50.0
    private static let bottom = 390.0
    private static let width = 900.0

    var svg: SVG {
        var svg = SVG(width: Self.width, height: Self.bottom + 60)
        let values = curves.flatMap { $0.points.map(\.value) } + [mark?.value].compactMap(\.self)
        let scale = LogarithmicAxis(covering: values, from: Self.left, to: Self.right)
        svg.text(title, x: 20, y: 28, size: 17)
        drawGrid(scale, &svg)
        if let mark {
            let x = scale.position(mark.value)
            svg.curve([(x, Self.top), (x, Self.bottom)], color: "#6b7280", isDashed: true)
            svg.text(mark.label, x: x + 5, y: Self.top + 12, size: 11)
        }
        for (index, curve) in curves.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            svg.curve(curve.points.map { (scale.position($0.value), Self.height(of: $0.share)) }, color: color)
            let y = Self.top + 12 + Double(index) * 22
            svg.rectangle(x: Self.right + 20, y: y - 10, width: 12, height: 12, color: color)
            svg.text(curve.name, x: Self.right + 38, y: y)
        }
        return svg
    }

    private func drawGrid(_ scale: LogarithmicAxis, _ svg: inout SVG) {
        for tick in scale.ticks {
            let x = scale.position(tick)
            svg.line(from: (x, Self.top), to: (x, Self.bottom), color: "#e5e7eb")
            svg.text(tick.axisLabel, x: x, y: Self.bottom + 18, anchor: .middle)
        }
        for share in [0, 0.25, 0.5, 0.75, 0.95, 1] {
            let y = Self.height(of: share)
            svg.line(from: (Self.left, y), to: (Self.right, y), color: "#e5e7eb")
            svg.text("\((share * 100).axisLabel) %", x: Self.left - 8, y: y + 4, anchor: .end, size: 11)
        }
        svg.text(axis, x: (Self.left + Self.right) / 2, y: Self.bottom + 42, anchor: .middle)
    }

    private static func height(of share: Double) -> Double { bottom - (bottom - top) * share }
}
