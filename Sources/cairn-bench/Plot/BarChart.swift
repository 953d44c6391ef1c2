/// Groups of horizontal bars over a logarithmic axis.
struct BarChart {
    struct Group {
        let name: String
        /// One value for each series; nil for none.
        let values: [Double?]
    }

    let title: String
    let axis: String
    let series: [String]
    let groups: [Group]

    private static let colors = ["#2563eb", "#9ca3af", "#f59e0b"]
    private static let barHeight = 14.0
    private static let left = 230.0
    private static let width = 900.0

    var svg: SVG {
        let groupHeight = Double(series.count) * Self.barHeight + 14
        let top = 70.0
        let bottom = top + Double(groups.count) * groupHeight
        var svg = SVG(width: Self.width, height: bottom + 50)
        let scale = LogarithmicAxis(
            covering: groups.flatMap { $0.values.compactMap(\.self) },
            from: Self.left,
            to: Self.width - 80
        )
        svg.text(title, x: 20, y: 28, size: 17)
        for (index, name) in series.enumerated() {
            let x = Self.left + Double(index) * 200
            svg.rectangle(x: x, y: 42, width: 12, height: 12, color: Self.colors[index % Self.colors.count])
            svg.text(name, x: x + 18, y: 53)
        }
        for tick in scale.ticks {
            let x = scale.position(tick)
            svg.line(from: (x, top - 6), to: (x, bottom), color: "#e5e7eb")
            svg.text(tick.axisLabel, x: x, y: bottom + 18, anchor: .middle)
        }
        svg.text(axis, x: (Self.left + Self.width - 80) / 2, y: bottom + 38, anchor: .middle)
        for (row, group) in groups.enumerated() {
            let y = top + Double(row) * groupHeight
            svg.text(group.name, x: Self.left - 10, y: y + groupHeight / 2 - 4, anchor: .end)
            for (index, value) in group.values.enumerated() {
                guard let value else { continue }
                let end = scale.position(value)
                let barTop = y + Double(index) * Self.barHeight
                svg.rectangle(
                    x: Self.left,
                    y: barTop,
                    width: max(1, end - Self.left),
                    height: Self.barHeight - 2,
                    color: Self.colors[index % Self.colors.count]
                )
                svg.text(value.text(value < 100 ? 1 : 0), x: end + 6, y: barTop + 10, size: 11)
            }
        }
        return svg
    }
}
