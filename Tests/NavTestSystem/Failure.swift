/// What went wrong in a test's own machinery, or in a process it waits for.
package struct Failure: Error, CustomStringConvertible {
    /// What, where and why.
    package let description: String

    /// A failure in words.
    package init(_ description: String) { self.description = description }
}
