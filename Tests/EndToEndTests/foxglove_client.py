"""A client of Foxglove's WebSocket protocol.

foxglove_client.py ws://HOST:PORT   reads a drive from the bridge: schemas, messages, times, subscriptions, withdrawals
foxglove_client.py --reference      reads from Foxglove's own server (PyPI foxglove-sdk), which shows that this client is right

Needs the Python packages websockets and protobuf. Prints what it sees, and fails at the first thing that is wrong.
"""
import asyncio
import base64
import json
import os
import re
import struct
import sys

import websockets
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PATIENCE = 120
PROTO = os.path.join(os.path.dirname(__file__), "../../Proto/foxglove/LocationFix.proto")


class Client:
    """One connection: channels by id, and messages by topic."""

    def __init__(self, socket):
        self.socket, self.channels, self.types, self.topics = socket, {}, {}, {}

    async def next(self):
        """The next message: (op, content), op being "message" for binary data."""
        data = await asyncio.wait_for(self.socket.recv(), PATIENCE)
        if isinstance(data, bytes):
            opcode, subscription, stamp = struct.unpack("<BIQ", data[:13])
            assert opcode == 1, opcode
            topic = self.topics[subscription]
            return "message", (topic, stamp, self.decode(topic, data[13:]))
        content = json.loads(data)
        for channel in content.get("channels", []):
            assert channel["encoding"] == channel["schemaEncoding"] == "protobuf", channel
            assert channel["id"] not in [known["id"] for known in self.channels.values()]
            self.channels[channel["topic"]] = channel
        if content["op"] == "unadvertise":
            gone = [topic for topic, channel in self.channels.items() if channel["id"] in content["channelIds"]]
            assert gone, content
            for topic in gone:
                del self.channels[topic]
            content["topics"] = gone
        return content["op"], content

    def decode(self, topic, payload):
        """The payload by the schema of its channel, which is complete."""
        channel = self.channels[topic]
        if channel["id"] not in self.types:
            pool = descriptor_pool.DescriptorPool()
            for file in descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(channel["schema"])).file:
                pool.Add(file)
            name = pool.FindMessageTypeByName(channel["schemaName"])
            self.types[channel["id"]] = message_factory.GetMessageClass(name)
        return self.types[channel["id"]].FromString(payload)

    async def ask(self, op, **fields):
        await self.socket.send(json.dumps({"op": op, **fields}))

    async def subscribe(self, topic):
        number = self.channels[topic]["id"] + 100
        self.topics[number] = topic
        await self.ask("subscribe", subscriptions=[{"id": number, "channelId": self.channels[topic]["id"]}])

    async def status(self):
        while True:
            op, content = await self.next()
            if op == "status":
                return content


async def read(address, protocol, wanted, name, same=()):
    """Connects, subscribes to topics as they are advertised, and returns when messages of one moment arrived on `same`,
    and a message of each other topic; the messages are by topic and stamp."""
    socket = await websockets.connect(address, subprotocols=[protocol], max_size=None)
    assert socket.subprotocol == protocol
    client = Client(socket)
    op, info = await client.next()
    assert op == "serverInfo" and info["name"] == name and info["sessionId"], info
    assert info["capabilities"] == [], info
    print("is connected", flush=True)
    seen, asked, last = {}, set(), {}
    # Subscriptions begin one after another: the first messages of two topics need not be of one moment.
    while set(seen) != wanted or same and not set.intersection(*(set(seen[topic]) for topic in same)):
        op, content = await client.next()
        for topic in wanted & set(client.channels) - asked:
            asked.add(topic)
            await client.subscribe(topic)
        if op == "message":
            topic, stamp, message = content
            assert topic in wanted and message.ByteSize() > 0 and stamp >= last.get(topic, 1), content
            last[topic] = stamp
            seen.setdefault(topic, {})[stamp] = message
    return client, seen


async def drive(address):
    wanted = {"/gnss/fix", "/nav/position", "/foxglove/fix", "/foxglove/position", "/foxglove/route"}
    same = ("/foxglove/fix", "/gnss/fix")
    (client, seen), (second, _) = await asyncio.gather(
        read(address, "foxglove.sdk.v1", wanted, "navbus", same),
        read(address, "foxglove.websocket.v1", wanted, "navbus"))
    for topic, messages in sorted(seen.items()):
        print(topic, next(iter(messages.values())).DESCRIPTOR.full_name)
    moment = min(set(seen[same[0]]) & set(seen[same[1]]))
    fix, raw = (seen[topic][moment] for topic in same)
    assert (fix.latitude, fix.longitude) == (raw.latitude, raw.longitude) and 60 < fix.latitude < 61, fix
    assert fix.timestamp.seconds > 1_600_000_000, fix
    assert json.loads(next(iter(seen["/foxglove/route"].values())).geojson)["type"]
    await asyncio.wait_for(await client.socket.ping(), PATIENCE)
    print("answers pings")

    fix = client.channels["/gnss/fix"]["id"]
    for wrong in [{"id": 1, "channelId": 99999}, {"id": fix + 100, "channelId": fix}, {"id": 1, "channelId": fix}]:
        await client.ask("subscribe", subscriptions=[wrong])
        assert (await client.status())["level"] == 2
    for text in ["{", "[]", '{"op":1}', '{"op":"subscribe","subscriptions":[{"id":-1}]}', "\x00"]:
        await client.socket.send(text)
        assert (await client.status())["level"] == 2
    for op in ["advertise", "setParameters", "fetchAsset", "subscribeConnectionGraph"]:
        await client.ask(op, channels=[], parameters=[], uri="/")
        assert "only publishes" in (await client.status())["message"]
    await client.socket.send(b"\x01\x01\x00\x00\x00payload")
    print("refuses to publish")

    await client.ask("unsubscribe", subscriptionIds=list(client.topics) + [4_000_000])
    await client.ask("wrong")
    await client.status()  # Everything in flight has arrived.
    print("reads the drive", flush=True)
    while True:
        op, content = await client.next()
        assert op != "message", "a message after its subscription ended"
        if op == "unadvertise" and "/nav/position" in content["topics"]:
            break
    print("/nav/position is withdrawn", flush=True)
    while "/nav/position" not in client.channels:
        await client.next()
    print("/nav/position is back", flush=True)
    for origin, reason in [("https://evil.example", None), ("https://app.foxglove.dev", "foxglove.sdk.v1")]:
        try:
            async with websockets.connect(address, subprotocols=["foxglove.sdk.v1"], origin=origin) as socket:
                assert reason == socket.subprotocol, "a stranger's page is let in"
        except websockets.exceptions.InvalidStatus as error:
            assert reason is None and error.response.status_code == 403, error
    print("refuses a stranger's page", flush=True)
    try:
        while True:
            await client.next()
    except websockets.exceptions.ConnectionClosed as end:
        print("closes with", end.rcvd.code if end.rcvd else None)


async def reference():
    import foxglove
    from foxglove.channels import LocationFixChannel
    from foxglove.messages import LocationFix

    # Our subset of the schema has the same names and numbers.
    files = descriptor_pb2.FileDescriptorSet.FromString(LocationFix.get_schema().data).file
    theirs = {field.name: field.number for file in files for one in file.message_type if one.name == "LocationFix" for field in one.field}
    with open(PROTO) as file:
        ours = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)[ ;]", file.read().split("\n  }\n")[1])}
    assert ours and ours.items() <= theirs.items(), (ours, theirs)

    server = foxglove.start_server(name="reference", host="127.0.0.1", port=0)
    fixes = LocationFixChannel("/fix")

    async def publish():
        while True:
            fixes.log(LocationFix(latitude=60.17, longitude=24.94))
            await asyncio.sleep(0.05)

    publisher = asyncio.create_task(publish())
    _, seen = await read(f"ws://127.0.0.1:{server.port}", "foxglove.sdk.v1", {"/fix"}, "reference")
    assert all(fix.latitude == 60.17 for fix in seen["/fix"].values()), seen
    publisher.cancel()
    server.stop()
    print("reads from Foxglove's own server")


asyncio.run(reference() if sys.argv[1] == "--reference" else drive(sys.argv[1]))
