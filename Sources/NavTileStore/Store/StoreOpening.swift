internal import GRDB
import NavDigest
internal import NavTileCache
import NavStorage

/// The opening of a store by its owner, which finishes the unfinished work of a killed process.
///
/// Its cost grows with the unfinished work, not with the store: unfinished files lie in `incoming`, a batch's new files
/// are listed in `batch` until the index has them, and the index records which files must be unlinked and which tiles'
/// links may be outdated.
struct StoreOpening {
    struct Opened {
        var access: IndexAccess
        /// The lock of the owner; nil on a read-only disk, where any number of processes may read.
        var lock: FolderLock?
        var report: OpeningReport
    }

    private let folder: StoreFolder
    private let options: TileStoreOptions

    init(_ folder: StoreFolder, _ options: TileStoreOptions) {
        self.folder = folder
        self.options = options
    }

    func open() throws(StoreError) -> Opened {
        if Files.isOnReadOnlyDisk(folder.path) {
            // The unfinished work of a killed process is left unchanged; readers never see it.
            let access = try IndexAccess(folder, isOwner: false, readerCount: options.readerCount)
            return Opened(access: access, lock: nil, report: OpeningReport())
        }
        if Files.status(folder.path) == nil {
            try Files.makeDirectory(folder.path)
            try Files.syncDirectory(Files.parent(folder.path))
        }
        let lock = try FolderLock(folder, holder: options.holder)
        do throws(StoreError) {
            return try open(lock)
        } catch {
            // Opening the index needs room for its log, which the reserve provides.
            guard error.code == .diskFull, Files.remove(folder.reserve) else { throw error }
            return try open(lock)
        }
    }

    private func open(_ lock: FolderLock) throws(StoreError) -> Opened {
        try makeFolders()
        var report = OpeningReport()
        let access = try openIndex(&report)
        do throws(StoreError) {
            try sweep(access, &report)
        } catch {
            access.close()
            throw error
        }
        if Files.status(folder.reserve)?.size != options.reserveBytes {
            // On a full disk there is no reserve; the next opening tries again.
            try? Files.allocate(folder.reserve, size: options.reserveBytes)
        }
        return Opened(access: access, lock: lock, report: report)
    }

    private func makeFolders() throws(StoreError) {
        for path in [folder.incoming, folder.objects, folder.tilesets] { try Files.makeDirectory(path) }
        let digits = Array("0123456789abcdef")
        if Files.status(folder.objects + "/ff") != nil { return }
        for high in digits {
            for low in digits { try Files.makeDirectory("\(folder.objects)/\(high)\(low)") }
        }
        try Files.syncDirectory(folder.objects)
    }

    // MARK: Index

    private func openIndex(_ report: inout OpeningReport) throws(StoreError) -> IndexAccess {
        if Files.status(folder.damageMark) != nil { return try rebuild(&report) }
        if Files.status(folder.index) == nil, try IndexRebuild.finds(folder) { return try rebuild(&report) }
        if let access = try soundIndex() { return access }
        return try rebuild(&report)
    }

    /// Returns the index; nil when it must be rebuilt.
    private func soundIndex() throws(StoreError) -> IndexAccess? {
        do throws(StoreError) {
            let access = try IndexAccess(folder, isOwner: true, readerCount: options.readerCount)
            guard try Self.isEmpty(access), try IndexRebuild.finds(folder) else { return access }
            // SQLite treats a damaged or missing log as a shorter one, so an index that was never checkpointed then
            // appears empty.
            access.close()
            return nil
        } catch {
            guard error.code == .corruptIndex else { throw error }
            return nil
        }
    }

    private static func isEmpty(_ access: IndexAccess) throws(StoreError) -> Bool {
        try access.snapshot { index in
            try Int64.fetchOne(index, sql: "SELECT 1 FROM editions UNION ALL SELECT 1 FROM regions LIMIT 1") == nil
        }
    }

    /// Returns the number in `index-NUMBER.sqlite`, the name of an index that was set aside; nil for other names.
    private static func number(ofSetAside name: String) -> Int? {
        guard name.hasPrefix("index-"), name.hasSuffix(".sqlite") else { return nil }
        return UInt32(name.dropFirst("index-".count).dropLast(".sqlite".count)).map(Int.init)
    }

    /// Moves the damaged index aside, keeps the last two such indices, and rebuilds the index from the folders.
    private func rebuild(_ report: inout OpeningReport) throws(StoreError) -> IndexAccess {
        // The mark stays until the new index is complete, so that an interrupted rebuild starts again.
        try Files.replace(folder.damageMark, with: [], by: folder.incoming + "/mark")
        if Files.status(folder.index) != nil {
            try Files.makeDirectory(folder.setAside)
            let numbers = try Files.list(folder.setAside).compactMap(Self.number(ofSetAside:)).sorted()
            // They take space on the disk that the budget does not count.
            for number in numbers.dropLast() {
                for suffix in ["", "-wal", "-shm"] {
                    Files.remove("\(folder.setAside)/index-\(number).sqlite\(suffix)")
                }
            }
            let place = "\(folder.setAside)/index-\((numbers.last ?? 0) + 1).sqlite"
            for suffix in ["-wal", "-shm"] where Files.status(folder.index + suffix) != nil {
                try Files.move(folder.index + suffix, to: place + suffix)
            }
            try Files.move(folder.index, to: place)
            report.damagedIndex = place
        }
        let access = try IndexAccess(folder, isOwner: true, readerCount: options.readerCount)
        do throws(StoreError) {
            try IndexRebuild(access).run(&report)
        } catch {
            access.close()
            throw error
        }
        Files.remove(folder.damageMark)
        return access
    }

    // MARK: Unfinished work

    private func sweep(_ access: IndexAccess, _ report: inout OpeningReport) throws(StoreError) {
        for name in try Files.list(folder.incoming) where Files.remove(folder.incoming + "/" + name) {
            report.removedIncoming += 1
        }
        report.removedObjects += try dropBatch(access)
        try sweepEditions(access)
        var number = 0
        let done = FileSettling(access).run {
            number += 1
            return "\(folder.incoming)/opening-\(number)"
        }
        report.removedObjects += done.unlinked.count
        report.settledTiles = done.settled.count
        guard !done.unlinked.isEmpty || !done.settled.isEmpty else { return }
        do throws(StoreError) {
            try access.write { index in
                for hash in done.unlinked {
                    try index.cachedStatement(sql: "DELETE FROM objects WHERE hash = ? AND uses = 0")
                        .execute(arguments: [hash.blob])
                }
                for tile in done.settled {
                    try index.cachedStatement(sql: "DELETE FROM unsettled WHERE tile = ?").execute(arguments: [tile])
                }
            }
        } catch {
            // The disk is full; the rows stay, and the work is repeated later.
            guard error.code == .diskFull else { throw error }
        }
    }

    /// Removes those files of a batch that the index does not list.
    private func dropBatch(_ access: IndexAccess) throws(StoreError) -> Int {
        guard let hashes = try folder.filesOfBatch() else { return 0 }
        var count = 0
        for hash in hashes {
            let isKnown = try access.read { index in
                try Int64.fetchOne(
                    try index.cachedStatement(sql: "SELECT 1 FROM objects WHERE hash = ?"), arguments: [hash.blob])
                    != nil
            }
            if !isKnown, Files.remove(folder.object(hash)) { count += 1 }
        }
        Files.empty(folder.batch)
        return count
    }

    /// Makes the folder of each road-tile edition and the `current` link of each tileset, and removes folders without
    /// an edition.
    private func sweepEditions(_ access: IndexAccess) throws(StoreError) {
        let editions = try access.snapshot { index in try EditionRow.all(index, folder) }
        let views = Set(editions.compactMap(\.viewPath))
        for tileset in try Files.list(folder.tilesets) {
            let path = folder.tilesets + "/" + tileset
            for name in try Files.list(path) where name != "current" && !views.contains(path + "/" + name) {
                Files.removeTree(path + "/" + name)
            }
            if !editions.contains(where: { $0.key.tileset == tileset && $0.viewPath != nil }) {
                Files.removeTree(path)
            }
        }
        var number = 0
        func temporary() -> String {
            number += 1
            return "\(folder.incoming)/edition-\(number)"
        }
        for edition in editions where edition.viewPath != nil {
            do throws(StoreError) {
                if let whole = try access.snapshot({ try EditionRow.edition(edition.key, $0) }) {
                    try ViewFolder(folder, edition.key).make(document: whole.document, temporary)
                }
                if edition.isCurrent { try ViewFolder.use(edition.key, folder, temporary) }
            } catch {
                guard error.code == .diskFull else { throw error }
            }
        }
    }
}
