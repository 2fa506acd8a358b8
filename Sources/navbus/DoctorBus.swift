import Foundation
import Glibc
import NavBus
import NavSpelling
import NavMessages

/// The checks of a domain's registry of nodes.
enum RegistryChecks {
    /// The maximum length of a node name, bytes, including what its sockets add.
    private static let longestNode = 64

    static func directory(_ directory: BusDirectory) -> [Finding] {
        var findings = [Finding("domain", .ok, "'\(directory.domain)' in \(directory.path)\(others(directory))")]
        findings.append(pathLength(directory))
        var status = stat()
        guard lstat(directory.path, &status) == 0 else {
            let isMissing = errno == ENOENT
            findings.append(
                isMissing
                    ? Finding("registry", .ok, "\(directory.path) does not exist yet; the first node creates it")
                    : Finding(
                        "registry", .fail,
                        "\(directory.path): \(String(cString: strerror(errno))): set NAVBUS_DIR to another place"))
            return findings
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        if status.st_mode & S_IFMT != S_IFDIR {
            findings.append(
                Finding("registry", .fail, "\(directory.path) is not a directory: remove it or set NAVBUS_DIR"))
        } else if status.st_uid != geteuid() {
            findings.append(
                Finding(
                    "registry", .fail,
                    "\(directory.path) belongs to user \(status.st_uid), you are \(geteuid()): set NAVBUS_DIR"))
        } else if status.st_mode & 0o022 != 0 {
            findings.append(
                Finding("registry", .fail, "\(directory.path) has mode \(mode), others may write: run chmod 700 on it"))
        } else {
            findings.append(Finding("registry", .ok, "\(directory.path), yours, mode \(mode)"))
        }
        findings.append(space(directory.path))
        findings.append(leftovers(directory))
        return findings
    }

    private static func others(_ directory: BusDirectory) -> String {
        let domains = ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).filter {
            $0 != directory.domain
        }
        return domains.isEmpty ? "" : "; other domains there: \(domains.sorted().prefix(10).joined(separator: ", "))"
    }

    private static func pathLength(_ directory: BusDirectory) -> Finding {
        let longest = directory.publisherPath("").utf8.count
        let room = BusDirectory.maximumSocketPathLength - longest
        let text = "room for node names of \(max(0, min(room, longestNode))) bytes"
        if room >= longestNode { return Finding("socket paths", .ok, text) }
        let advice = "\(text): set NAVBUS_DIR to a path that is \(longestNode - room) bytes shorter"
        return Finding("socket paths", room < 1 ? .fail : .warn, advice)
    }

    private static func space(_ path: String) -> Finding {
        var file = statvfs()
        guard statvfs(path, &file) == 0 else {
            return Finding("space", .warn, "\(path): \(String(cString: strerror(errno)))")
        }
        let bytes = Double(file.f_bavail) * Double(file.f_frsize)
        // Some file systems have no fixed number of inodes and report 0 of 0.
        let text = "\(Format.bytes(bytes)) and \(file.f_files == 0 ? "any number of" : "\(file.f_favail)") inodes free"
        if bytes < 1e6 || file.f_files > 0 && file.f_favail < 100 {
            return Finding("space", .fail, "\(text) at \(path): nodes cannot announce themselves; free some space")
        }
        return Finding("space", .ok, text)
    }

    /// Looks for remains of dead nodes, which are harmless and are removed by the next node that starts.
    private static func leftovers(_ directory: BusDirectory) -> Finding {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.domainPath)) ?? []
        let dead = names.sorted().filter { name in
            FileManager.default.fileExists(atPath: directory.lockPath(name))
                && !NodeLock.isHeld(name, in: directory)
        }
        guard !dead.isEmpty else { return Finding("leftovers", .ok, "none") }
        return Finding(
            "leftovers", .warn,
            "left by nodes that crashed or were killed: \(dead.prefix(10).joined(separator: ", ")); the next node that "
                + "starts removes them")
    }
}

/// The checks of the live nodes and of the data they report.
enum BusChecks {
    static func run(_ directory: BusDirectory) throws -> [Finding] {
        let snapshot = try ToolBus.attempt { () throws(BusError) in try directory.inspect() }
        var findings = snapshot.problems.map { Finding("announcement", .fail, $0) }
        findings.append(
            Finding("nodes", .ok, snapshot.nodes.isEmpty ? "none alive" : "\(snapshot.nodes.count) alive"))
        guard !snapshot.nodes.isEmpty else { return findings }
        let tool = try ToolBus("doctor")
        defer { tool.close() }
        let survey = try SubscriberSurvey.take(snapshot, tool)
        findings += answers(snapshot, survey)
        findings += health(try HealthSurvey.take(snapshot, tool), snapshot)
        findings += publishers(snapshot)
        findings += schemas(snapshot, survey)
        findings += lonely(snapshot, survey)
        return findings
    }

    private static func answers(_ snapshot: RegistrySnapshot, _ survey: SubscriberSurvey) -> [Finding] {
        let servers = Set(snapshot.servers(of: NodeService.name).map(\.node))
        let mute = survey.silent.filter { servers.contains($0.node) }
        let without = survey.silent.filter { !servers.contains($0.node) }.map(\.node)
        var findings = mute.map {
            Finding(
                "node \($0.node)", .fail,
                "alive but does not answer within 1 s (\($0.reason)): it hangs or is stopped; restart it")
        }
        if !without.isEmpty {
            findings.append(
                Finding(
                    "node service", .warn,
                    "not served by \(without.joined(separator: ", ")): their subscriptions are unknown"))
        }
        if findings.isEmpty { findings.append(Finding("node service", .ok, "every node answers")) }
        return findings
    }

    private static func health(_ survey: HealthSurvey, _ snapshot: RegistrySnapshot) -> [Finding] {
        var findings: [Finding] = []
        for node in snapshot.nodes {
            guard let health = survey.health[node.node] else {
                if node.topics.contains(where: { $0.name == Topics.health(of: node.node).name }) {
                    findings.append(Finding("node \(node.node)", .warn, "announces its health but does not publish it"))
                }
                continue
            }
            guard health.state != .some(.ok) else { continue }
            let why = health.reasonText.isEmpty ? "no reason given" : health.reasonText
            findings.append(
                Finding("node \(node.node)", health.state == .some(.lost) ? .fail : .warn, "\(health.word): \(why)"))
        }
        if findings.isEmpty {
            findings.append(Finding("health", .ok, "\(survey.health.count) nodes report it, all OK"))
        }
        return findings
    }

    /// Checks that each topic of the catalogue has one publisher, except for topics that every node publishes.
    private static func publishers(_ snapshot: RegistrySnapshot) -> [Finding] {
        let byTopic = Dictionary(grouping: snapshot.topics, by: \.topic.name)
        let twice = byTopic.filter { $0.value.count > 1 && TopicCatalogue.topic(named: $0.key)?.name == $0.key }
        // Every node logs.
        let findings = twice.filter { $0.key != Topics.log.name }.sorted { $0.key < $1.key }.map { topic, publishers in
            Finding(
                "topic \(topic)", .warn,
                "published by \(publishers.map(\.publisher).joined(separator: " and ")): stop one, or remap its topic")
        }
        return findings.isEmpty ? [Finding("publishers", .ok, "no topic has two publishers")] : findings
    }

    private static func schemas(_ snapshot: RegistrySnapshot, _ survey: SubscriberSurvey) -> [Finding] {
        var findings: [Finding] = []
        for (name, publishers) in Dictionary(grouping: snapshot.topics, by: \.topic.name).sorted(by: { $0.key < $1.key }
        ) {
            var sides = publishers.map {
                (node: $0.publisher, type: $0.topic.typeName, fingerprint: $0.topic.schemaFingerprint)
            }
            for (node, info) in survey.infos.sorted(by: { $0.key < $1.key }) {
                for topic in info.subscribes where topic.topic == name {
                    sides.append((node, topic.type ?? "", topic.schemaFingerprint ?? 0))
                }
            }
            if let entry = TopicCatalogue.topic(named: name) {
                sides.append(("this program", entry.type.fullName, entry.type.schemaFingerprint))
            }
            let types = Set(sides.map(\.type)).subtracting([""])
            let versions = Set(sides.map(\.fingerprint)).subtracting([0])
            let who = sides.map { "\($0.node) \($0.type)" }.joined(separator: ", ")
            if types.count > 1 {
                findings.append(Finding("topic \(name)", .fail, "carries two types: \(who); remap one"))
            } else if versions.count > 1 {
                let announced = sides.filter { $0.fingerprint != 0 }
                    .map { "\($0.node) \(Format.hexadecimal($0.fingerprint))" }.joined(separator: ", ")
                findings.append(
                    Finding(
                        "topic \(name)", .warn, "two versions of the schema (\(announced)): rebuild the older programs")
                )
            }
        }
        return findings.isEmpty ? [Finding("schemas", .ok, "all sides of every topic agree")] : findings
    }

    /// Looks for topics with subscribers but without a publisher, often because of a mistyped name.
    private static func lonely(_ snapshot: RegistrySnapshot, _ survey: SubscriberSurvey) -> [Finding] {
        let published = Set(snapshot.topics.map(\.topic.name))
        var findings: [Finding] = []
        for (topic, nodes) in survey.subscribers.sorted(by: { $0.key < $1.key }) where !published.contains(topic) {
            // A topic of the catalogue may legitimately have no publisher: odometry, traffic.
            let isKnown = TopicCatalogue.topic(named: topic) != nil
            let near = nearestName(to: topic, among: published.sorted()).map { "; did you mean \($0)?" } ?? ""
            findings.append(
                Finding(
                    "topic \(topic)", isKnown && near.isEmpty ? .ok : .warn,
                    "subscribed to by \(nodes.joined(separator: ", ")), but not published\(near)"))
        }
        return findings
    }
}
