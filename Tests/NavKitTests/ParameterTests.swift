import Logging
import NavBus
import NavGeo
import NavKit
import NavMessages
import Testing

/// Live parameters and a node's identity.
struct ParameterTests {
    @Test func parametersHaveCompleteDescriptions() throws {
        let stage = try EchoStage()
        let all = try stage.call(NodeService.getParameters, GetParametersRequest())
        #expect(
            all.parameters.compactMap(\.key) == [
                "gain_m", "limit", "loud", "title", "autostart", "sim_time", "log.level",
            ])
        #expect(
            all.parameters.first
                == Parameter(
                    key: "gain_m", value: .doubleValue(1), isLive: true, unit: "m", range: "0 … 5",
                    description: "How much it is moved, metres."))
        let some = try stage.call(NodeService.getParameters, GetParametersRequest(keys: ["title", "limti"]))
        #expect(some.parameters.map(\.value) == [.stringValue("echo")])
        #expect(some.error?.code == .notFound && some.error?.message?.contains("did you mean 'limit'?") == true)
    }

    @Test func liveParametersChangeBetweenTwoMessages() throws {
        let stage = try EchoStage()
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 1))
        try stage.turn()
        let answer = try stage.call(
            NodeService.setParameters,
            SetParametersRequest(parameters: [
                Parameter(key: "gain_m", value: .intValue(3)), Parameter(key: "limit", value: .doubleValue(7)),
                Parameter(key: "log.level", value: .stringValue("error")),
            ]))
        #expect(answer.error == nil)
        #expect(answer.parameters.map(\.value) == [.doubleValue(3), .intValue(7), .stringValue("error")])
        stage.fixes.publish(GnssFix(), on: Topics.gnssFix, stamp: NavGeo.Timestamp(nanoseconds: 2))
        try stage.turn()
        #expect(stage.events == ["activate", "fix echo 1.0", "reconfigure", "fix echo 3.0"])
        #expect(stage.runner.configuration.node.limit == 7 && stage.runner.context.log.level == .error)
    }

    @Test(arguments: [
        ("limit", Parameter.Value.intValue(0), ErrorCode.invalidRequest, "it takes 1 … 100"),
        ("limit", .doubleValue(1.5), .invalidRequest, "it takes 1 … 100"),
        ("gain_m", .doubleValue(.nan), .invalidRequest, "it takes 0 … 5"),
        ("gain_m", .doubleValue(.infinity), .invalidRequest, "it takes 0 … 5"),
        ("loud", .stringValue("maybe"), .invalidRequest, "it takes true | false"),
        ("log.level", .stringValue("loud"), .invalidRequest, "it takes trace | debug"),
        ("titel", .stringValue("x"), .notFound, "did you mean 'title'?"),
        (
            "title", .stringValue("x"), .wrongState,
            "set it before the start; live keys are gain_m, limit, loud, log.level"
        ),
    ])
    func invalidValueRejectsTheWholeChange(_ key: String, _ value: Parameter.Value, _ code: ErrorCode, _ text: String)
        throws
    {
        let stage = try EchoStage()
        let answer = try stage.call(
            NodeService.setParameters,
            SetParametersRequest(parameters: [
                Parameter(key: "gain_m", value: .doubleValue(2)), Parameter(key: key, value: value),
            ]))
        #expect(answer.parameters.isEmpty && answer.error?.code == code)
        #expect(answer.error?.message?.contains(text) == true, "\(answer.error?.message ?? "")")
        #expect(answer.error?.message?.contains("'\(key)'") == true)
        #expect(stage.runner.configuration.node == EchoConfiguration() && stage.events == ["activate"])
    }

    @Test func parameterWithoutAValueIsRejected() throws {
        let stage = try EchoStage()
        for parameter in [Parameter(key: "limit"), Parameter(value: .intValue(1)), Parameter()] {
            let answer = try stage.call(NodeService.setParameters, SetParametersRequest(parameters: [parameter]))
            #expect(answer.error?.code == .invalidRequest)
        }
    }

    @Test func aNodeReportsItsIdentity() throws {
        let info = try EchoStage().call(NodeService.getInfo, GetInfoRequest())
        #expect(info.node == "echo" && info.version == NavbusVersion.full && info.lifecycleState == .active)
        #expect(info.publishes.compactMap(\.topic) == ["/health/echo", "/log", "/nav/position"])
        #expect(info.subscribes.compactMap(\.topic) == ["/gnss/fix", "/vehicle/odometry", "/nav/route"])
        #expect(info.subscribes.first?.schemaFingerprint == GnssFix.schemaFingerprint)
        #expect(info.services == ["navbus.v1.Node"] && info.simTime == false && (info.pid ?? 0) > 0)
    }

    @Test func nodeProvidesItsSchema() throws {
        let stage = try EchoStage()
        let answer = try stage.call(NodeService.getSchema, GetSchemaRequest(type: "navbus.v1.GnssFix"))
        #expect(answer.schemaFingerprint == GnssFix.schemaFingerprint)
        #expect(answer.fileDescriptorSet == Schema.fileDescriptorSet(for: "navbus.v1.GnssFix"))
        let service = try stage.call(NodeService.getSchema, GetSchemaRequest(type: "navbus.v1.Policy"))
        let pool = try SchemaPool(fileDescriptorSet: try #require(service.fileDescriptorSet))
        #expect(pool.service(named: "navbus.v1.Policy")?.methods.count == PolicyService.descriptor.methods.count)
        #expect(service.schemaFingerprint == nil)
        let missing = try stage.call(NodeService.getSchema, GetSchemaRequest(type: "navbus.v1.GnsFix"))
        #expect(missing.error?.code == .notFound && missing.fileDescriptorSet == nil)
        #expect(missing.error?.message?.contains("did you mean 'navbus.v1.GnssFix'?") == true)
    }
}
