import Foundation
import Glibc
import NavConfig
import NavKit
import NavVerdict

/// The stored references of a fleet, one text file per bag.
struct CheckReferences {
    private let plan: FleetPlan

    init(_ plan: FleetPlan) { self.plan = plan }

    /// Checks that the references are a readable folder, or can become one.
    func checkFolder() throws(NodeError) {
        guard let folder = plan.references else { return }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else { return }
        guard isFolder.boolValue else {
            throw NodeError(
                .usage, "fleet file '\(plan.file)': 'references: \(folder)' is a file: name a folder for the references"
            )
        }
        guard access(folder, R_OK | X_OK) == 0 else {
            throw NodeError(
                .usage,
                "fleet file '\(plan.file)': the references '\(folder)' cannot be read: "
                    + String(cString: strerror(errno)))
        }
    }

    /// Returns the reference of a bag; nil when the fleet stores none.
    func read(_ bag: String) throws(NodeError) -> Reference? {
        guard let folder = plan.references else { return nil }
        let path = "\(folder)/\(Reference.path(bag: bag))"
        guard FileManager.default.fileExists(atPath: path) else { return .missing }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw NodeError(.invalid, "the reference '\(path)' cannot be read as text")
        }
        do throws(LineError) {
            return try Reference(text: text)
        } catch {
            throw NodeError(.invalid, "the reference '\(path)': \(error.what); 'navbus check --update' rewrites it")
        }
    }

    /// Returns the names of the bags that have a reference but are not in the fleet, sorted.
    ///
    /// Only files that begin as references do are counted: the folder may have others.
    func strayBags() -> [String] {
        guard let folder = plan.references else { return [] }
        let own = Set(plan.items.map { Reference.path(bag: $0.job.name) })
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return names.filter { name in
            guard name.hasSuffix(".txt"), !own.contains(name) else { return false }
            let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            return text?.hasPrefix(Reference.head) == true
        }.map { String($0.dropLast(4)) }.sorted()
    }

    /// Stores the events of runs; a bag without a run keeps its reference.
    func store(_ records: [DriveRecord]) throws {
        guard let folder = plan.references else {
            throw NodeError(.usage, "fleet file '\(plan.file)': no 'references: FOLDER' to store events in")
        }
        for (item, record) in zip(plan.items, records) where record.failure == nil {
            let path = "\(folder)/\(Reference.path(bag: item.job.name))"
            let text = Reference.text(record.events, bag: item.job.name)
            do {
                try FileManager.default.createDirectory(
                    atPath: path.parentFolder, withIntermediateDirectories: true)
                // An unchanged file keeps its modification time, for tools that watch files.
                if (try? String(contentsOfFile: path, encoding: .utf8)) == text { continue }
                try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
            } catch {
                throw NodeError(.system, "'\(path)' cannot be written: \(systemReason(error))")
            }
        }
    }
}
