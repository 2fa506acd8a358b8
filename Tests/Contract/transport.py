"""The transport as Wire.md describes it: fingerprints of schemas, and the credit of streams."""

import hashlib
import time
from typing import Any

import zmq
from google.protobuf.descriptor_pb2 import FileDescriptorSet

import stage
from bus import CREDIT, END, PING, PONG, REQUEST, RESPONSE
from contract import PACKAGE
from stage import Bus, Failed

Frames = list[tuple[Any, bytes]]


class Schemas:
    """The messages and enums of a set of descriptors, by full name."""

    def __init__(self, files: FileDescriptorSet) -> None:
        self._types: dict[str, Any] = {}
        for file in files.file:
            self._add(file.package, file.message_type, file.enum_type)

    def _add(self, scope: str, messages: Any, enums: Any) -> None:
        for one in (*messages, *enums):
            self._types[f"{scope}.{one.name}"] = one
        for message in messages:
            self._add(f"{scope}.{message.name}", message.nested_type, message.enum_type)

    def fingerprint(self, name: str) -> int:
        """Returns the fingerprint of a message type, by the words of Wire.md."""
        contained: set[str] = set()
        rest = [name]
        while rest:
            part = rest.pop()
            if part not in contained:
                contained.add(part)
                rest += [target(field) for field in getattr(self._types[part], "field", []) if field.type_name]
        lines = [name]
        for part in sorted(contained):
            described = self._types[part]
            by_number = lambda one: one.number  # noqa: E731
            if hasattr(described, "field"):
                lines.append(f"message {part}")
                for field in sorted(described.field, key=by_number):
                    group = described.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
                    lines.append(f"{field.label} {field.type} {target(field)} {field.name} = {field.number} {group}")
            else:
                lines.append(f"enum {part}")
                lines += [f"{value.name} = {value.number}" for value in sorted(described.value, key=by_number)]
        return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest()[:8], "little")


def target(field: Any) -> str:
    """The full name of a field's message or enum; empty if it has another type."""
    return field.type_name.removeprefix(".")


def fingerprints(bus: Bus, *names: str) -> None:
    """Compares the fingerprints that nodes answer, announce and publish with those computed from the protos."""
    schemas = Schemas(bus.types.files)
    expected = {PACKAGE + name: schemas.fingerprint(PACKAGE + name) for name in bus.contract.messages}
    wrong = []
    topics = {}
    for node in names:
        call = bus.client(node)
        for kind, number in expected.items():
            answer = call("Node.GetSchema", type=kind)
            served = Schemas(FileDescriptorSet.FromString(answer.file_descriptor_set)).fingerprint(kind)
            if not answer.schema_fingerprint == served == number:
                wrong.append(f"{node} answers {answer.schema_fingerprint:016x} for {kind}, which has {number:016x}")
        told = (stage.wire.announcement(bus.path, node) or {})["topics"]
        topics |= {topic["name"]: topic["type"] for topic in told}
        wrong += [
            f"{node} announces {topic['schema_fingerprint']} for {topic['name']}"
            for topic in told
            if topic["schema_fingerprint"] != f"{expected[topic['type']]:016x}"
        ]
        wrong += [
            f"{node} lists {topic.schema_fingerprint:016x} for {topic.topic}"
            for topic in call("Node.GetInfo").publishes
            if topic.schema_fingerprint != expected[topic.type]
        ]
    published = {topic: found for topic, found in bus.observer.fingerprints.items() if topic in topics}
    wrong += [
        f"messages on {topic} have {sorted(map(hex, found))}"
        for topic, found in published.items()
        if found != {expected[topics[topic]]}
    ]
    if wrong or not published:
        raise Failed(f"{len(wrong)} wrong, of {len(published)} topics with messages: {wrong[:5]}")


class Connection:
    """A client that sends and receives single frames of calls."""

    def __init__(self, bus: Bus, node: str) -> None:
        told = stage.wire.announcement(bus.path, node) or {}
        self._frames = bus.types.ServiceFrame
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.connect(told["endpoints"]["rpc"])
        self._last = 0

    def close(self) -> None:
        """Disconnects."""
        self._socket.close(0)

    def send(self, kind: int, payload: bytes = b"", **fields: Any) -> None:
        """Sends one frame."""
        self._socket.send_multipart([self._frames(kind=kind, **fields).SerializeToString(), payload])

    def request(self, method: str, message: Any, credit: int) -> int:
        """Begins a call of 20 s and returns its number."""
        service, name = method.split(".")
        self._last += 1
        fields = dict(call_id=self._last, service=PACKAGE + service, method=name, timeout_ns=20_000_000_000)
        self.send(REQUEST, message.SerializeToString(), credit=credit, **fields)
        return self._last

    def receive(self, seconds: float) -> tuple[Any, bytes] | None:
        """The next frame; None if none arrives."""
        if not self._socket.poll(int(seconds * 1000)):
            return None
        header, payload = self._socket.recv_multipart()
        return self._frames.FromString(header), payload

    def answers(self, call: int, seconds: float = 25, until: int = END) -> Frames:
        """The frames of a call up to its END, or up to a RESPONSE; at most those of some seconds."""
        found: Frames = []
        end = time.monotonic() + seconds
        while not found or found[-1][0].kind not in (until, END):
            left = end - time.monotonic()
            if left <= 0:
                break
            one = self.receive(min(left, 2.0))
            if one is None:
                # A server ends the calls of silent clients.
                self.send(PING)
            elif one[0].call_id == call:
                found.append(one)
        return found

    def open_calls(self) -> int:
        """The number of this client's open calls according to the server's PONG."""
        self._last += 1
        self.send(PING, sequence=self._last)
        while answer := self.receive(5):
            # The PONG of an earlier PING has sequence 0.
            if answer[0].kind != PONG or answer[0].sequence not in (0, self._last):
                raise Failed(f"a PING is answered by {answer}")
            if answer[0].sequence:
                return answer[0].credit - 1
        raise Failed("a PING is not answered within 5 s")


def check(frames: Frames, responses: int, what: str) -> bytes:
    """Checks that a call has some responses and then an END with the last one, and returns that one."""
    kinds = [frame.kind for frame, _ in frames]
    numbers = [frame.sequence for frame, _ in frames]
    if kinds != [RESPONSE] * responses + [END] or numbers != list(range(responses + 1)):
        raise Failed(f"{what}: kinds {kinds}, numbers {numbers}, {[frame.message for frame, _ in frames[-1:]]}")
    end, payload = frames[-1]
    if end.code or not end.has_response:
        raise Failed(f"{what}: {end}")
    return payload


def credit_of_routes(bus: Bus, node: str, request: Any) -> None:
    """A stream takes a credit for each RESPONSE and none for the response of its END; late and stray CREDIT is dropped."""
    client = Connection(bus, node)
    try:
        for credit in (0, 1):
            call = client.request("Navigation.CalculateRoute", request, credit)
            last = check(client.answers(call), credit, f"CalculateRoute with a credit of {credit}")
            if not bus.types.CalculateRouteResponse.FromString(last).routes:
                raise Failed("the END of CalculateRoute has no routes")
            # After the END, and of a call that never was.
            for number in (call, 1 << 40):
                client.send(CREDIT, call_id=number, credit=1)
            if client.open_calls():
                raise Failed("a call is open after its END")
        # A unary answer takes none either, and CREDIT during a unary call changes nothing.
        call = client.request("Navigation.GetState", bus.types.GetStateRequest(), 0)
        client.send(CREDIT, call_id=call, credit=3)
        check(client.answers(call), 0, "GetState without credit")
        if client.receive(0.3) is not None:
            raise Failed("a frame comes after the END of the last call")
    finally:
        client.close()


def credit_of_loads(bus: Bus, node: str, request: Any, source: Any) -> None:
    """A stream sends nothing without credit while it goes on, one RESPONSE for a credit, and its END without."""
    client = Connection(bus, node)
    # A load that ends sends its END without credit, so the tiles are held back.
    source.hold(after=0)
    try:
        call = client.request("TileCache.LoadRegion", request, 0)
        if client.answers(call, 1.5) or client.open_calls() != 1:
            raise Failed("LoadRegion sends without credit, or does not go on")
        client.send(CREDIT, call_id=call, credit=1)
        first: Frames = []
        for _ in range(40):
            # The load is preceded by requests of the estimate, so it is not known which tile is the first of the load.
            source.hold(after=1)
            if first := client.answers(call, 0.4, until=RESPONSE):
                break
        source.release()
        last = check(first + client.answers(call), 1, "LoadRegion with a credit of 1")
        if bus.types.LoadRegionResponse.FromString(last).region.definition.region_id != request.definition.region_id:
            raise Failed("the END of LoadRegion has no region")
    finally:
        source.release()
        client.close()
