import Glibc
import SystemTestSupport
import Testing

@testable import PrivateFiles

/// What other users could do with a file or a directory. Each case is refused or repaired.
@Suite struct PrivateFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0, "\(path)")
        return status.st_mode & 0o7777
    }

    private func write(_ text: String, to path: String, mode: mode_t) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        try #require(file >= 0)
        _ = text.withCString { Glibc.write(file, $0, strlen($0)) }
        fchmod(file, mode)
        close(file)
    }

    @Test func aNewFileIsTheOwnersAlone() throws {
        let path = folder.file("capture")
        close(try PrivateFile.create(path))
        #expect(try mode(path) == 0o600)
    }

    @Test func aFileThatWasOpenToAllIsEmptiedAndClosedToThem() throws {
        let path = folder.file("capture")
        try write("old", to: path, mode: 0o666)
        close(try PrivateFile.create(path))
        #expect(try mode(path) == 0o600)
        #expect(try contents(of: path).isEmpty)
    }

    @Test func aLinkIsNotFollowed() throws {
        let target = folder.file("target")
        try write("precious", to: target, mode: 0o600)
        let link = folder.file("capture")
        symlink(target, link)
        let error = try #require(throws: PrivateFileError.self) { try PrivateFile.create(link) }
        #expect(error.cause == .link)
        #expect(try contents(of: target) == Array("precious".utf8))
    }

    @Test func aFileWithAnotherNameIsNotTouched() throws {
        let target = folder.file("target")
        try write("precious", to: target, mode: 0o644)
        let name = folder.file("capture")
        try #require(link(target, name) == 0)
        let error = try #require(throws: PrivateFileError.self) { try PrivateFile.create(name) }
        #expect(error.cause == .manyNames)
        #expect(try contents(of: target) == Array("precious".utf8))
        #expect(try mode(target) == 0o644)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make files of other users"))
    func aFileOfAnotherUserIsNotTaken() throws {
        let path = folder.file("capture")
        try write("theirs", to: path, mode: 0o666)
        chown(path, 65_534, 65_534)
        let error = try #require(throws: PrivateFileError.self) { try PrivateFile.create(path) }
        #expect(error.cause == .owner(65_534))
        #expect(try contents(of: path) == Array("theirs".utf8))
    }

    @Test func directoriesAreMadeForTheOwnerAlone() throws {
        let path = folder.path + "/a/b/c/"
        defer { for name in ["/a/b/c", "/a/b", "/a"] { rmdir(folder.path + name) } }
        let directory = try PrivateDirectory(path)
        #expect(directory.path == folder.path + "/a/b/c")
        for name in ["/a", "/a/b", "/a/b/c"] { #expect(try mode(folder.path + name) == 0o700) }
    }

    @Test(arguments: [0o777, 0o770, 0o722, 0o1777] as [mode_t])
    func aDirectoryThatOthersMayWriteIsRefused(mode: mode_t) throws {
        let path = folder.path + "/state"
        mkdir(path, 0o700)
        defer { rmdir(path) }
        chmod(path, mode)
        let error = try #require(throws: PrivateFileError.self) { _ = try PrivateDirectory(path) }
        #expect(error.cause == .writable(mode))
        #expect(error.advice == "chmod go-w \(path)")
    }

    @Test func aDirectoryThatOthersMayReadIsTaken() throws {
        let path = folder.path + "/state"
        mkdir(path, 0o700)
        defer { rmdir(path) }
        chmod(path, 0o755)
        #expect(try PrivateDirectory(path).path == path)
    }

    @Test func aDirectoryBelowOneThatAnyoneMayChangeIsRefused() throws {
        let above = folder.path + "/shared"
        mkdir(above, 0o700)
        chmod(above, 0o777)
        defer {
            rmdir(above + "/state")
            rmdir(above)
        }
        let error = try #require(throws: PrivateFileError.self) { _ = try PrivateDirectory(above + "/state") }
        #expect(error.path == above)
        // In a directory like /tmp each user may remove only their own files.
        chmod(above, 0o1777)
        #expect(try PrivateDirectory(above + "/state").path == above + "/state")
    }

    @Test func aLinkToADirectoryIsNotFollowed() throws {
        let target = folder.path + "/elsewhere"
        mkdir(target, 0o700)
        let link = folder.file("state")
        symlink(target, link)
        defer { rmdir(target) }
        for name in [link, link + "/"] {
            let error = try #require(throws: PrivateFileError.self) { _ = try PrivateDirectory(name) }
            #expect(error.cause == .link)
        }
    }

    @Test func filesOfADirectoryAreMadePrivate() throws {
        let state = folder.path + "/state"
        let directory = try PrivateDirectory(state)
        defer {
            for name in ["/a", "/b", "/c", "/d"] { unlink(state + name) }
            rmdir(state)
        }
        let file = try directory.makeFile("a")
        #expect(try mode(state + "/a") == 0o600)
        try directory.confirm(file)
        try write("", to: state + "/b", mode: 0o666)
        try directory.secureFile("b")
        #expect(try mode(state + "/b") == 0o600)
        try directory.secureFile("not there")
        symlink("/etc/passwd", state + "/c")
        #expect(throws: PrivateFileError.self) { try directory.secureFile("c") }
        // Another user replaces the file between the check and the opening by path.
        rename(state + "/a", state + "/d")
        try write("", to: state + "/a", mode: 0o600)
        #expect(throws: PrivateFileError.self) { try directory.confirm(file) }
    }

    @Test func aPlaceWhereOthersCouldReplaceASocketIsRefused() throws {
        let shared = folder.path + "/shared"
        mkdir(shared, 0o700)
        defer { rmdir(shared) }
        try PrivateDirectory.checkPlace(of: shared + "/control.sock")
        chmod(shared, 0o777)
        #expect(throws: PrivateFileError.self) { try PrivateDirectory.checkPlace(of: shared + "/control.sock") }
        chmod(shared, 0o1777)
        try PrivateDirectory.checkPlace(of: shared + "/control.sock")
        #expect(PrivateDirectory.isOutOfReachOfOthers("/etc/passwd"))
        #expect(!PrivateDirectory.isOutOfReachOfOthers(shared + "/control.sock"))
    }
}
