/// The sources of commands, as named in the journal.
package enum JournalCaller {
    /// A client's call. The frames of calls do not name the client.
    package static let call = "call"
    /// The configuration at the node's start.
    package static let configuration = "configuration"
    /// The trip saved by the node's previous run.
    package static let tripFile = "trip file"
    /// The trip in progress in the replayed recording.
    package static let recording = "recording"
    /// A clock jump, which ends the drive.
    package static let clock = "clock"
}
