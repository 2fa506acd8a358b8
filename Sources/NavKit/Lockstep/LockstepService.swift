package import NavBus
package import NavMessages

/// The `navbus.v1.Node` service of a process that is not a node but takes part in lockstep playback, such as the recorder.
package final class LockstepService: NodeServiceProvider {
    private let bus: any Bus
    private let participant: LockstepParticipant
    private let isSimulated: Bool

    /// Serves the service; the caller must keep this object alive.
    package init(_ bus: any Bus, _ participant: LockstepParticipant, isSimulated: Bool) throws(BusError) {
        (self.bus, self.participant, self.isSimulated) = (bus, participant, isSimulated)
        try bus.serve(NodeService.served(by: self))
    }

    package func getInfo(_ request: GetInfoRequest, _ call: UnaryCall<GetInfoResponse>) throws {
        call.finish(
            GetInfoResponse(
                node: bus.name, version: NavbusVersion.full, bootId: bus.bootID, services: [NodeService.name],
                simTime: isSimulated))
    }

    package func barrier(_ request: BarrierRequest, _ call: UnaryCall<BarrierResponse>) throws {
        try participant.barrier(request, call)
    }

    package func getSchema(_ request: GetSchemaRequest, _ call: UnaryCall<GetSchemaResponse>) throws { throw missing }
    package func getParameters(_ request: GetParametersRequest, _ call: UnaryCall<GetParametersResponse>) throws {
        call.finish(GetParametersResponse())
    }
    package func setParameters(_ request: SetParametersRequest, _ call: UnaryCall<SetParametersResponse>) throws {
        throw missing
    }
    package func shutdown(_ request: ShutdownRequest, _ call: UnaryCall<ShutdownResponse>) throws { throw missing }
    package func changeState(_ request: ChangeStateRequest, _ call: UnaryCall<ChangeStateResponse>) throws {
        throw missing
    }

    private var missing: CallStatus { CallStatus(.unimplemented, "'\(bus.name)' serves only playbacks") }
}
