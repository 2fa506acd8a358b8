extension NavigationConfiguration {
    /// Files and folders that are read, by key.
    public var inputPaths: [(key: String, path: String)] {
        [("tiles", tiles), ("traffic", traffic)].filter { !$0.path.isEmpty }
    }
}

extension GNSSConfiguration {
    /// Files and devices that are read, by key.
    public var inputPaths: [(key: String, path: String)] {
        if case .path(let path) = source { [("source", path)] } else { [] }
    }
}

extension TileCacheConfiguration {
    /// Files and folders that are read, by key.
    public var inputPaths: [(key: String, path: String)] {
        tilesets.flatMap { tileset in
            let isLocal = !tileset.source.contains(":") && !tileset.source.contains("{")
            return [isLocal ? tileset.source : nil, tileset.authFile, tileset.authorities].compactMap { path in
                path.map { ("tilesets", $0) }
            }
        }
    }
}
