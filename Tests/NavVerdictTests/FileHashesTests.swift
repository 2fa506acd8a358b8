import NavVerdict
import Testing

/// The cached hashes of files, which are reused while the files are unchanged.
struct FileHashesTests {
    private static let second: Int64 = 1_000_000_000
    private static let bag = FileHashes.Attributes(
        size: 10_742, modified: 1_700_000_000 * second + 1, changed: 1_795_871_002 * second + 2, inode: 16_271_128)

    @Test func cachedHashIsUsedWhileAllAttributesAreEqual() {
        var files = FileHashes()
        #expect(files.hash(of: "/a b\tc.mcap", Self.bag) == nil && !files.hasNews)
        files.note("0f", of: "/a b\tc.mcap", Self.bag, at: Self.bag.changed + 60 * Self.second)
        #expect(files.hasNews)
        let read = FileHashes(text: files.text)
        #expect(read.hash(of: "/a b\tc.mcap", Self.bag) == "0f" && !read.hasNews)
        #expect(read.hash(of: "/b.mcap", Self.bag) == nil)
        let changes: [(inout FileHashes.Attributes) -> Void] = [
            { $0.size += 1 }, { $0.modified += 1 }, { $0.changed += 1 }, { $0.inode += 1 },
        ]
        for change in changes {
            var other = Self.bag
            change(&other)
            #expect(read.hash(of: "/a b\tc.mcap", other) == nil)
        }
    }

    /// A later change within the same tick of the file system's clock would leave the attributes unchanged.
    @Test(arguments: [-3600, 0, 1, 2, 3] as [Int64])
    func hashOfARecentlyChangedFileIsNotCached(age: Int64) {
        var files = FileHashes()
        files.note("0f", of: "/a", Self.bag, at: Self.bag.changed + age * Self.second)
        #expect((files.hash(of: "/a", Self.bag) != nil) == (age > 2) && files.hasNews == (age > 2))
    }

    @Test func extremeTimesNeverTrap() {
        var files = FileHashes()
        for time in [Int64.min, .max] {
            for now in [Int64.min, 0, .max] {
                files.note(
                    "0f", of: "/a", FileHashes.Attributes(size: 0, modified: time, changed: time, inode: 0), at: now)
            }
        }
        _ = FileHashes(text: files.text)
    }

    @Test func invalidLinesAreSkipped() {
        let good = "1\t2\t3\t4\t0f\t/good"
        let bad = [
            "", "x", "1\t2\t3\t4\t0f", "10742\t1795871002475146882\t16271128\t2e69\t/old", "-\t2\t3\t4\t0f\t/bad",
        ]
        let files = FileHashes(text: (bad + [good]).joined(separator: "\n"))
        #expect(files.text == good + "\n")
    }

    @Test func hashesOfOtherProcessesAreAddedAndThoseOfMissingFilesDropped() {
        var own = FileHashes(text: "1\t2\t3\t4\town\t/a\n")
        own.add(FileHashes(text: "1\t2\t3\t4\tother\t/a\n1\t2\t3\t4\tother\t/b\n1\t2\t3\t4\tother\t/c\n"))
        own.keep { $0 != "/c" }
        #expect(own.text == "1\t2\t3\t4\town\t/a\n1\t2\t3\t4\tother\t/b\n")
    }
}
