public import NavBus

/// The command-line parsing that all nodes share.
public enum NodeArguments {
    /// Parses topic remappings from `FROM:=TO` words.
    public static func remaps(_ words: [String]) throws(NodeError) -> [String: String] {
        var result: [String: String] = [:]
        for word in words {
            let parts = word.split(separator: ":=", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].hasPrefix("/"), parts[1].hasPrefix("/") else {
                throw NodeError(.usage, "--remap \(word): give two topics, such as --remap /gnss/fix:=/front/fix")
            }
            result[String(parts[0])] = String(parts[1])
        }
        return result
    }

    /// Joins the bus named by the environment.
    ///
    /// - Parameter log: receives the events of connections with other hosts; by default a log on standard error.
    public static func join(
        name: String, log: NodeLog? = nil
    ) throws(NodeError) -> (bus: BusNode, directory: BusDirectory) {
        let hosts = try HostOptions.fromEnvironment(node: name, log: log)
        do throws(BusError) {
            let directory = try BusDirectory.fromEnvironment()
            var configuration = BusConfiguration(directory: directory)
            configuration.hosts = hosts
            return (try BusNode(name: name, configuration: configuration), directory)
        } catch {
            throw NodeError(error.code == .invalidName ? .usage : .system, error.description)
        }
    }
}
