import Glibc
package import NavBag
import NavGNSS
import NavGeo
import NavMessages

/// A recording with added messages for map panels: `foxglove.LocationFix` for fixes and matched positions, and the route as
/// `foxglove.GeoJSON` whenever its line changes.
package struct FoxgloveRecords: RecordSource {
    package private(set) var base: any RecordSource
    private var ready: Record?
    private var drawing = FoxgloveDrawing()

    package init(_ base: any RecordSource) { self.base = base }

    /// The share that has been read.
    package var progress: Double { base.progress }

    /// Returns the next message: a message of the recording, or the drawing of the previous one.
    package mutating func next() throws(BagError) -> Record? {
        if let record = ready {
            ready = nil
            return record
        }
        guard let record = try base.next() else { return nil }
        ready = drawing.drawn(record)
        return record
    }
}

/// A converter from messages of navbus to the records displayed by map panels.
package struct FoxgloveDrawing {
    private let fixes = RecordChannel.protobuf("/foxglove/fix", FoxgloveLocationFix.self)
    private let positions = RecordChannel.protobuf("/foxglove/position", FoxgloveLocationFix.self)
    private let routes = RecordChannel.protobuf("/foxglove/route", FoxgloveGeoJSON.self)
    private var route: NavMessages.Polyline?

    package init() {}

    /// Returns the message to draw for a record; nil when there is nothing to draw.
    package mutating func drawn(_ record: Record) -> Record? {
        let bytes = Array(record.data)
        switch record.channel.schemaName {
        case GnssFix.fullName:
            guard let fix = try? GnssFix(decoding: bytes),
                NavGeo.Coordinate(ifValid: fix.latitude, fix.longitude) != nil
            else {
                return nil
            }
            return Self.record(FoxgloveLocationFix(fix), fixes, record)
        case MatchedPosition.fullName:
            guard let position = try? MatchedPosition(decoding: bytes), let matched = position.matched,
                NavGeo.Coordinate(ifValid: matched.latitude, matched.longitude) != nil
            else { return nil }
            var fix = FoxgloveLocationFix(
                latitude: matched.latitude, longitude: matched.longitude, altitude: matched.altitudeM,
                timestamp: position.stampNs.map { .nanoseconds($0) }, heading: matched.course)
            if let along = position.alongSigmaM, let cross = position.crossSigmaM {
                fix.approximate(along: along, cross: cross, course: matched.course ?? 0)
            }
            return Self.record(fix, positions, record)
        case Route.fullName where record.channel.topic == Topics.route.name:
            guard let message = try? Route(decoding: bytes), message.geometry != route else { return nil }
            route = message.geometry
            let line = message.geometry.flatMap { GeoJSON.feature($0, properties: "{}") } ?? ""
            return Self.record(FoxgloveGeoJSON(geojson: GeoJSON.collection([line])), routes, record)
        default: return nil
        }
    }

    private static func record(_ message: some Message, _ channel: RecordChannel, _ cause: Record) -> Record {
        Record(
            channel: channel, sequence: cause.sequence, logTime: cause.logTime, publishTime: cause.publishTime,
            data: message.encoded()[...])
    }
}

extension FoxgloveLocationFix {
    fileprivate init(_ fix: GnssFix) {
        self.init(
            latitude: fix.latitude, longitude: fix.longitude, altitude: fix.altitude,
            positionCovariance: fix.positionCovariance,
            positionCovarianceType: fix.positionCovarianceType.map { .init(rawValue: $0.rawValue) },
            timestamp: fix.timestamp, frameId: fix.frameId, heading: fix.heading)
        if fix.positionCovariance.isEmpty, let radius = fix.horizontalAccuracyM {
            let sigma = Accuracy.sigma(radius68: radius)
            approximate(along: sigma, cross: sigma, up: fix.verticalAccuracyM, course: 0)
        }
    }

    /// Sets the covariance of an ellipse, from its standard deviations in metres along and across a course, in radians clockwise from north.
    fileprivate mutating func approximate(along: Double, cross: Double, up: Double? = nil, course: Double) {
        let (sine, cosine) = (sin(course), cos(course))
        let (a, c) = (along * along, cross * cross)
        let mixed = (a - c) * sine * cosine
        let (east, north) = (a * sine * sine + c * cosine * cosine, a * cosine * cosine + c * sine * sine)
        let height = up.map { $0 * $0 } ?? 0
        guard [east, north, height].allSatisfy(\.isFinite) else { return }
        positionCovariance = [east, mixed, 0, mixed, north, 0, 0, 0, height]
        positionCovarianceType = .approximated
    }
}

/// Pieces of GeoJSON (RFC 7946).
enum GeoJSON {
    /// Returns a position: longitude, latitude.
    static func position(_ place: NavGeo.Coordinate) -> String { "[\(place.longitude),\(place.latitude)]" }

    /// Returns a line; nil when it has fewer than two positions.
    static func feature(_ line: NavMessages.Polyline, properties: String) -> String? {
        let positions = line.coordinates().compactMap {
            NavGeo.Coordinate(ifValid: $0.latitude, $0.longitude).map(position)
        }
        guard positions.count > 1 else { return nil }
        return lineHead + positions.joined(separator: ",") + lineEnd(properties)
    }

    /// The GeoJSON text before and after the positions of a line.
    static let lineHead = #"{"type":"Feature","geometry":{"type":"LineString","coordinates":["#
    static func lineEnd(_ properties: String) -> String { "]},\"properties\":\(properties)}" }

    static let collectionHead = #"{"type":"FeatureCollection","features":["#
    static let collectionEnd = "]}"

    /// Returns a collection of features; empty ones are left out.
    static func collection(_ features: [String]) -> String {
        collectionHead + features.filter { !$0.isEmpty }.joined(separator: ",") + collectionEnd
    }
}
