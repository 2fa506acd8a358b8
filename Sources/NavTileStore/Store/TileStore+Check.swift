internal import GRDB
import NavDigest
package import NavStorage
import NavTileCache

extension TileStoreReader {
    /// Checks index, files, hashes, folders for mapping and pins for consistency without changes; works while an owner
    /// writes.
    ///
    /// - Parameter readsContent: Whether each file is read and hashed; otherwise only its size is checked.
    package func check(readsContent: Bool = true) throws(StoreError) -> CheckReport {
        var check = StoreCheck(access: access, readsContent: readsContent)
        return try check.run()
    }
}

extension TileStore {
    /// Checks index, files, hashes, folders for mapping and pins for consistency, and repairs as much as possible.
    ///
    /// Damaged tiles are removed, missing files for mapping are restored, and counts are recomputed.
    package func checkAndRepair() throws(StoreError) -> CheckReport {
        var check = StoreCheck(access: access, repair: repair)
        return try check.run()
    }

    /// Repairs a fault; returns false when that is impossible now.
    func repair(_ fault: StoreCheck.Fault) -> Bool {
        do throws(StoreError) {
            switch fault {
            case .object(let hash): return try quarantine(hash).removedCount > 0
            case .file(let path): return try removeOrphan(path)
            case .tile(let number):
                return try write { writer throws(StoreError) in
                    try change(&writer) { index in
                        try index.execute(sql: "INSERT OR IGNORE INTO unsettled VALUES (?)", arguments: [number])
                    }
                    return writer.settled.contains(number)
                }
            case .counts:
                try write { writer throws(StoreError) in
                    try change(&writer) { index in try index.execute(sql: StoreCheck.recount) }
                }
                return true
            case .edition(let key):
                return try write { writer throws(StoreError) in
                    guard let document = try access.snapshot({ try EditionRow.edition(key, $0)?.document }) else {
                        return false
                    }
                    try ViewFolder(folder, key).make(document: document) { writer.name("view", folder) }
                    try pointCurrent([key.tileset], &writer)
                    return true
                }
            case .region(let id):
                return try write { writer throws(StoreError) in
                    try change(&writer) { index in
                        try index.execute(
                            sql: "UPDATE regions SET state = ? WHERE name = ?",
                            arguments: [StoredRegionState.incomplete.rawValue, id])
                        return index.changesCount > 0
                    }
                }
            case .none: return false
            }
        } catch {
            return false
        }
    }

    /// Removes a file that no tile uses, while no writer is active.
    private func removeOrphan(_ path: String) throws(StoreError) -> Bool {
        try write { writer throws(StoreError) in
            let name = path.split(separator: "/").suffix(2)
            guard name.count == 2,
                let hash = ContentHash(folder: String(name[name.startIndex]), file: String(name[name.endIndex - 1]))
            else {
                return false
            }
            let isUsed = try access.read { index in
                try Int64.fetchOne(
                    index, sql: "SELECT 1 FROM objects WHERE hash = ? AND uses > 0", arguments: [hash.blob]) != nil
            }
            return !isUsed && Files.remove(path)
        }
    }
}
