#!/usr/bin/env python3
"""Calls the unary and streaming methods of the probe server: service_client.py NODE [COUNT]. Needs pyzmq, protobuf, protoc."""
import json
import os
import subprocess
import sys
import tempfile
import time

import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# The first frame of every message, from its .proto file.
REQUEST, RESPONSE, END, CANCEL, CREDIT, PING = 1, 2, 3, 4, 5, 6  # of ServiceFrameKind
proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Proto")
compile = ["protoc", "-I", proto, "--descriptor_set_out=/dev/stdout", "navbus/v1/service_frame.proto"]
pool = descriptor_pool.DescriptorPool()
for file in descriptor_pb2.FileDescriptorSet.FromString(subprocess.check_output(compile)).file:
    pool.AddSerializedFile(file.SerializeToString())
Frame = message_factory.GetMessageClass(pool.FindMessageTypeByName("navbus.v1.ServiceFrame"))

# The server, from its announcement in the file system.
runtime = os.environ.get("XDG_RUNTIME_DIR")
default = f"{runtime}/navbus" if runtime else f"{tempfile.gettempdir()}/navbus-{os.getuid()}"
folder = os.path.join(os.environ.get("NAVBUS_DIR", default), os.environ.get("NAVBUS_DOMAIN", "0"), sys.argv[1])
with open(folder + "/announcement.json") as announcement:
    server = json.load(announcement)
socket = zmq.Context.instance().socket(zmq.DEALER)
socket.linger = 0
socket.connect(server["endpoints"]["rpc"])
last_call = 0


def call(service, method, request, timeout_s=10, window=64):
    """Yields the responses of a call; raises an error if it fails or times out."""
    global last_call
    last_call += 1
    frame = Frame(kind=REQUEST, call_id=last_call, service=service, method=method, credit=window,
                  timeout_ns=int(timeout_s * 1e9), server_boot_id=int(server["boot_id"], 16))
    socket.send_multipart([frame.SerializeToString(), request])
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if not socket.poll(2000):
            # A server ends the calls of a client that is silent for 10 s.
            socket.send_multipart([Frame(kind=PING).SerializeToString(), b""])
            continue
        header, payload = socket.recv_multipart()
        frame = Frame.FromString(header)
        if frame.call_id != last_call:
            continue
        if frame.kind == RESPONSE or frame.has_response:
            yield payload
        if frame.kind == END:
            if frame.code:
                raise RuntimeError(f"status {frame.code}: {frame.message}")
            return
        if frame.kind == RESPONSE:
            socket.send_multipart([Frame(kind=CREDIT, call_id=last_call, credit=1).SerializeToString(), b""])
    raise TimeoutError(f"{method} was not answered in {timeout_s} s")


print("Say", b"".join(call("test.Echo", "Say", b"navbus")).decode())
count = int(sys.argv[2]) if len(sys.argv) > 2 else 5
numbers = [int.from_bytes(part, "little") for part in call("test.Echo", "Count", count.to_bytes(4, "little"))]
print("Count", len(numbers), sum(numbers))
try:
    list(call("test.Echo", "Sya", b""))
except RuntimeError as error:
    print(error)
