import Foundation
import NavBag
import NavTestKit
import NavTestSystem
import Testing

@Suite(.needs("gnss/wire"))
struct RealBagTests {
    private func path(_ name: String) -> String { TestData.gnss(name) }

    /// Bags recorded by rosbag2; the expected counts come from the reference reader in Python.
    @Test(arguments: [
        ("rosbag2_cpp_test_rosbag2_cpp_bags_only_services", 12, 1),
        ("rosbag2_cpp_test_rosbag2_cpp_bags_only_topics", 7, 3),
        ("rosbag2_cpp_test_rosbag2_cpp_bags_topics_and_services", 13, 5),
        ("rosbag2_py_test_resources_mcap_convert_a_rewriter_a_0", 150, 2),
        ("rosbag2_py_test_resources_mcap_convert_b_rewriter_b_0", 75, 2),
        ("rosbag2_py_test_resources_mcap_reindex_test_bags_multiple_files_multiple_files_0", 1324, 1),
        ("rosbag2_py_test_resources_mcap_reindex_test_bags_multiple_files_multiple_files_1", 1324, 1),
        ("rosbag2_py_test_resources_mcap_reindex_test_bags_multiple_files_multiple_files_2", 529, 1),
        ("rosbag2_py_test_resources_mcap_talker_talker", 20, 3),
        ("rosbag2_py_test_resources_mcap_wbag_wbag_0", 1246, 8),
        ("rosbag2_py_test_resources_mcap_wbag_wbag_1", 1240, 8),
        ("rosbag2_py_test_resources_mcap_wbag_wbag_2", 1240, 8),
        ("rosbag2_py_test_resources_mcap_wbag_wbag_3", 1240, 8),
        ("rosbag2_py_test_resources_mcap_wbag_wbag_4", 1108, 8),
        ("rosbag2_tests_resources_mcap_bag_with_topics_and_service_events_bag_with_topics_and_service_events", 10, 5),
        ("rosbag2_tests_resources_mcap_cdr_test_cdr_test_0", 7, 2),
        ("rosbag2_tests_resources_mcap_wrong_rmw_test_wrong_rmw_test_0", 7, 2),
        ("rosbag2_transport_test_resources_mcap_rewriter_a_rewriter_a_0", 150, 2),
        ("rosbag2_transport_test_resources_mcap_rewriter_b_rewriter_b_0", 75, 2),
        ("rosbag2_transport_test_resources_mcap_test_bag_for_seek_test_bag_for_seek_0", 5, 1),
    ])
    func rosbagsReadCompletely(name: String, messages: Int, channels: Int) throws {
        let file = path("ingest/mcap_ros2/\(name).mcap")
        let reader = try BagReader(path: file)
        #expect(reader.index.origin == .summary)
        #expect(reader.header.profile == "ros2")
        #expect(reader.index.channels.count == channels)
        let found = try reader.all()
        #expect(found.count == messages)
        #expect(found.map(\.logTime) == found.map(\.logTime).sorted())

        var scanned = BagReadOptions()
        scanned.ignoreSummary = true
        let again = try BagReader(path: file, options: scanned)
        #expect(again.index.origin == .scan(.complete, BagDamage()))
        #expect(try again.all() == found)
        expectSameInfo(reader.info(), again.info())
    }

    /// Expects the summary to agree with the messages.
    private func expectSameInfo(_ summary: BagInfo, _ scan: BagInfo) {
        #expect(summary.messageCount == scan.messageCount)
        #expect(summary.timeRange == scan.timeRange)
        #expect(summary.channels == scan.channels)
        #expect(summary.packings == scan.packings)
    }

    @Test(arguments: [("nagoya", 1107), ("hof_000", 81)])
    func drivesAreEqualInEveryCompression(drive: String, messages: Int) throws {
        let first = try BagReader(path: path("wire/\(drive)/ros2.mcap")).all()
        #expect(first.count == messages)
        for packing in ["lz4", "none", "unchunked"] {
            let reader = try BagReader(path: path("wire/\(drive)/ros2_\(packing).mcap"))
            #expect(try reader.all() == first)
            #expect(reader.info().messageCount == UInt64(messages))
            #expect((reader.info().packings.first?.compression ?? "unchunked") == (packing == "none" ? "" : packing))
            let check = try checkBag(reader.source) { _ in nil }
            #expect(check.isSound && check.isIndexed == (packing != "unchunked"), "\(check.problems)")
        }
    }

    @Test(arguments: ["nagoya", "hof_000"]) func truncatedDriveIsReadAsFarAsPossible(drive: String) throws {
        let whole = try BagReader(path: path("wire/\(drive)/ros2.mcap")).all()
        let reader = try BagReader(path: path("wire/\(drive)/ros2_truncated.mcap"))
        guard case .scan(.truncated(let error), let damage) = reader.index.origin else {
            Issue.record("the index must be scanned as truncated, not \(reader.index.origin)")
            return
        }
        #expect(error.offset.map { $0 > 0 && $0 < reader.source.count } == true)
        #expect(damage.isNone)
        let found = try reader.all()
        #expect(found.count > whole.count / 2)
        #expect(found == Array(whole.prefix(found.count)))

        var writer = try MCAPWriter(MemorySink())
        let recovery = try recoverBag(from: reader.source, to: &writer)
        #expect(recovery.messageCount == UInt64(found.count))
        #expect(recovery.ending == .truncated(error))
        let recovered = try MCAPReader(MemorySource(writer.sink.bytes))
        #expect(recovered.index.origin == .summary)
        #expect(try recovered.all() == found)
    }
}
