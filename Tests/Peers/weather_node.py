#!/usr/bin/env python3
"""A node with its own message types, which are not compiled into any other program: it publishes /weather ten times per
second, serves weather.v1.Weather, and serves navbus.v1.Node with the schema, so that tools can decode all its messages.

weather_node.py NAME [--no-schema|--lockstep]. Needs pyzmq, protobuf, protoc.

With --lockstep it takes part in lockstep playback and publishes only every ten seconds of simulated time.
"""
import fcntl
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time

import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

WEATHER = """
syntax = "proto3";
package weather.v1;
enum Sky { SKY_UNSPECIFIED = 0; SKY_CLEAR = 1; SKY_RAIN = 2; }
message Report {
  string station = 1;
  optional double temperature_c = 2;
  Sky sky = 3;
  map<string, double> gauges = 4;
  repeated Report history = 5;
}
message Query { string station = 1; uint32 days = 2; }
service Weather {
  rpc Now(Query) returns (Report);
  rpc Forecast(Query) returns (stream Report);
}
"""
REQUEST, RESPONSE, END, CANCEL, PING, PONG = 1, 2, 3, 4, 6, 7  # of navbus.v1.ServiceFrameKind
OK, INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED = 0, 3, 5, 12

node, has_schema, in_lockstep = sys.argv[1], "--no-schema" not in sys.argv, "--lockstep" in sys.argv
BEGIN, WAVE = 1, 2  # of navbus.v1.BarrierPhase
proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Proto")
with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/weather.proto", "w") as file:
        file.write(WEATHER)
    compile = lambda *files: subprocess.check_output(
        ["protoc", "-I", proto, "-I", folder, "--include_imports", "--descriptor_set_out=/dev/stdout", *files])
    weather = compile("weather.proto")
    everything = compile("weather.proto", *(f"navbus/v1/{name}.proto" for name in ("common", "node", "service_frame")))
pool = descriptor_pool.DescriptorPool()
for file in descriptor_pb2.FileDescriptorSet.FromString(everything).file:
    pool.AddSerializedFile(file.SerializeToString())
message = lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
Header, Frame, Report, Query = (message(name) for name in ("navbus.v1.Header", "navbus.v1.ServiceFrame", "weather.v1.Report", "weather.v1.Query"))
navbus = lambda name: message("navbus.v1." + name)

folder = os.path.join(os.environ["NAVBUS_DIR"], os.environ.get("NAVBUS_DOMAIN", "0"), node)
os.makedirs(folder, mode=0o700, exist_ok=True)
lock = open(folder + "/lock", "a")
give_up = time.monotonic() + 1
while True:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except BlockingIOError:  # held by a live node, or taken briefly by a program that probes it
        if time.monotonic() >= give_up:
            sys.exit(f"a node named '{node}' runs already")
        time.sleep(0.002)
publisher, server = zmq.Context.instance().socket(zmq.XPUB), zmq.Context.instance().socket(zmq.ROUTER)
publisher.setsockopt(zmq.XPUB_VERBOSER, 1)  # to count the subscribers
publisher.bind(f"ipc://{folder}/pub")
server.bind(f"ipc://{folder}/rpc")
boot_id = secrets.randbits(64)
topic = {"name": "/weather", "type": "weather.v1.Report", "schema_fingerprint": "00000000000000aa",
         "max_bytes": 65536, "qos": {"kind": "keep_last", "depth": 16}}
health = {"name": f"/health/{node}", "type": "navbus.v1.NodeHealth", "schema_fingerprint": "0" * 16,
          "max_bytes": 65536, "qos": {"kind": "latched"}}
services = [{"name": "weather.v1.Weather", "methods": [{"name": "Now", "server_streaming": False},
                                                       {"name": "Forecast", "server_streaming": True}]}]
if has_schema:
    methods = ["GetSchema", "GetInfo", "GetParameters", "SetParameters"] + ["Barrier"] * in_lockstep
    services.append({"name": "navbus.v1.Node", "methods": [{"name": name, "server_streaming": False} for name in methods]})
announcement = {"format": 1, "node": node, "pid": os.getpid(), "boot_id": f"{boot_id:016x}", "topics": [topic] if in_lockstep else [topic, health],
                "endpoints": {"pub": f"ipc://{folder}/pub", "rpc": f"ipc://{folder}/rpc"}, "services": services}
with open(folder + "/.announcement", "w") as file:
    json.dump(announcement, file)
os.rename(folder + "/.announcement", folder + "/announcement.json")
parameters = [
    navbus("Parameter")(key="rate_hz", double_value=10, is_live=True, unit="Hz", range="1 … 100", description="How often."),
    navbus("Parameter")(key="station", string_value="Helsinki", is_live=False, description="Where.",
                        range="any of Helsinki,Joensuu,Kuopio,Lahti,Lappeenranta,Oulu,Pori,Rovaniemi,Tampere,Turku,Vaasa"),
    navbus("Parameter")(key="verbose", bool_value=False, is_live=True),
]
sequence, subscribers, due_ns = 0, 0, 0
open_calls = set()  # the client and id of each call without an END


def report(day):
    return Report(station="Helsinki", temperature_c=day - 0.5, sky=day % 3, gauges={"rain_mm": day},
                  history=[Report(station="yesterday")])


def publish_report(stamp_ns):
    """Publishes the next report."""
    header = Header(sequence=sequence, stamp_ns=stamp_ns, boot_id=boot_id, schema_fingerprint=0xaa)
    publisher.send_multipart([b"/weather\0", header.SerializeToString(), report(sequence).SerializeToString()])


def barrier(request):
    """Takes part in a playback: answers BEGIN with the published topics, and a wave with the messages published in it."""
    global sequence, due_ns
    answer = navbus("BarrierResponse")()
    if request.phase == BEGIN:
        due_ns = 0
    elif request.phase == WAVE:
        if request.stamp_ns >= due_ns:
            sequence, due_ns = sequence + 1, request.stamp_ns + 10_000_000_000
            publish_report(request.stamp_ns)
        answer.next_timer_ns = due_ns
    answer.published.add(topic="/weather", boot_id=boot_id, sequence=sequence, publisher=node, subscriber_count=subscribers)
    return answer


def serve(client, frame, payload):
    """Answers one request."""
    open_calls.add((client, frame.call_id))

    def send(kind, body=b"", **fields):
        if kind == END:
            open_calls.discard((client, frame.call_id))
        server.send_multipart([client, Frame(kind=kind, call_id=frame.call_id, **fields).SerializeToString(), body])

    reply = lambda answer: send(END, answer.SerializeToString(), has_response=1)
    if frame.method == "GetSchema":
        wanted = navbus("GetSchemaRequest").FromString(payload).type
        known = wanted.startswith("weather.v1.")
        reply(navbus("GetSchemaResponse")(type=wanted, file_descriptor_set=weather if known else None))
    elif frame.method == "GetInfo":
        reply(navbus("GetInfoResponse")(node=node, version="1.2.3", pid=os.getpid(), subscribes=[
            {"topic": "/weathr", "type": "weather.v1.Report"}, {"topic": "/gnss/fix", "type": "navbus.v1.GnssFix"}]))
    elif frame.method == "Barrier" and in_lockstep:
        reply(barrier(navbus("BarrierRequest").FromString(payload)))
    elif frame.method == "GetParameters":
        reply(navbus("GetParametersResponse")(parameters=parameters))
    elif frame.method == "SetParameters":
        changes = navbus("SetParametersRequest").FromString(payload).parameters
        answer = navbus("SetParametersResponse")()
        if any(change.key == "rate_hz" and not 1 <= change.double_value <= 100 for change in changes):
            answer.error.message = "rate_hz is 1 … 100"
        else:
            for change in changes:
                mine = next(parameter for parameter in parameters if parameter.key == change.key)
                setattr(mine, change.WhichOneof("value"), getattr(change, change.WhichOneof("value")))
        answer.parameters.extend(parameters)
        reply(answer)
    elif frame.method == "Now":
        query = Query.FromString(payload)
        if query.station != "Helsinki":
            send(END, code=NOT_FOUND, message=f"no station '{query.station}'", details=b"\x01\x02")
        else:
            answer = report(query.days)
            for entry in frame.metadata:
                answer.history.add(station=f"{entry.key}={entry.value.decode()}")
            reply(answer)
    elif frame.method == "Forecast":
        for day in range(min(Query.FromString(payload).days, frame.credit)):
            send(RESPONSE, report(day).SerializeToString(), sequence=day)
        # Without days the stream stays open until the caller cancels it.
        if Query.FromString(payload).days > 0:
            send(END, code=OK)
    else:
        send(END, code=UNIMPLEMENTED, message=frame.method)


poller, ticks, due = zmq.Poller(), 0, time.monotonic()
poller.register(server, zmq.POLLIN)
poller.register(publisher, zmq.POLLIN)
while True:
    while ready := dict(poller.poll(max(0, (due - time.monotonic()) * 1000))):
        if publisher in ready:
            told = publisher.recv()
            if told[1:] in (b"", b"/weather\0"):
                subscribers += 1 if told[0] else -1
        if server not in ready:
            continue
        client, header, payload = server.recv_multipart()
        frame = Frame.FromString(header)
        if frame.kind == PING:
            # Without the sequence the client considers this node dead; without the count it considers its calls lost.
            count = sum(caller == client for caller, _ in open_calls)
            server.send_multipart([client, Frame(kind=PONG, sequence=frame.sequence, credit=1 + count).SerializeToString(), b""])
        elif frame.kind == REQUEST:
            serve(client, frame, payload)
        elif frame.kind == CANCEL:
            open_calls.discard((client, frame.call_id))
            print("cancelled", flush=True)
    due += 0.1
    if in_lockstep:
        continue
    # Every tenth sequence number is skipped to simulate a lost message.
    sequence += 2 if sequence % 10 == 8 else 1
    publish_report(time.time_ns())
    ticks += 1
    state = navbus("NodeHealth")(node=node, state="HEALTH_STATE_DEGRADED", uptime_s=ticks / 10,
                                 reasons=[{"code": "windy", "message": "the mast shakes"}])
    header = Header(sequence=ticks, stamp_ns=time.time_ns(), boot_id=boot_id)
    publisher.send_multipart([f"/health/{node}\0".encode(), header.SerializeToString(), state.SerializeToString()])
