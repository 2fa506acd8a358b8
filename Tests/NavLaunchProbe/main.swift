// Launches one file in a process of its own, which tests interrupt and kill; or is a node that says that it lives, and stops saying so.
import CProcess
import Glibc
import NavLaunch

/// Says so as long as there is no file named `hang` in the working directory.
func live() -> Never {
    print("alive as \(getpid())")
    fflush(nil)
    while true {
        if access("hang", F_OK) != 0 { cprocess_notify("WATCHDOG=1") }
        usleep(50_000)
    }
}

let word = CommandLine.arguments.dropFirst().first ?? ""
if word == "--live" { live() }
do {
    let file = try LaunchFile.load(path: word)
    exit(Launcher(file).run())
} catch {
    print(error)
    exit(2)
}
