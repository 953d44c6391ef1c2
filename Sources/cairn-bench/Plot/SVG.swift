import Foundation

/// A drawing, written as SVG.
struct SVG {
    enum Anchor: String {
        case start
        case middle
        case end
    }

    let width: Double
    let height: Double
    private var body = ""

    init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }

    mutating func rectangle(x: Double, y: Double, width: Double, height: Double, color: String) {
        body += "<rect x=\"\(x.short)\" y=\"\(y.short)\" width=\"\(width.short)\" height=\"\(height.short)\" "
        body += "fill=\"\(color)\"/>\n"
    }

    mutating func line(from start: (x: Double, y: Double), to end: (x: Double, y: Double), color: String) {
        body += "<line x1=\"\(start.x.short)\" y1=\"\(start.y.short)\" x2=\"\(end.x.short)\" y2=\"\(end.y.short)\" "
        body += "stroke=\"\(color)\"/>\n"
    }

    mutating func curve(_ points: [(x: Double, y: Double)], color: String, isDashed: Bool = false) {
        let list = points.map { "\($0.x.short),\($0.y.short)" }.joined(separator: " ")
        let dashes = isDashed ? " stroke-dasharray=\"6 4\"" : ""
        body += "<polyline points=\"\(list)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"\(dashes)/>\n"
    }

    mutating func text(_ text: String, x: Double, y: Double, anchor: Anchor = .start, size: Double = 13) {
        body +=
            "<text x=\"\(x.short)\" y=\"\(y.short)\" text-anchor=\"\(anchor.rawValue)\" font-size=\"\(size.short)\">"
        body += Self.escaped(text) + "</text>\n"
    }

    /// The whole file.
    var document: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.short) \(height.short)" width="\(width.short)" \
        height="\(height.short)" font-family="sans-serif">
        <rect width="100%" height="100%" fill="white"/>
        \(body)</svg>

        """
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    }
}

extension Double {
    /// With one digit behind the point at most: enough for a drawing.
    fileprivate var short: String {
        let tenths = (self * 10).rounded() / 10
        return tenths == tenths.rounded() ? String(Int(tenths)) : String(tenths)
    }

    /// With as many digits behind the point as said.
    func text(_ digits: Int) -> String { String(format: "%.\(digits)f", self) }
}
