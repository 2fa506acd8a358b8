"""A client of Foxglove's WebSocket protocol: foxglove_client.py ws://HOST:PORT

Subscribes to four topics, decodes a message of each by the schema that came with it, and prints what it got. Needs the
Python packages websockets and protobuf.
"""
import asyncio
import base64
import json
import struct
import sys

import websockets
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

WANTED = {"/gnss/fix", "/nav/position", "/foxglove/fix", "/foxglove/route"}


def decode(channel, payload):
    """The payload by the schema of its channel."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(channel["schema"])).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(channel["schemaName"])).FromString(payload)


async def main(address):
    async with websockets.connect(
        address, subprotocols=["foxglove.websocket.v1", "foxglove.sdk.v1"], max_size=None
    ) as socket:
        print(socket.subprotocol)
        info = json.loads(await socket.recv())
        assert info["op"] == "serverInfo" and info["name"] == "navbus", info
        channels, seen = {}, set()
        while seen != WANTED:
            message = await asyncio.wait_for(socket.recv(), 120)
            if isinstance(message, str):
                for channel in json.loads(message).get("channels", []):
                    assert channel["encoding"] == "protobuf" and channel["schemaEncoding"] == "protobuf"
                    channels[channel["id"] + 100] = channel
                    if channel["topic"] in WANTED:
                        wanted = {"id": channel["id"] + 100, "channelId": channel["id"]}
                        await socket.send(json.dumps({"op": "subscribe", "subscriptions": [wanted]}))
                continue
            opcode, subscription, stamp = struct.unpack("<BIQ", message[:13])
            channel = channels[subscription]
            content = decode(channel, message[13:])
            assert opcode == 1 and stamp > 0 and content.ByteSize() > 0
            if channel["topic"] not in seen:
                seen.add(channel["topic"])
                print(channel["topic"], channel["schemaName"])
        ids = [number for number, channel in channels.items() if channel["topic"] in WANTED]
        await socket.send(json.dumps({"op": "unsubscribe", "subscriptionIds": ids}))
        await socket.send(json.dumps({"op": "advertise", "channels": [{"id": 1, "topic": "/x"}]}))
        while True:
            message = await asyncio.wait_for(socket.recv(), 120)
            if isinstance(message, str) and json.loads(message)["op"] == "status":
                print("refused a publication:", json.loads(message)["message"])
                break
    try:
        async with websockets.connect(
            address, subprotocols=["foxglove.sdk.v1"], origin="https://evil.example"
        ):
            print("let a stranger's page in")
    except Exception:  # whatever the library says of it
        print("refused a stranger's page")


asyncio.run(main(sys.argv[1]))
