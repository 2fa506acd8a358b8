/// The callers of commands that no call gave, as the journal names them.
package enum JournalCaller {
    /// The configuration at the node's start.
    package static let configuration = "configuration"
    /// The trip that outlived the node's last run.
    package static let tripFile = "trip file"
    /// A jump of the time, which ends the drive.
    package static let clock = "clock"
}
