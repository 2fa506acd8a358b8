import ArgumentParser
import Foundation
import NavBus
import NavKit

/// `navbus keygen`.
struct KeygenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen", abstract: "Create the key pair that identifies this host to others.")

    @Option(help: ArgumentHelp("Path prefix: PREFIX.key, the secret, and PREFIX.pub.", valueName: "PREFIX"))
    var out = "navbus"
    @Flag(help: "Replace an existing key pair.") var force = false
    @Flag(help: "Print JSON.") var json = false

    private struct Report: Encodable {
        var secret_key_file: String
        var public_key_file: String
        var public_key: String
    }

    func run() throws {
        let (secret, open) = (out + ".key", out + ".pub")
        let pair: CurveKeyPair
        do throws(BusError) {
            pair = try CurveKeyPair.generate()
            try pair.write(secretTo: secret, publicTo: open, replacing: force)
        } catch {
            throw NodeError(.system, error.description)
        }
        let key = pair.publicKey.description
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            let report = Report(secret_key_file: secret, public_key_file: open, public_key: key)
            print(String(decoding: try encoder.encode(report), as: UTF8.self))
            return
        }
        print(
            """
            \(secret)  the secret key: keep it on this host, readable only by its user
            \(open)  the public key: \(key)

            On this host, in its hosts file (NAVBUS_HOSTS):
              secret_key_file: \(secret)
            On the others, a line of their allowed_keys_file, so that this host may connect:
              \(key)
            and, so that they may connect to this host, with \(open) copied there:
              peers:
                - endpoint: tcp://ADDRESS:PORT
                  key_file: \(open)
            """)
    }
}
