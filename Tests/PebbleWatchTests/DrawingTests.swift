import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("What a script draws, pixel by pixel")
struct DrawingTests {
    private static let app = PebbleUUID(upperHalf: 77, lowerHalf: 1)

    private func rig(_ script: AppScript, hardware: HardwarePlatform = .asterix) -> AppRig {
        let metadata = AppMetadata(
            uuid: Self.app,
            flags: .allowsJavaScript,
            majorVersion: 1,
            minorVersion: 0,
            sdk: .current,
            name: "Drawn"
        )
        var rig = AppRig(
            hardware: hardware,
            behaviors: [Self.app: .scripted(script)],
            packages: [AppPackage(metadata: metadata, binary: [])]
        )
        rig.launch(Self.app)
        return rig
    }

    private func frame(_ drawings: [Drawing], hardware: HardwarePlatform = .asterix) -> FrameBuffer {
        rig(AppScript(onLaunch: [.init(drawings: drawings)]), hardware: hardware).system.apps.frame
    }

    /// A part of the screen in signs.
    private func picture(_ frame: FrameBuffer, x: Int = 0, y: Int = 0, width: Int, height: Int) -> [String] {
        (y..<y + height).map { y in String((x..<x + width).map { frame[$0, y] == .white ? "#" : "." }) }
    }

    private func litCount(_ frame: FrameBuffer) -> Int {
        var count = 0
        for y in 0..<frame.display.height {
            for x in 0..<frame.display.width where frame[x, y] == .white { count += 1 }
        }
        return count
    }

    @Test("Text has the position and size that the script gives, and nothing else is on the screen")
    func text() {
        let small = frame([.text(DrawnText(.text("h1"), x: 3, y: 2))])
        #expect(
            picture(small, x: 2, y: 1, width: 13, height: 9) == [
                ".............", ".#...#...#...", ".#...#..##...", ".#...#...#...", ".#####...#...", ".#...#...#...",
                ".#...#...#...", ".#...#..###..", ".............",
            ]
        )
        let double = frame([.text(DrawnText(.text("H1"), x: 6, y: 4, scale: 2))])
        for y in 0..<30 { for x in 0..<40 { #expect(double[x, y] == small[x / 2, y / 2]) } }
        #expect(litCount(double) == 4 * litCount(small))
    }

    @Test("Lines follow each other, each aligned by itself")
    func alignment() {
        let lines = "I\nIII"
        for (alignment, x, lefts) in [
            (DrawnText.Alignment.left, nil, [1, 1]), (.left, 10, [11, 11]), (.right, nil, [140, 128]),
            (.right, 100, [96, 84]), (.center, nil, [70, 64]), (.center, 50, [48, 42]),
        ] as [(DrawnText.Alignment, Int?, [Int])] {
            let frame = frame([.text(DrawnText(.text(lines), x: x, alignment: alignment))])
            // The first row of an I is its three pixels in the middle of five.
            let found = [0, 9].map { y in (0..<144).first { frame[$0, y] == .white } }
            #expect(found == lefts, "\(alignment), \(String(describing: x))")
        }
    }

    @Test("What the font lacks is a box for each character that a reader sees, and a small letter may be two capitals")
    func otherCharacters() {
        let box = ["#####", "#...#", "#...#", "#...#", "#...#", "#...#", "#####"]
        for text in ["é", "e\u{301}", "日", "👩‍👩‍👧", "\u{7}", "\t"] {
            let frame = frame([.text(DrawnText(.text(text)))])
            #expect(picture(frame, width: 5, height: 7) == box && litCount(frame) == 20, "\(text)")
        }
        #expect(frame([.text(DrawnText(.text("ß")))]) == frame([.text(DrawnText(.text("SS")))]))
        #expect(
            frame([.text(DrawnText(.text("ß"), alignment: .right))])
                == frame([.text(DrawnText(.text("SS"), alignment: .right))])
        )
        #expect(litCount(frame([.text(DrawnText(.text("  ")))])) == 0)
    }

    @Test("What lies outside is cut off, however large or far")
    func clipping() {
        // A box of 64 times its size begins outside: only its right edge and parts of top and bottom are seen.
        let huge = frame([.text(DrawnText(.text("é"), x: -300, y: -10, scale: 64))])
        #expect(huge[0, 0] == .white && huge[19, 100] == .white && huge[20, 100] == .black)
        #expect(huge[19, 167] == .white)
        for (x, y) in [(-10_000, 0), (10_000, 0), (0, -10_000), (0, 10_000), (-6, 0), (144, 0), (0, 168), (0, -7)] {
            let text = Drawing.text(DrawnText(.text("H"), x: x, y: y))
            let bitmap = Drawing.bitmap(DrawnBitmap(rows: [[true]], x: x, y: y))
            let rectangle = Drawing.rectangle(PixelRectangle(x: x, y: y, width: 1, height: 1), .white, isFilled: true)
            #expect(litCount(frame([text, bitmap, rectangle])) == 0)
        }
        let everywhere = PixelRectangle(x: -10_000, y: -10_000, width: 20_000, height: 20_000)
        #expect(litCount(frame([.rectangle(everywhere, .white, isFilled: true)])) == 144 * 168)
        #expect(litCount(frame([.rectangle(everywhere, .white, isFilled: false)])) == 0)
        #expect(litCount(frame([.invert(everywhere), .invert(nil)])) == 0)
        let line = frame([.line(from: PixelPoint(x: -10_000, y: 5), to: PixelPoint(x: 10_000, y: 5), .white)])
        #expect(litCount(line) == 144)
    }

    @Test("Rectangles, lines, pictures, inversion")
    func shapes() {
        let shapes = frame([
            .rectangle(PixelRectangle(x: 0, y: 0, width: 5, height: 3), .white, isFilled: false),
            .line(from: PixelPoint(x: 6, y: 0), to: PixelPoint(x: 10, y: 2), .white),
            .line(from: PixelPoint(x: 12, y: 2), to: PixelPoint(x: 12, y: 0), .white),
            .bitmap(DrawnBitmap(rows: [[true, false], [false, true, true]], x: 0, y: 4, scale: 2)),
            .invert(PixelRectangle(x: 8, y: 4, width: 4, height: 4)),
            .bitmap(DrawnBitmap(rows: [[false, true]], x: 9, y: 5, color: .black, background: .white)),
            .rectangle(PixelRectangle(x: 11, y: 7, width: 0, height: 5), .white, isFilled: false),
        ])
        #expect(
            picture(shapes, width: 14, height: 9) == [
                "#####.#.....#.", "#...#..##...#.", "#####....##.#.", "..............", "##......####..",
                "##......##.#..", "..####..####..", "..####..####..", "..............",
            ]
        )
    }

    @Test("A screen with colours shows them; one without shows the lighter ones as white; inverted they are opposites")
    func colors() {
        let orange = PebbleColor(red: 3, green: 2, blue: 0)
        let drawings: [Drawing] = [
            .clear(.oxfordBlue), .rectangle(PixelRectangle(x: 0, y: 0, width: 2, height: 1), orange, isFilled: true),
            .invert(PixelRectangle(x: 1, y: 0, width: 1, height: 1)),
        ]
        let color = frame(drawings, hardware: .snowyS3)
        #expect((color[0, 0], color[1, 0]) == (orange, PebbleColor(red: 0, green: 1, blue: 3)))
        #expect(color[2, 0] == .oxfordBlue && color[143, 167] == .oxfordBlue)
        let mono = frame(drawings)
        #expect([mono[0, 0], mono[1, 0], mono[2, 0]] == [.white, .black, .black])
    }

    @Test(
        "The screen changes at the launch, with messages, buttons and time; what was drawn stays until it is drawn over"
    )
    func occasions() {
        func dot(_ x: Int) -> Drawing { .bitmap(DrawnBitmap(rows: [[true]], x: x)) }
        let script = AppScript(
            onLaunch: [.init(drawings: [dot(0)]), .init(drawings: [dot(2)], delay: .seconds(5))],
            rules: [
                .init(
                    conditions: [.has(1)],
                    actions: [.init(drawings: [.clear(.black), .text(DrawnText(.received(1), x: 10))])]
                ),
                .init(conditions: [], actions: [.init(tuples: [], drawings: [dot(8)])]),
            ],
            onButton: [.select: [.init(drawings: [dot(4)]), .init(drawings: [dot(6)], delay: .milliseconds(100))]]
        )
        var rig = rig(script)
        let phone = rig.open()
        func row(_ rig: AppRig) -> String { picture(rig.system.apps.frame, width: 10, height: 1)[0] }
        #expect(row(rig) == "#.........")
        rig.click(.select)
        #expect(row(rig) == "#...#.....")
        rig.advance(by: .milliseconds(100))
        #expect(row(rig) == "#...#.#...")
        rig.advance(by: .seconds(5))
        #expect(row(rig) == "#.#.#.#...")
        rig.send(rig.push(1, [], to: Self.app), on: phone)
        #expect(row(rig) == "#.#.#.#.#.")
        #expect(rig.takeAppMessages(phone).count == 2, "acknowledged, and answered by an empty dictionary")
        for (value, text) in [
            (AppMessageValue.string("HI"), "HI"), (.int8(-5), "-5"), (.uint32(.max), "4294967295"), (.bytes([1]), ""),
        ] {
            rig.send(rig.push(2, [AppMessageTuple(key: 1, value: value)], to: Self.app), on: phone)
            #expect(rig.system.apps.frame == frame([.text(DrawnText(.text(text), x: 10))]))
        }
        // The script starts from the beginning with every launch.
        rig.click(.back)
        rig.launch(Self.app)
        #expect(row(rig) == "#.........")
    }

    @Test("A script that draws nothing shows the app's name")
    func name() {
        #expect(litCount(rig(AppScript()).system.apps.frame) > 100)
    }
}
