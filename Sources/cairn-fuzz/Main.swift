import Foundation
import FuzzTargets
import SeededRandomness

/// Runs inputs against a target without libFuzzer: those of files, to see what a finding is in a debugger; or as many as are
/// wanted, made from a seed.
@main
enum Main {
    private static let usage = """
        Usage: cairn-fuzz list
               cairn-fuzz TARGET FILE...
               cairn-fuzz TARGET --runs COUNT [--seed SEED]
        """

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        if words == ["list"] {
            for target in FuzzTarget.all { print("\(target.name): \(target.summary)") }
            return
        }
        guard words.count >= 2, let target = FuzzTarget.named(words[0]) else { fail(usage) }
        guard words[1] == "--runs" else {
            for path in words.dropFirst() {
                guard let data = FileManager.default.contents(atPath: path) else { fail("\(path) cannot be read") }
                run(target, [UInt8](data), path)
            }
            return
        }
        guard words.count == 3 || words.count == 5 && words[3] == "--seed", let count = Int(words[2]),
            let seed = words.count == 5 ? UInt64(words[4]) : 0
        else { fail(usage) }
        var mutator = Mutator(seed: seed)
        for number in 0..<count {
            let input = mutator.next(from: [], limit: target.inputLimit)
            run(target, input, "run \(number) of seed \(seed)")
        }
        print("\(target.name): \(count) runs of seed \(seed), nothing found")
    }

    private static func run(_ target: FuzzTarget, _ input: [UInt8], _ name: String) {
        do {
            try target.runTwice(input)
        } catch {
            fail("\(target.name): \(name): \(error)", status: 1)
        }
    }

    private static func fail(_ text: String, status: Int32 = 64) -> Never {
        FileHandle.standardError.write(Data((text + "\n").utf8))
        exit(status)
    }
}
