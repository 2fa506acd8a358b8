#!/usr/bin/env python3
"""A node in Python that publishes a fix per second on /gnss/fix: fix_publisher.py NAME [--without HEADER_FIELD] LAT,LON...

Needs pyzmq, protobuf, protoc.
"""
import fcntl
import glob
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time

import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Proto")
files = glob.glob(proto + "/navbus/v1/*.proto")
compile = ["protoc", "-I", proto, "--include_imports", "--descriptor_set_out=/dev/stdout", *files]
descriptors = descriptor_pb2.FileDescriptorSet.FromString(subprocess.check_output(compile))
pool = descriptor_pool.DescriptorPool()
for file in descriptors.file:
    pool.AddSerializedFile(file.SerializeToString())
Header, GnssFix = (
    message_factory.GetMessageClass(pool.FindMessageTypeByName("navbus.v1." + name)) for name in ("Header", "GnssFix")
)

# The node's directory. The lock reserves the name for the node's lifetime.
runtime = os.environ.get("XDG_RUNTIME_DIR")
default = f"{runtime}/navbus" if runtime else f"{tempfile.gettempdir()}/navbus-{os.getuid()}"
node = sys.argv[1]
folder = os.path.join(os.environ.get("NAVBUS_DIR", default), os.environ.get("NAVBUS_DOMAIN", "0"), node)
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

socket = zmq.Context.instance().socket(zmq.XPUB)
socket.bind(f"ipc://{folder}/pub")
boot_id = secrets.randbits(64)
topic = {"name": "/gnss/fix", "type": "navbus.v1.GnssFix", "schema_fingerprint": "0" * 16, "max_bytes": 16384,
         "qos": {"kind": "keep_last", "depth": 16}}
announcement = {"format": 1, "node": node, "pid": os.getpid(), "boot_id": f"{boot_id:016x}",
                "endpoints": {"pub": f"ipc://{folder}/pub"}, "topics": [topic]}
with open(folder + "/.announcement", "w") as file:
    json.dump(announcement, file)
os.rename(folder + "/.announcement", folder + "/announcement.json")  # atomic: no reader sees a partial file

assert socket.recv() == b"\x01/gnss/fix\0"  # the first subscriber
omitted, places = (sys.argv[3], sys.argv[4:]) if sys.argv[2] == "--without" else (None, sys.argv[2:])
for sequence, place in enumerate(places, 1):
    latitude, longitude = map(float, place.split(","))
    now = time.time_ns()
    fix = GnssFix(latitude=latitude, longitude=longitude, horizontal_accuracy_m=5)
    fix.timestamp.seconds, fix.timestamp.nanos = divmod(now, 1_000_000_000)
    header = Header(sequence=sequence, stamp_ns=now, boot_id=boot_id)
    if omitted:
        header.ClearField(omitted)
    socket.send_multipart([b"/gnss/fix\0", header.SerializeToString(), fix.SerializeToString()])
    time.sleep(1)
