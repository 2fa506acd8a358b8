import NavLaunch
import Testing

@Suite struct LineSplitterTests {
    func lines(_ chunks: [String]) -> [String] {
        var splitter = LineSplitter()
        var lines = chunks.flatMap { splitter.feed($0.utf8) }
        lines += splitter.finish().map { [$0] } ?? []
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func linesDoNotDependOnTheChunksOfBytes() {
        let text = "one\ntwo\r\n\nfür\nlast"
        let expected = ["one", "two", "", "für", "last"]
        #expect(lines([text]) == expected)
        var splitter = LineSplitter()
        var bytewise = Array(text.utf8).flatMap { splitter.feed([$0]) }
        bytewise += splitter.finish().map { [$0] } ?? []
        #expect(bytewise.map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test func overlongLineIsCutAndTheNextOneIsWhole() {
        let long = String(repeating: "x", count: LineSplitter.maximumLength * 3)
        let result = lines([long, long, "\nnext\n"])
        #expect(result == [String(repeating: "x", count: LineSplitter.maximumLength) + " [cut]", "next"])
    }

    @Test func emptyInputHasNoLines() {
        #expect(lines([]) == [])
        #expect(lines([""]) == [])
    }
}
