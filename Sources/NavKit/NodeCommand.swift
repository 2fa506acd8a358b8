public import ArgumentParser

extension Node {
    /// Runs a program that is this node, with the options that all nodes share.
    ///
    /// Exit 0 when it was told to stop, 1 when the work failed, 2 for a wrong call.
    public static func runAndExit() -> Never { NodeCommand<Self>.runAndExit() }
}

/// The command line of a program that is one node.
public struct NodeCommand<Runnable: Node>: ParsableCommand {
    /// Named and described by the node.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Runnable.defaultName, abstract: Runnable.summary, version: NavbusVersion.full)
    }

    /// Name, topics and configuration.
    @OptionGroup public var options: NodeCommandOptions

    /// Nothing given.
    public init() {}

    /// Runs the node until it is told to stop.
    public func run() throws { try options.run(Runnable.self) }
}
