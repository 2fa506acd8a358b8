import NavConfig
import Testing

/// The folder in which a path lies.
@Test(arguments: [
    ("z", ""), ("drive.mcap", ""), ("", ""), ("/", "/"), ("//", "/"), ("/z", "/"), ("a/b", "a"), ("a/b/", "a"),
    ("./z", "."), ("/tmp/bags/drive.mcap", "/tmp/bags"), ("ü/é", "ü"), ("a/\u{301}b", "a"), ("/\u{301}b", "/"),
    ("a//b", "a"),
])
func parentFolder(path: String, folder: String) { #expect(path.parentFolder == folder) }
