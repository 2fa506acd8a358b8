// A node in a separate process, which tests stop and kill: NavBusProbe ROLE DIRECTORY NAME ...
import Glibc
import NavBus

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
    print("usage: NavBusProbe server|client|publisher|subscriber DIRECTORY NAME ...")
    exit(2)
}
do {
    var configuration = BusConfiguration(directory: try BusDirectory(path: arguments[2]))
    configuration.rescanMilliseconds = 100
    let node = try BusNode(name: arguments[3], configuration: configuration)
    switch arguments[1] {
    case "server": try serve(on: node, Array(arguments.dropFirst(4)))
    case "client": try call(on: node, Array(arguments.dropFirst(4)))
    case "publisher": try publish(on: node)
    case "subscriber": try hear(on: node, Array(arguments.dropFirst(4)))
    default: say("no role \(arguments[1])")
    }
} catch {
    say("failed: \(error)")
    exit(1)
}
