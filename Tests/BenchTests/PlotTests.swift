import Foundation
import FoundationXML
import Testing

@testable import cairn_bench

/// Plots are valid XML, and their points are where the numbers say.
@Suite struct PlotTests {
    private func isWellFormed(_ text: String) -> Bool { XMLParser(data: Data(text.utf8)).parse() }

    @Test func barsAreAsLongAsTheirValues() throws {
        let chart = BarChart(
            title: "A < B & C",
            axis: "x",
            series: ["one", "two"],
            groups: [.init(name: "first", values: [1, 10]), .init(name: "second", values: [100, nil])]
        )
        let svg = chart.svg.document
        #expect(isWellFormed(svg))
        #expect(svg.contains("A &lt; B &amp; C"))
        // From 1 to 100 on 590 units, of which a bar of 1 has the least, 10 half and 100 all.
        for width in ["1", "295", "590"] { #expect(svg.contains("width=\"\(width)\" height=\"12\"")) }
    }

    @Test func aLogarithmicAxisGivesEachPowerOfTenTheSameRoom() {
        let axis = LogarithmicAxis(covering: [0.02, 30], from: 0, to: 400)
        #expect(axis.ticks.map(\.axisLabel) == ["0.01", "0.1", "1", "10", "100"])
        for (tick, place) in zip(axis.ticks, [0.0, 100, 200, 300, 400]) {
            #expect(abs(axis.position(tick) - place) < 1e-6)
        }
        #expect(axis.position(0.0001) == 0 && axis.position(1e9) == 400)
    }

    @Test func curvesAreWellFormed() {
        let chart = CurveChart(
            title: "t",
            axis: "s",
            curves: [.init(name: "a", points: [(0.1, 0.5), (1, 1)]), .init(name: "b", points: [(0.2, 0.5), (2, 1)])],
            mark: .init(value: 1, label: "target")
        )
        #expect(isWellFormed(chart.svg.document))
        #expect(chart.svg.document.contains("polyline"))
    }

    @Test func columnsLineUp() {
        var table = TextTable(["name", "x"])
        table.append(["a", "1"])
        table.append(["longer", "10"])
        #expect(table.text == "| name   |  x |\n|--------|----|\n| a      |  1 |\n| longer | 10 |")
    }
}
