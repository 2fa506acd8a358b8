import ArgumentParser
import Foundation
import Glibc
import NavConfig
import NavLaunch
import NavNodes

/// Ends the program for an error: one clear line, exit 1 for failed work, exit 2 for a wrong call.
enum CommandFailure {
    /// Writes to a closed pipe are errors and not signals.
    static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// Says what is wrong and exits.
    static func exit(for error: any Error) -> Never {
        switch error {
        case let error as NodeError:
            complain(error.description)
            Glibc.exit(error.code == .usage ? 2 : 1)
        case let error as ConfigError:
            complain(error.description)
            Glibc.exit(2)
        case let error as LaunchFileError:
            complain(error.description)
            Glibc.exit(2)
        case let error as ExitCode: Glibc.exit(error.rawValue)
        default:
            let code = Navbus.exitCode(for: error)
            guard code != .success, code != .validationFailure else {
                let text = Navbus.fullMessage(for: error)
                if code == .success { print(text) } else { FileHandle.standardError.write(Data((text + "\n").utf8)) }
                Glibc.exit(code == .success ? 0 : 2)
            }
            complain(Navbus.message(for: error))
            Glibc.exit(1)
        }
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data("navbus: \(text)\n".utf8))
    }
}
