import ArgumentParser
import NavBus
import NavNodes

/// What every process on the bus can be told.
struct BusOptions: ParsableArguments {
    @Option(help: "The node's name on the bus.") var name: String?
    @Option(help: "A topic and what it is called on this bus, FROM:=TO; may be given several times.") var remap: [String] = []

    /// The topics and what they are called.
    func remaps() throws -> [String: String] { try NodeArguments.remaps(remap) }

    /// Joins the bus.
    func join(defaultName: String) throws -> (bus: BusNode, directory: BusDirectory) {
        try NodeArguments.join(name: name ?? defaultName)
    }
}
