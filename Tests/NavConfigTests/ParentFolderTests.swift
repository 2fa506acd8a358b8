import NavConfig
import Testing

/// The parent folder of a path.
@Test(arguments: [
    ("z", ""), ("drive.mcap", ""), ("", ""), ("/", "/"), ("//", "/"), ("/z", "/"), ("a/b", "a"), ("a/b/", "a"),
    ("./z", "."), ("/tmp/bags/drive.mcap", "/tmp/bags"), ("ü/é", "ü"), ("a/\u{301}b", "a"), ("/\u{301}b", "/"),
    ("a//b", "a"),
])
func parentFolder(path: String, folder: String) { #expect(path.parentFolder == folder) }
