/// How figures grow with a number: both axes are logarithmic.
struct GrowthChart {
    struct Curve {
        let name: String
        /// The number and the figure, both above zero, in the order of the number.
        let points: [(number: Double, figure: Double)]
    }

    let title: String
    let axis: String
    let curves: [Curve]

    private static let colors = ["#2563eb", "#dc2626", "#059669", "#d97706"]
    private static let left = 70.0
    private static let right = 680.0
    private static let top = 50.0
    private static let bottom = 390.0
    private static let width = 900.0

    var svg: SVG {
        var svg = SVG(width: Self.width, height: Self.bottom + 60)
        let points = curves.flatMap(\.points)
        let across = LogarithmicAxis(covering: points.map(\.number), from: Self.left, to: Self.right)
        let up = LogarithmicAxis(covering: points.map(\.figure), from: Self.bottom, to: Self.top)
        svg.text(title, x: 20, y: 28, size: 17)
        for tick in across.ticks {
            let x = across.position(tick)
            svg.line(from: (x, Self.top), to: (x, Self.bottom), color: "#e5e7eb")
            svg.text(tick.axisLabel, x: x, y: Self.bottom + 18, anchor: .middle)
        }
        for tick in up.ticks {
            let y = up.position(tick)
            svg.line(from: (Self.left, y), to: (Self.right, y), color: "#e5e7eb")
            svg.text(tick.axisLabel, x: Self.left - 8, y: y + 4, anchor: .end, size: 11)
        }
        svg.text(axis, x: (Self.left + Self.right) / 2, y: Self.bottom + 42, anchor: .middle)
        for (index, curve) in curves.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            svg.curve(curve.points.map { (across.position($0.number), up.position($0.figure)) }, color: color)
            let y = Self.top + 12 + Double(index) * 22
            svg.rectangle(x: Self.right + 20, y: y - 10, width: 12, height: 12, color: color)
            svg.text(curve.name, x: Self.right + 38, y: y)
        }
        return svg
    }
}
