// One node in a process of its own, which tests stop and kill: the first argument is its role.
import Glibc
import NavBus

let arguments = Array(CommandLine.arguments.dropFirst(2))
do {
    switch CommandLine.arguments.dropFirst().first {
    case "subscriber": try Subscriber(arguments).run()
    case let role:
        print("unknown role '\(role ?? "")'")
        exit(2)
    }
} catch {
    print(error)
    exit(1)
}
