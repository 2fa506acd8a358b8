import Foundation
import Glibc
import NavBus
import NavKit
import NavRecording

/// The keyboard control of a playback on a terminal.
final class PlayerKeys: Sendable {
    private let before: termios

    /// Starts reading keys; nil without a terminal, or in the background.
    init?(_ control: PlayerControl, _ stop: StopSignal, waking waker: Waker) {
        guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp() else { return nil }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        // Keys arrive one by one and are not echoed; Ctrl-C keeps its meaning.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        // The thread ends with the process: a read from a terminal cannot be interrupted otherwise.
        control.isAttended = true
        let thread = Thread {
            var key: UInt8 = 0
            // An arrow key sends the bytes ESC [ and a letter.
            var escape = 0
            while read(STDIN_FILENO, &key, 1) == 1 {
                switch (escape, key) {
                case (_, 0x1b): escape = 1
                case (1, UInt8(ascii: "[")), (1, UInt8(ascii: "O")): escape = 2
                case (2, _):
                    escape = 0
                    Self.arrow(key, control)
                default:
                    escape = 0
                    if key == UInt8(ascii: "q") {
                        stop.stop()
                        waker.wake()
                    }
                    Self.letter(key, control)
                }
            }
        }
        thread.start()
    }

    private static func letter(_ key: UInt8, _ control: PlayerControl) {
        switch key {
        case UInt8(ascii: " "): control.togglePause()
        case UInt8(ascii: "s"): control.step()
        case UInt8(ascii: "b"): control.stepBack()
        default: break
        }
    }

    private static func arrow(_ key: UInt8, _ control: PlayerControl) {
        switch key {
        case UInt8(ascii: "A"): control.changeRate(by: 2)
        case UInt8(ascii: "B"): control.changeRate(by: 0.5)
        case UInt8(ascii: "C"): control.seek(by: 10)
        case UInt8(ascii: "D"): control.seek(by: -10)
        default: break
        }
    }

    /// Restores the terminal's settings.
    func end() {
        var settings = before
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
