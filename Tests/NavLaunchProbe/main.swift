// Launches one file in a separate process, which tests interrupt and kill, or acts as a node that reports that it is
// alive and then stops reporting.
import CProcess
import Glibc
import NavLaunch

/// Reports that it is alive as long as there is no file named `hang` in the working directory.
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
