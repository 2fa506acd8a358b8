import Foundation
import NavGeo
import NavMap
import NavMapBuild
import NavTestKit
import NavTestSupport
import Testing

@Suite("Reading .osm XML")
struct XMLReaderTests {
    /// Calls `body` with the path of a file with this content.
    private func withFile<T>(_ text: String, _ body: (String) throws -> T) throws -> T {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let file = directory.appendingPathComponent("map.osm")
        try Data(text.utf8).write(to: file)
        return try body(file.path)
    }

    private func read(_ text: String) throws -> OSMData { try withFile(text) { try OSMReader.read(path: $0) } }

    static let small = """
        <?xml version='1.0' encoding='UTF-8'?>
        <!-- a > comment -->
        <osm version="0.6" generator="test">
          <bounds minlat="48" minlon="11" maxlat="49" maxlon="12"/>
          <node id="1" lat="48.0000001" lon="11"/>
          <node id='2' lat='48.01' lon='-11.00000005'><tag k="highway" v="stop"/></node>
          <node id="3" lat="48.02" lon="11.02"><tag k="name" v="unused"/></node>
          <node id="4" lat="48.02" lon="11.03"/>
          <way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/>
            <tag k="highway" v="primary"/><tag k="name" v="A &amp; B &#228;&#x20AC; &lt;&quot;&apos;&gt;"/></way>
          <way id="11" visible="false"><nd ref="1"/><nd ref="4"/><tag k="highway" v="primary"/></way>
          <way id="12" action="delete"><nd ref="1"/><nd ref="4"/><tag k="highway" v="primary"/></way>
          <way id="13"><nd ref="1"/><nd ref="4"/><tag k="building" v="yes"/></way>
          <way id="14"><nd ref="3"/><nd ref="4"/><tag k="highway" v="service"/></way>
          <relation id="20"><member type="way" ref="10" role="from"/><member type="node" ref="3" role="via"/>
            <member type="way" ref="14" role="to"/><tag k="type" v="restriction"/>
            <tag k="restriction" v="no_left_turn"/></relation>
          <relation id="21"><member type="way" ref="10" role=""/><tag k="type" v="route"/></relation>
        </osm>
        """

    @Test("nodes, ways and restrictions of roads are read, other objects are skipped")
    func objects() throws {
        let data = try read(Self.small)
        #expect(data.statistics.nodes == 4 && data.statistics.ways == 5 && data.statistics.relations == 2)
        #expect(Array(data.ways.ids) == [10, 14] && Array(data.relations.ids) == [20])
        #expect(Array(data.nodeIDs) == [1, 2, 3, 4])
        #expect(data.latitudes[0] == 480_000_001 && data.longitudes[1] == -110_000_001)
        #expect(data.taggedNodes.count == 1)
        #expect(data.strings[data.ways.tags.value(.name, of: 0)] == "A & B ä€ <\"'>")
        let (tiles, report) = try MapBuilder(.init(jobs: 1)).build(data)
        #expect(report.edges == 4 && report.restrictions == 1 && !tiles.isEmpty)
    }

    @Test("nodes that only limit vehicles or name crossroads, and maneuver relations, are read")
    func limitsAndManeuvers() throws {
        let tags = [("hgv", "no"), ("maxheight", "2"), ("junction", "yes"), ("name", "X"), ("traffic_sign", "X")]
        let nodes = tags.enumerated().map { index, tag in
            "<node id=\"\(index + 1)\" lat=\"1\" lon=\"1\"><tag k=\"\(tag.0)\" v=\"\(tag.1)\"/></node>"
        }
        let refs = tags.indices.map { "<nd ref=\"\($0 + 1)\"/>" }.joined()
        let data = try read(
            """
            <osm>\(nodes.joined())<way id="1">\(refs)<tag k="highway" v="road"/></way>
            <relation id="7"><member type="way" ref="1" role="from"/><tag k="type" v="maneuver"/></relation></osm>
            """)
        #expect(Array(data.taggedNodes) == [0, 1, 2] && Array(data.relations.ids) == [7])
    }

    @Test("a path is read if a vehicle tag may open it, even only at times")
    func paths() throws {
        let tags = [("motor_vehicle", "yes"), ("hgv:conditional", "yes @ (06:00-10:00)"), ("bicycle", "yes")]
        let ways = tags.enumerated().map { index, tag in
            "<way id=\"\(index + 7)\"><nd ref=\"1\"/><tag k=\"highway\" v=\"path\"/>"
                + "<tag k=\"\(tag.0)\" v=\"\(tag.1)\"/></way>"
        }
        #expect(try Array(read("<osm><node id=\"1\" lat=\"1\" lon=\"1\"/>\(ways.joined())</osm>").ways.ids) == [7, 8])
    }

    @Test("the last version of an object is used, and nodes out of range are treated as missing")
    func odd() throws {
        let data = try read(
            """
            <osm><node id="1" lat="1" lon="1"/><node id="1" lat="2" lon="2"/><node id="2" lat="91" lon="1"/>
            <node id="3" lat="x" lon="1"/><node id="4" lat="1" lon="180.0000001"/><node id="5" lat="-90" lon="180"/>
            <way id="1"><nd ref="1"/><nd ref="2"/><nd ref="3"/><nd ref="4"/><nd ref="5"/><tag k="highway" v="road"/></way>
            <way id="1"><nd ref="1"/><nd ref="5"/><tag k="highway" v="primary"/></way></osm>
            """)
        #expect(data.statistics.duplicateIDs == 2)
        #expect(data.latitudes.first == 20_000_000 && data.latitudes.last == -900_000_000)
        #expect(data.ways.ids.count == 1 && data.ways.parts.count == 2)
    }

    @Test(
        "a file that is not OSM XML is an error with an offset",
        arguments: [
            ("<html></html>", MapBuildError.Code.notOSM), ("<?xml version='1.0'?>", .notOSM), ("<osm>", .truncated),
            ("<osm><way id='1'>", .truncated), ("<osm><way id='1'", .malformed), ("<osm></osm></osm>", .malformed),
            ("<osm><way/></osm>", .malformed), ("<osm><way id='x'/></osm>", .malformed),
            ("<osm><way id='99999999999999999999'/></osm>", .malformed), ("<osm><way id=1/></osm>", .malformed),
            ("<osm><way id/></osm>", .malformed), ("<osm><way <nd/>/></osm>", .malformed),
            ("<osm><way id='1'><nd/></way></osm>", .malformed),
            ("<osm><relation id='1'><member type='x' ref='1'/></relation></osm>", .malformed),
            ("<!DOCTYPE osm [<!ENTITY a 'aaaa'>]><osm/>", .malformed), ("<osm><![CDATA[x]]></osm>", .malformed),
            ("<osm><way id='1'><tag k='name' v='&bomb;'/></way></osm>", .malformed),
            ("<osm><way id='1'><tag k='name' v='&#xD800;'/></way></osm>", .malformed),
            ("<osm><way id='1'><tag k='name' v='&amp'/></way></osm>", .malformed), ("<osm><!-- ", .malformed),
            ("<osm/><osm/>", .notOSM), (String(repeating: "<osm>", count: 100), .malformed),
        ] as [(String, MapBuildError.Code)])
    func refused(text: String, code: MapBuildError.Code) {
        #expect { try read(text) } throws: {
            let error = $0 as? MapBuildError
            return error?.code == code && error?.offset != nil && error?.path.hasSuffix("map.osm") == true
        }
    }

    @Test("an unterminated tag is refused before it exhausts the memory")
    func endless() {
        let text = "<osm><way id='1' x='" + String(repeating: "a", count: 3 << 20) + "'/></osm>"
        #expect { try read(text) } throws: { ($0 as? MapBuildError)?.code == .malformed }
    }

    @Test("a truncated or changed file is read or refused")
    func damage() throws {
        let whole = Array(Self.small.utf8)
        for length in stride(from: 0, to: whole.count, by: 7) {
            _ = try? read(String(decoding: whole.prefix(length), as: UTF8.self))
        }
        for (index, byte) in zip(whole.indices, [0x3C, 0x3E, 0x26, 0x22, 0x2F, 0x00].cycled(whole.count)) {
            var bytes = whole
            bytes[index] = UInt8(byte)
            _ = try? read(String(decoding: bytes, as: UTF8.self))
        }
        #expect(try read(Self.small).ways.ids.count == 2)
    }

    @Test("XML gives the same tiles as the map in memory, also across chunks of the file")
    func tiles() throws {
        var text = "<osm>\n"
        var builder = OSMDataBuilder()
        for id in 1...4_000 {
            let (latitude, longitude) = (480_000_000 + Int32(id) * 1_003, 110_000_000 + Int32(id % 97) * 2_011)
            text += "<node id=\"\(id)\" lat=\"\(Double(latitude) / 1e7)\" "
            text += "lon=\"\(Double(longitude) / 1e7)\" user=\"x\"/>\n"
            builder.addNode(id: Int64(id), position: .init(latitudeE7: latitude, longitudeE7: longitude))
        }
        for id in 1..<4_000 {
            text += "<way id=\"\(id)\"><nd ref=\"\(id)\"/><nd ref=\"\(id + 1)\"/>"
            text += "<tag k=\"highway\" v=\"tertiary\"/><tag k=\"name\" v=\"Straße \(id)\"/></way>\n"
            builder.addWay(
                id: Int64(id), nodes: [Int64(id), Int64(id + 1)], tags: ["highway": "tertiary", "name": "Straße \(id)"])
        }
        text += "</osm>\n"
        #expect(text.utf8.count > 1 << 19)
        let maps = MapBuilder(.init(jobs: 1))
        #expect(try maps.build(read(text)).tiles == maps.build(builder.build()).tiles)
    }
}

extension Array {
    /// Returns the elements repeatedly, `count` in all.
    fileprivate func cycled(_ count: Int) -> [Element] { (0..<count).map { self[$0 % self.count] } }
}
