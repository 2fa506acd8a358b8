import NavConfig
import NavSpelling
import NavGeo
package import NavTileCache
package import NavTileStore

/// The configuration of a tileset of the cache: its name, its purpose, and the source of its tiles.
package struct TilesetKeys: Sendable, Hashable {
    /// Its name, see ``TilesetName``.
    package var name: String
    package var domain: TileDomain
    /// A path, or an address that begins with `file:`, `http:` or `https:`.
    package var source: String
    /// The kind of source; nil to infer it from the address.
    package var kind: TileSourceConfiguration.Kind?
    /// The zoom levels of a source that cannot state them.
    package var zooms: ClosedRange<UInt8>?
    /// Whether its tiles are stored.
    package var isCacheable = true
    package var reason = ""
    /// The file with the credential for its server.
    package var authFile: String?
    /// The header that carries the credential; nil for `Authorization: Bearer`.
    package var authHeader: String?
    /// The file of certificates that are trusted instead of the machine's.
    package var authorities: String?
    /// The maximum number of concurrent requests.
    package var concurrency = 6
    /// The pixel ratio of raster tiles.
    package var pixelRatio = 1.0
    /// The hosts that its server may redirect to.
    package var hosts: [String] = []
    /// Whether tiles are stored even if their server says `no-store`.
    package var storesAnyway = false

    package init(_ name: String, _ domain: TileDomain, source: String) {
        self.name = name
        self.domain = domain
        self.source = source
    }

    /// The field names that a record of the configuration may have.
    static let names = [
        "name", "source", "domain", "kind", "zooms", "cacheable", "reason", "auth_file", "auth_header", "ca_file",
        "concurrency", "pixel_ratio", "hosts", "store_anyway",
    ]

    /// The human-readable description of a record.
    static let range =
        "a list of name=…,source=…[,domain=navigation|maps]"
        + "[,kind=\(TileSourceConfiguration.Kind.allCases.map(\.rawValue).joined(separator: "|"))]"
        + "[,zooms=5-14][,cacheable=true|false,reason=…]"
        + "[,auth_file=…][,auth_header=…][,ca_file=…][,concurrency=1…64][,pixel_ratio=…][,hosts=A B]"
        + "[,store_anyway=true|false], separated by semicolons"

    /// Parses a tileset from a record; nil when a field is unknown, repeated or invalid.
    init?(_ record: ConfigRecord) {
        var values: [String: String] = [:]
        for field in record.fields {
            guard Self.names.contains(field.name), values.updateValue(field.value, forKey: field.name) == nil else {
                return nil
            }
        }
        guard let name = values["name"], TilesetName.isValid(name), let source = values["source"], !source.isEmpty,
            let domain = TileDomain(rawValue: values["domain"] ?? TileDomain.navigation.rawValue)
        else { return nil }
        self.init(name, domain, source: source)
        guard takeForm(values), takeRules(values) else { return nil }
    }

    private mutating func takeForm(_ values: [String: String]) -> Bool {
        if let text = values["kind"] {
            guard let kind = TileSourceConfiguration.Kind(rawValue: text) else { return false }
            self.kind = kind
        }
        if let text = values["zooms"] {
            let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt8($0) }
            guard let low = ends.first ?? nil, let high = ends.last ?? nil, ends.count <= 2, low <= high,
                high <= TileID.maximumZoom
            else { return false }
            zooms = low...high
        }
        if let text = values["pixel_ratio"] {
            guard let ratio: Double = decimal(text), ratio > 0, ratio <= 8 else { return false }
            pixelRatio = ratio
        }
        return true
    }

    private mutating func takeRules(_ values: [String: String]) -> Bool {
        if let text = values["cacheable"] {
            guard let flag = Bool(text) else { return false }
            isCacheable = flag
        }
        reason = values["reason"] ?? ""
        authFile = values["auth_file"]
        authHeader = values["auth_header"]
        authorities = values["ca_file"]
        if let text = values["concurrency"] {
            guard let count = Int(text), (1...64).contains(count) else { return false }
            concurrency = count
        }
        hosts = (values["hosts"] ?? "").split(separator: " ").map(String.init)
        if let text = values["store_anyway"] {
            guard let flag = Bool(text) else { return false }
            storesAnyway = flag
        }
        return true
    }

    var record: ConfigRecord {
        var fields = [("name", name), ("source", source), ("domain", domain.rawValue)]
        if let kind { fields.append(("kind", kind.rawValue)) }
        if let zooms { fields.append(("zooms", "\(zooms.lowerBound)-\(zooms.upperBound)")) }
        if !isCacheable { fields.append(("cacheable", "false")) }
        if !reason.isEmpty { fields.append(("reason", reason)) }
        if let authFile { fields.append(("auth_file", authFile)) }
        if let authHeader { fields.append(("auth_header", authHeader)) }
        if let authorities { fields.append(("ca_file", authorities)) }
        if concurrency != 6 { fields.append(("concurrency", "\(concurrency)")) }
        if pixelRatio != 1 { fields.append(("pixel_ratio", "\(pixelRatio)")) }
        if !hosts.isEmpty { fields.append(("hosts", hosts.joined(separator: " "))) }
        if storesAnyway { fields.append(("store_anyway", "true")) }
        return ConfigRecord(fields)
    }

    /// The reason why its tiles are not stored; nil when they are.
    var refusal: String? {
        guard !isCacheable else { return nil }
        return reason.isEmpty ? "the configuration forbids it" : reason
    }

    func sourceConfiguration(
        now: @escaping @Sendable () -> Timestamp, note: @escaping @Sendable (String) -> Void
    ) -> TileSourceConfiguration {
        var configuration = TileSourceConfiguration(name, domain, address: source, kind: kind)
        if let zooms { configuration.zooms = zooms }
        configuration.pixelRatio = pixelRatio
        if let authFile {
            configuration.credential =
                authHeader.map { TileCredential(header: $0, file: authFile) } ?? .bearer(file: authFile)
        }
        configuration.authorities = authorities
        configuration.allowedHosts = hosts
        configuration.storesAnyway = storesAnyway
        configuration.concurrency = concurrency
        configuration.now = now
        configuration.note = note
        return configuration
    }

    /// Parses a list of tilesets; nil when one is invalid or two have the same name.
    static func list(_ text: String) -> [TilesetKeys]? {
        guard let records = ConfigRecord.list(text) else { return nil }
        let tilesets = records.compactMap { TilesetKeys($0) }
        guard tilesets.count == records.count, Set(tilesets.map(\.name)).count == tilesets.count else { return nil }
        return tilesets
    }
    /// Returns a description of the invalid name or field of a rejected list; nil when the text is not a list of
    /// records.
    static func defect(of text: String) -> String? {
        guard let records = ConfigRecord.list(text) else { return nil }
        var seen: Set<String> = []
        for (index, record) in records.enumerated() {
            let name = record.fields.first { $0.name == "name" }?.value
            let place = name.map { "the tileset '\($0)'" } ?? "tileset \(index + 1)"
            if let name, !TilesetName.isValid(name) {
                return "'\(name)' is not a name of a tileset: it takes lower-case letters, digits, - and _"
            }
            for (position, field) in record.fields.enumerated() {
                if !names.contains(field.name) {
                    let hint = nearestName(to: field.name, among: names).map { "did you mean '\($0)'?" }
                    return "\(place) has an unknown field '\(field.name)': "
                        + (hint ?? "it takes \(names.joined(separator: ", "))")
                }
                if record.fields[..<position].contains(where: { $0.name == field.name }) {
                    return "\(place) has the field '\(field.name)' twice"
                }
            }
            if let missing = ["name", "source"].first(where: { name in
                record.fields.first { $0.name == name }?.value.isEmpty ?? true
            }) {
                return "\(place) needs '\(missing)'"
            }
            if let name, !seen.insert(name).inserted { return "two tilesets have the name '\(name)'" }
            if TilesetKeys(record) == nil { return "\(place) has an invalid value: it takes \(range)" }
        }
        return nil
    }
}
