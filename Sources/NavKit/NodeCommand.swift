public import ArgumentParser

extension Node {
    /// Runs this node as a program, with the options that all nodes share.
    ///
    /// The exit status is 0 after a stop request, 1 when the work failed, 2 for wrong usage.
    public static func runAndExit() -> Never { NodeCommand<Self>.runAndExit() }
}

/// The command line of a program that is one node.
public struct NodeCommand<Runnable: Node>: ParsableCommand {
    /// The command's name and summary, taken from the node.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Runnable.defaultName, abstract: Runnable.summary, version: NavbusVersion.full)
    }

    /// The options for name, topics and configuration.
    @OptionGroup public var options: NodeCommandOptions

    /// A command with nothing given.
    public init() {}

    /// Runs the node until a stop is requested.
    public func run() throws { try options.run(Runnable.self) }
}
