/// A failure of the test infrastructure, or of a process that a test waits for.
package struct Failure: Error, CustomStringConvertible {
    /// What failed, where and why.
    package let description: String

    /// Creates a failure with a description.
    package init(_ description: String) { self.description = description }
}
