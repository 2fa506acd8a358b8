#!/usr/bin/env python3
"""Prints the progress of a navigation-node on this machine: progress_client.py [node]. Needs pyzmq, protobuf, protoc."""
import glob
import json
import os
import subprocess
import sys
import tempfile

import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# The message types, from the .proto files.
proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Proto")
files = glob.glob(proto + "/navbus/v1/*.proto")
compile = ["protoc", "-I", proto, "--include_imports", "--descriptor_set_out=/dev/stdout", *files]
descriptors = descriptor_pb2.FileDescriptorSet.FromString(subprocess.check_output(compile))
pool = descriptor_pool.DescriptorPool()
for file in descriptors.file:
    pool.AddSerializedFile(file.SerializeToString())
Header, RouteProgress = (
    message_factory.GetMessageClass(pool.FindMessageTypeByName("navbus.v1." + name)) for name in ("Header", "RouteProgress")
)

# The node, from its announcement in the file system.
runtime = os.environ.get("XDG_RUNTIME_DIR")
default = f"{runtime}/navbus" if runtime else f"{tempfile.gettempdir()}/navbus-{os.getuid()}"
node = sys.argv[1] if len(sys.argv) > 1 else "navigation-node"
folder = os.path.join(os.environ.get("NAVBUS_DIR", default), os.environ.get("NAVBUS_DOMAIN", "0"), node)
with open(folder + "/announcement.json") as file:
    endpoint = json.load(file)["endpoints"]["pub"]

socket = zmq.Context.instance().socket(zmq.SUB)
socket.subscribe(b"/nav/progress\0")  # the NUL ends the name: no other topic matches
socket.connect(endpoint)
while True:
    topic, header, payload = socket.recv_multipart()
    progress = RouteProgress.FromString(payload)
    print(f"#{Header.FromString(header).sequence} route {progress.route_id}: {progress.distance_remaining_m:.0f} m, "
          f"{progress.duration_remaining_s:.0f} s to go on {progress.road_name or 'a road without a name'}", flush=True)
