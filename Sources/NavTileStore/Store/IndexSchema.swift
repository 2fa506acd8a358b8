internal import GRDB
import NavStorage
import NavTileCache

/// The tables of a store's index, by version.
///
/// Triggers maintain the counts (tiles that use a file, totals of an edition, totals of the store), so that no writer
/// can forget one.
enum IndexSchema {
    /// The migrations that bring an index up to this program's version.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { index in
            try index.execute(sql: tables)
            try index.execute(sql: triggers)
        }
        // The wall-clock time when a tile was fetched or confirmed; NULL for tiles stored before this column existed.
        migrator.registerMigration("2") { index in
            try index.execute(sql: "ALTER TABLE tiles ADD COLUMN fetched INTEGER")
        }
        return migrator
    }

    private static let tables = """
        CREATE TABLE totals(
          id INTEGER PRIMARY KEY CHECK (id = 1),
          object_count INTEGER NOT NULL, object_bytes INTEGER NOT NULL,
          corrupt_count INTEGER NOT NULL, evicted_count INTEGER NOT NULL);
        INSERT INTO totals VALUES (1, 0, 0, 0, 0);

        CREATE TABLE tilesets(
          id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, domain TEXT NOT NULL, current INTEGER,
          current_since INTEGER);

        -- Small rows, written with every tile; what is large is in edition_documents.
        CREATE TABLE editions(
          id INTEGER PRIMARY KEY, tileset INTEGER NOT NULL, version TEXT NOT NULL, added INTEGER NOT NULL,
          tile_count INTEGER NOT NULL DEFAULT 0, tile_bytes INTEGER NOT NULL DEFAULT 0,
          pinned_count INTEGER NOT NULL DEFAULT 0, UNIQUE (tileset, version));
        CREATE TABLE edition_documents(
          edition INTEGER PRIMARY KEY, zoom_min INTEGER NOT NULL, zoom_max INTEGER NOT NULL,
          south REAL, west REAL, north REAL, east REAL, attribution TEXT NOT NULL, media_type TEXT,
          document BLOB NOT NULL, listing BLOB);

        -- How a file is packed and what it holds: few rows, named by their number.
        CREATE TABLE kinds(id INTEGER PRIMARY KEY, encoding TEXT, media_type TEXT);

        -- Files below objects/, and how many tiles have each. 0: to be unlinked.
        CREATE TABLE objects(hash BLOB PRIMARY KEY, bytes INTEGER NOT NULL, uses INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX objects_unused ON objects(hash) WHERE uses = 0;

        -- The key is TileNumber's: edition, zoom, row, column.
        CREATE TABLE tiles(
          id INTEGER PRIMARY KEY,
          body BLOB NOT NULL, body_bytes INTEGER NOT NULL, body_kind INTEGER NOT NULL,
          ranks BLOB, ranks_bytes INTEGER, ranks_kind INTEGER,
          etag TEXT, last_modified TEXT, expires INTEGER, needed INTEGER NOT NULL, pins INTEGER NOT NULL);
        CREATE INDEX tiles_idle ON tiles(needed) WHERE pins = 0;
        CREATE INDEX tiles_expiring ON tiles(expires) WHERE expires IS NOT NULL;

        CREATE TABLE regions(
          id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL, editions TEXT NOT NULL,
          staged_definition TEXT, staged_editions TEXT, state TEXT NOT NULL, progress TEXT NOT NULL, failure TEXT,
          created INTEGER NOT NULL, updated INTEGER NOT NULL, needs_planning INTEGER NOT NULL,
          was_complete INTEGER NOT NULL);
        -- What regions need, on board or not.
        CREATE TABLE pins(
          region INTEGER NOT NULL, staged INTEGER NOT NULL, tile INTEGER NOT NULL,
          PRIMARY KEY (region, staged, tile)) WITHOUT ROWID;
        CREATE INDEX pins_tile ON pins(tile);

        -- Road tiles whose files for mapping may not yet be as this index says.
        CREATE TABLE unsettled(tile INTEGER PRIMARY KEY);
        """

    private static let triggers = """
        CREATE TRIGGER objects_added AFTER INSERT ON objects BEGIN
          UPDATE totals SET object_count = object_count + 1, object_bytes = object_bytes + new.bytes;
        END;
        CREATE TRIGGER objects_unused AFTER UPDATE OF uses ON objects WHEN new.uses = 0 AND old.uses > 0 BEGIN
          UPDATE totals SET object_count = object_count - 1, object_bytes = object_bytes - old.bytes;
        END;
        CREATE TRIGGER objects_used AFTER UPDATE OF uses ON objects WHEN new.uses > 0 AND old.uses = 0 BEGIN
          UPDATE totals SET object_count = object_count + 1, object_bytes = object_bytes + new.bytes;
        END;
        CREATE TRIGGER objects_removed AFTER DELETE ON objects WHEN old.uses > 0 BEGIN
          UPDATE totals SET object_count = object_count - 1, object_bytes = object_bytes - old.bytes;
        END;

        CREATE TRIGGER tiles_added AFTER INSERT ON tiles BEGIN
          INSERT INTO objects VALUES (new.body, new.body_bytes, 1)
            ON CONFLICT (hash) DO UPDATE SET uses = uses + 1;
          UPDATE editions SET tile_count = tile_count + 1,
            tile_bytes = tile_bytes + new.body_bytes + ifnull(new.ranks_bytes, 0),
            pinned_count = pinned_count + (new.pins > 0)
            WHERE id = new.id >> 49;
        END;
        CREATE TRIGGER tiles_added_ranks AFTER INSERT ON tiles WHEN new.ranks IS NOT NULL BEGIN
          INSERT INTO objects VALUES (new.ranks, new.ranks_bytes, 1)
            ON CONFLICT (hash) DO UPDATE SET uses = uses + 1;
        END;
        CREATE TRIGGER tiles_removed AFTER DELETE ON tiles BEGIN
          UPDATE objects SET uses = uses - 1 WHERE hash = old.body;
          UPDATE editions SET tile_count = tile_count - 1,
            tile_bytes = tile_bytes - old.body_bytes - ifnull(old.ranks_bytes, 0),
            pinned_count = pinned_count - (old.pins > 0)
            WHERE id = old.id >> 49;
        END;
        CREATE TRIGGER tiles_removed_ranks AFTER DELETE ON tiles WHEN old.ranks IS NOT NULL BEGIN
          UPDATE objects SET uses = uses - 1 WHERE hash = old.ranks;
        END;
        CREATE TRIGGER tiles_pinned AFTER UPDATE OF pins ON tiles WHEN (new.pins > 0) <> (old.pins > 0) BEGIN
          UPDATE editions SET pinned_count = pinned_count + (new.pins > 0) - (old.pins > 0)
            WHERE id = new.id >> 49;
        END;

        CREATE TRIGGER pins_added AFTER INSERT ON pins BEGIN
          UPDATE tiles SET pins = pins + 1 WHERE id = new.tile;
        END;
        CREATE TRIGGER pins_removed AFTER DELETE ON pins BEGIN
          UPDATE tiles SET pins = pins - 1 WHERE id = old.tile;
        END;
        """
}
