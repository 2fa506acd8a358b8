// Launches one file in a process of its own, which tests interrupt and kill.
import Glibc
import NavLaunch

do {
    let file = try LaunchFile.load(path: CommandLine.arguments.dropFirst().first ?? "")
    exit(Launcher(file).run())
} catch {
    print(error)
    exit(2)
}
