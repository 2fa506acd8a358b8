import Foundation
import Glibc
import NavBus
import NavKit
import NavRecording

/// The keys of a playback on a terminal: space pauses, s steps, q quits.
final class PlayerKeys: Sendable {
    private let before: termios

    /// Listens to the keys; nil without a terminal, or in the background.
    init?(_ control: PlayerControl, _ stop: StopSignal, waking waker: Waker) {
        guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp() else { return nil }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        // Keys come one by one and are not shown; Ctrl-C stays what it is.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        // The thread ends with the process: nothing else can end a read of a terminal.
        let thread = Thread {
            var key: UInt8 = 0
            while read(STDIN_FILENO, &key, 1) == 1 {
                switch key {
                case UInt8(ascii: " "): control.togglePause()
                case UInt8(ascii: "s"): control.step()
                case UInt8(ascii: "q"):
                    stop.stop()
                    waker.wake()
                default: break
                }
            }
        }
        thread.start()
    }

    /// Gives the terminal back as it was.
    func end() {
        var settings = before
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
