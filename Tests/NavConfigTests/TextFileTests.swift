import Foundation
import NavConfig
import NavTestKit
import Testing

/// Reading of text files within limits.
@Suite final class TextFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ bytes: [UInt8]) throws -> String {
        try folder.write(UUID().uuidString, bytes)
    }

    private func error(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func fileIsReadUpToItsLimit() throws {
        let path = try file(Array(repeating: UInt8(ascii: "a"), count: 100_000))
        #expect(try TextFile.read(path, limit: 100_000).utf8.count == 100_000)
        #expect(error { _ = try TextFile.read(path, limit: 99_999) }?.contains("larger than 99999 bytes") == true)
        #expect(error { _ = try TextFile.read("/dev/zero", limit: 1 << 20) }?.contains("larger than 1048576") == true)
        #expect(error { _ = try TextFile.read(path + "-", limit: 10) }?.contains("does it exist?") == true)
        #expect(error { _ = try TextFile.read(folder.path, limit: 10) }?.contains("directory") == true)
        let binary = try file([0xff, 0xfe, 0])
        #expect(error { _ = try TextFile.read(binary, limit: 10) }?.contains("UTF-8") == true)
    }

    @Test func linesAreReadWithAnyLineEnding() throws {
        let long = String(repeating: "é", count: 2_048)
        let path = try file(
            Array("a\r\n\nb\n\(long)\n".utf8) + Array(String(repeating: "row\n", count: 50_000).utf8) + [99])
        var lines = try TextLines(path)
        var seen: [String] = []
        while let line = try lines.next() { seen.append(line) }
        #expect(seen.prefix(4) == ["a", "", "b", long] && seen.count == 50_005 && seen.last == "c")
        #expect(lines.number == seen.count && lines.share == 1)
    }

    @Test func byteOrderMarkIsNotPartOfTheFirstLine() throws {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        var lines = try TextLines(try file(mark + Array("from_lat\r\n".utf8) + mark + Array("1\n".utf8)))
        #expect(try lines.next().map { Array($0.utf8) } == Array("from_lat".utf8))
        #expect(try lines.next().map { Array($0.utf8) } == mark + Array("1".utf8))
        var empty = try TextLines(try file(mark))
        #expect(try empty.next() == "" && empty.next() == nil && empty.share == 1)
    }

    @Test func nonBlockingPipeIsReadToItsEnd() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        let (input, output) = (ends[0], ends[1])
        var lines = try TextLines(input, named: "a pipe")
        Thread.detachNewThread {
            for line in ["a\n", "b\n"] {
                usleep(50_000)
                _ = write(output, line, line.utf8.count)
            }
            close(output)
        }
        var seen: [String] = []
        while let line = try lines.next() { seen.append(line) }
        #expect(seen == ["a", "b"])
        close(input)
    }

    @Test func overlongLineIsRejectedBeforeItIsRead() throws {
        #expect(
            error {
                var lines = try TextLines("/dev/zero")
                _ = try lines.next()
            }?.contains("line 1 is longer than 4096 bytes") == true)
    }

    @Test func oversizedConfigurationIsRejected() throws {
        let path = try file(Array(repeating: UInt8(ascii: "#"), count: TextFile.greatestConfiguration + 1))
        #expect(error { _ = try HostsFile(contentsOf: path) }?.contains("larger than 1048576 bytes") == true)
    }
}
