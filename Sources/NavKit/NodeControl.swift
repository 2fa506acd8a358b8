import Glibc
import NavBus
import NavConfig
import NavSpelling
public import NavMessages

/// The `navbus.v1.Node` service of a running node.
extension NodeRunner: NodeServiceProvider {
    /// Answers with the node's identity, published and subscribed topics, and services.
    public func getInfo(_ request: GetInfoRequest, _ call: UnaryCall<GetInfoResponse>) throws {
        var info = GetInfoResponse(
            node: context.name, version: NavbusVersion.full, pid: Int64(getpid()), host: hostName,
            bootId: context.bus.bootID, startedNs: startedAt)
        info.publishes = context.link.published.map {
            TopicInfo(
                topic: $0.name, catalogueTopic: $0.entry.name, type: $0.entry.type.fullName,
                schemaFingerprint: $0.entry.type.schemaFingerprint)
        }
        info.subscribes = context.inputs.map {
            TopicInfo(
                topic: $0.name, catalogueTopic: $0.entry.name, type: $0.entry.type.fullName,
                schemaFingerprint: $0.entry.type.schemaFingerprint)
        }
        info.services = ([NodeService.name] + context.services).sorted()
        info.simTime = configuration.kit.simTime
        info.lifecycleState = LifecycleState(lifecycle.state)
        call.finish(info)
    }

    private var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count) == 0 else { return "" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Answers with the schema of any message type that is compiled in.
    public func getSchema(_ request: GetSchemaRequest, _ call: UnaryCall<GetSchemaResponse>) throws {
        let name = request.type ?? ""
        // A service is declared in the same file as its request messages.
        let message = ServiceCatalogue.service(named: name)?.methods.first?.request.fullName ?? name
        guard let files = Schema.fileDescriptorSet(for: message) else {
            let names = MessageRegistry.all.map { $0.fullName } + ServiceCatalogue.all.map(\.name)
            let hint = nearestName(to: name, among: names).map { ": did you mean '\($0)'?" } ?? ""
            let error = ErrorInfo(
                code: .notFound, message: "there is no message type or service '\(name.prefix(200))'\(hint)",
                retryable: false)
            call.finish(GetSchemaResponse(error: error))
            return
        }
        call.finish(
            GetSchemaResponse(
                type: name, fileDescriptorSet: files, schemaFingerprint: Schema.type(named: name)?.schemaFingerprint))
    }

    /// Answers with the parameters: values, units, ranges and meanings.
    public func getParameters(_ request: GetParametersRequest, _ call: UnaryCall<GetParametersResponse>) throws {
        let keys = Keys.keys
        var response = GetParametersResponse()
        response.parameters = keys.filter { request.keys.isEmpty || request.keys.contains($0.name) }
            .map { Parameter($0, of: configuration) }
        if let unknown = request.keys.first(where: { wanted in !keys.contains { $0.name == wanted } }) {
            response.error = ErrorInfo(code: .notFound, message: unknownKey(unknown), retryable: false)
        }
        call.finish(response)
    }

    /// Changes live parameters between two messages; either all change or none.
    public func setParameters(_ request: SetParametersRequest, _ call: UnaryCall<SetParametersResponse>) throws {
        var changes: [(key: String, value: String)] = []
        for parameter in request.parameters {
            guard let key = parameter.key, let value = parameter.value else {
                let text = "a parameter needs a key and a value; '\(parameter.key ?? "")' lacks one"
                return refuse(call, .invalidRequest, text)
            }
            guard let known = Keys.keys.first(where: { $0.name == key }) else {
                return refuse(call, .notFound, unknownKey(key))
            }
            guard known.isLive || known.text(of: configuration) == value.text else {
                let live = Keys.keys.filter(\.isLive).map(\.name).joined(separator: ", ")
                let text =
                    "'\(key)' cannot be changed while the node runs: set it before the start; live keys are \(live)"
                return refuse(call, .wrongState, text)
            }
            if known.isLive { changes.append((key, value.text)) }
        }
        do throws(ConfigError) {
            let changed = try ConfigLoader.changed(configuration, changes)
            apply(changed, changes)
        } catch {
            return refuse(call, .invalidRequest, error.description)
        }
        let names = request.parameters.compactMap(\.key)
        call.finish(
            SetParametersResponse(
                parameters: Keys.keys.filter { names.contains($0.name) }.map { Parameter($0, of: configuration) }))
    }

    private typealias Keys = RunConfiguration<Runnable.Configuration>

    private func unknownKey(_ key: String) -> String {
        let hint = nearestName(to: key, among: Keys.keys.map(\.name)).map { "did you mean '\($0)'?" }
        return "unknown configuration key '\(key.prefix(200))': \(hint ?? "GetParameters lists the keys")"
    }

    private func refuse(_ call: UnaryCall<SetParametersResponse>, _ code: ErrorCode, _ text: String) {
        call.finish(SetParametersResponse(error: ErrorInfo(code: code, message: text, retryable: code == .wrongState)))
    }

    private func apply(_ changed: RunConfiguration<Runnable.Configuration>, _ changes: [(key: String, value: String)]) {
        configuration = changed
        log.sink.level = changed.kit.logLevel
        node.reconfigure(changed.node)
        for change in changes { log.info("parameter changed", ["key": change.key, "value": change.value]) }
    }

    /// Answers once everything up to the given messages has been handled.
    public func barrier(_ request: BarrierRequest, _ call: UnaryCall<BarrierResponse>) throws {
        try lockstep.barrier(request, call)
    }

    /// Stops the node as SIGTERM does.
    public func shutdown(_ request: ShutdownRequest, _ call: UnaryCall<ShutdownResponse>) throws {
        log.info("shutdown requested", request.reason.map { ["reason": $0] } ?? [:])
        call.finish(ShutdownResponse())
        leave()
    }

    /// Moves the node between inactive and active, or shuts it down.
    public func changeState(_ request: ChangeStateRequest, _ call: UnaryCall<ChangeStateResponse>) throws {
        var response = ChangeStateResponse()
        defer {
            response.state = LifecycleState(lifecycle.state)
            call.finish(response)
        }
        guard let transition = Lifecycle.Transition(request.transition ?? .unspecified) else {
            response.error = ErrorInfo(
                code: .invalidRequest, message: "transition must be ACTIVATE, DEACTIVATE or SHUTDOWN", retryable: false)
            return
        }
        guard lifecycle.target(of: transition) != nil else {
            response.error = ErrorInfo(
                code: .wrongState, message: "the node is \(lifecycle.state): it cannot \(transition) from there",
                retryable: true)
            return
        }
        do throws(NodeError) {
            switch transition {
            case .activate: try activate()
            case .deactivate: deactivate()
            case .shutdown: leave()
            case .configure: break
            }
            log.info("\(transition)", ["state": "\(lifecycle.state)"])
        } catch {
            response.error = ErrorInfo(code: .internal, message: error.description, retryable: true)
        }
    }
}

extension Parameter {
    /// Describes a key with its value, meaning and range.
    init<Configuration>(_ key: ConfigKey<Configuration>, of configuration: Configuration) {
        let text = key.text(of: configuration)
        let value: Value =
            switch key.kind {
            case .number: Double(text).map { .doubleValue($0) } ?? .stringValue(text)
            case .integer: Int64(text).map { .intValue($0) } ?? .stringValue(text)
            case .flag: .boolValue(text == "true")
            case .text: .stringValue(text)
            }
        self.init(key: key.name, value: value, isLive: key.isLive, range: key.range, description: key.documentation)
        if !key.unit.isEmpty { unit = key.unit }
    }
}

extension Parameter.Value {
    package var text: String {
        switch self {
        case .boolValue(let value): String(value)
        case .intValue(let value): String(value)
        case .doubleValue(let value):
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        case .stringValue(let value): value
        }
    }
}
