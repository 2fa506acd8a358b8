#!/usr/bin/env python3
"""A policy node in Python: answers the policy requests of navigation-node on behalf of the vehicle's owner.

- In the depot no reroute begins: a vehicle that leaves the route there is parking or loading.
- A new route whose first maneuver is less than 4 s away is rejected.
- A faster route is accepted if it saves three minutes.
- All other requests get the default decision.

policy_node.py [--name NAME] [--set depot=LAT,LON,METRES]. Needs pyzmq, protobuf, protoc. launch/policy.yaml starts it.
"""
import argparse
import collections
import fcntl
import glob
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time

import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "navbus.v1.Policy"
LEAST_MANEUVER_S, LEAST_GAIN_S, HOLD_S = 4, 180, 10
UNSPECIFIED, YES, NO = 0, 1, 2

REQUEST, END, PING, PONG = 1, 3, 6, 7  # of navbus.v1.ServiceFrameKind
INVALID_ARGUMENT, UNIMPLEMENTED = 3, 12


def messages():
    """Returns a lookup of the message types of the .proto files by name."""
    proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Proto")
    files = glob.glob(proto + "/navbus/v1/*.proto")
    command = ["protoc", "-I", proto, "--include_imports", "--descriptor_set_out=/dev/stdout", *files]
    protoc = subprocess.run(command, capture_output=True)
    if protoc.returncode:
        sys.exit(protoc.stderr.decode())
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(protoc.stdout).file:
        pool.AddSerializedFile(file.SerializeToString())
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def claim(lock):
    """Takes the lock of a node's name; returns False when a live node holds it. Other nodes probe it by taking it briefly, hence the
    retries."""
    last = time.monotonic() + 1
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= last:
                return False
            time.sleep(0.002)


def metres(latitude, longitude, other_latitude, other_longitude):
    """Returns the distance between two nearby places, in metres."""
    north = other_latitude - latitude
    east = (other_longitude - longitude) * math.cos(math.radians(latitude))
    return math.hypot(north, east) * 111_195


class Policy:
    """The decisions: one method for each kind of request that this node decides, with protobuf messages as request and answer."""

    def __init__(self, message, depot):
        self.answer, self.depot = message("navbus.v1.PolicyAnswer"), depot

    def ShouldReroute(self, question):
        place = question.context.position.matched
        if self.depot and place.HasField("latitude"):
            latitude, longitude, radius = self.depot
            if metres(latitude, longitude, place.latitude, place.longitude) < radius:
                return self.answer(verdict=NO, reason="in the depot", hold_s=HOLD_S)
        return self.answer(verdict=YES, reason="outside of the depot")

    def AcceptReroute(self, question):
        if question.HasField("maneuver_in_s") and question.maneuver_in_s < LEAST_MANEUVER_S:
            return self.answer(verdict=NO, reason=f"its first maneuver is {question.maneuver_in_s:.1f} s away")
        return self.answer(verdict=YES, reason="there is time for its first maneuver")

    def AcceptFasterRoute(self, question):
        return self.answer(verdict=YES if question.gain_s >= LEAST_GAIN_S else NO, reason=f"saves {question.gain_s:.0f} s")

    def decide(self, question):
        """Returns the default decision, for all other requests."""
        return self.answer(verdict=UNSPECIFIED)


class Node:
    """A node that serves Policy: its folder with lock and announcement, and the socket that receives calls."""

    def __init__(self, name, message):
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        default = f"{runtime}/navbus" if runtime else f"{tempfile.gettempdir()}/navbus-{os.getuid()}"
        root = os.environ.get("NAVBUS_DIR") or default
        folder = os.path.join(root, os.environ.get("NAVBUS_DOMAIN") or "0", name)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # The lock reserves the name for the lifetime of the process.
        self.lock = open(folder + "/lock", "a")
        if not claim(self.lock):
            sys.exit(f"error: a node named '{name}' is already running: give another --name")
        self.frame, self.message = message("navbus.v1.ServiceFrame"), message
        self.open = collections.Counter()  # the calls without an answer, by client
        self.methods = message("navbus.v1.PolicyContext").DESCRIPTOR.file.services_by_name["Policy"].methods_by_name
        context = zmq.Context.instance()
        self.topics, self.calls = context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
        self.topics.bind(f"ipc://{folder}/pub")  # required of every node; this one publishes nothing
        self.calls.bind(f"ipc://{folder}/rpc")
        methods = [{"name": method, "server_streaming": False} for method in self.methods]
        announcement = {"format": 1, "node": name, "pid": os.getpid(), "boot_id": f"{secrets.randbits(64):016x}",
                        "endpoints": {"pub": f"ipc://{folder}/pub", "rpc": f"ipc://{folder}/rpc"}, "topics": [],
                        "services": [{"name": SERVICE, "methods": methods}]}
        with open(folder + "/.announcement", "w") as file:
            json.dump(announcement, file)
        os.rename(folder + "/.announcement", folder + "/announcement.json")  # atomic: no reader sees a partial file

    def serve(self, policy):
        """Answers calls one after the other, without end."""
        while True:
            client, header, payload = self.calls.recv_multipart()
            frame = self.frame.FromString(header)
            if frame.kind == PING:  # the client abandons calls that the answer does not count
                self.send(client, self.frame(kind=PONG, sequence=frame.sequence, credit=1 + self.open[client]))
            elif frame.kind == REQUEST:
                self.open[client] += 1
                self.answer(client, frame, payload, policy)

    def answer(self, client, frame, payload, policy):
        """Answers one call. To answer asynchronously, call end() later; until then the call counts as open."""
        end = self.frame(kind=END, call_id=frame.call_id)
        method = self.methods.get(frame.method) if frame.service == SERVICE else None
        if method is None:
            end.code, end.message = UNIMPLEMENTED, f"there is no {frame.service}/{frame.method} here"
            return self.end(client, end)
        try:
            question = self.message(method.input_type.full_name).FromString(payload)
        except Exception as problem:  # any exception of protobuf: the request is malformed
            end.code, end.message = INVALID_ARGUMENT, str(problem)
            return self.end(client, end)
        answer = getattr(policy, frame.method, policy.decide)(question)
        if method.output_type.full_name != answer.DESCRIPTOR.full_name:
            answer = self.message(method.output_type.full_name)()  # no change requested
        elif answer.verdict != UNSPECIFIED:
            print(frame.method, {YES: "yes", NO: "no"}[answer.verdict] + ":", answer.reason, flush=True)
        end.has_response = True
        self.end(client, end, answer.SerializeToString())

    def end(self, client, frame, payload=b""):
        """Ends a call."""
        self.open[client] -= 1
        if not self.open[client]:
            del self.open[client]
        self.send(client, frame, payload)

    def send(self, client, frame, payload=b""):
        self.calls.send_multipart([client, frame.SerializeToString(), payload])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--name", default="policy-node", help="name on the bus")
    arguments.add_argument("--set", action="append", default=[], metavar="depot=LAT,LON,METRES")
    depot = None
    for setting in (given := arguments.parse_args()).set:
        key, _, value = setting.partition("=")
        try:
            if key != "depot":
                raise ValueError
            depot = tuple(float(part) for part in value.split(",")) if value else None
            if depot and (len(depot) != 3 or not all(map(math.isfinite, depot))):
                raise ValueError
        except ValueError:
            arguments.error(f"'{setting}' is not depot=LAT,LON,METRES")
    message = messages()
    Node(given.name, message).serve(Policy(message, depot))


if __name__ == "__main__":
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        pass  # the kernel frees the lock with the process, which callers detect immediately
