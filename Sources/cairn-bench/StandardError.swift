import Foundation

/// What is said to who watches, and is no result.
enum StandardError {
    static func print(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }
}
