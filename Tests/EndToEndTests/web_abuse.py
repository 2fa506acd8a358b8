"""Clients that misbehave, at a server of navbus: web_abuse.py HOST:PORT PATH PID

PATH is what an honest client asks for, PID the server's process. With PATH ws it is the Foxglove bridge, and something publishes
on /log as fast as it can. Fails when the server stops to serve others, keeps a hopeless connection, or grows.
"""
import asyncio
import json
import os
import socket
import struct
import sys

HOST, PORT = sys.argv[1].rsplit(":", 1)
PATH, PID = sys.argv[2], int(sys.argv[3])
IS_BRIDGE = PATH == "ws"
PATIENCE = 120


def memory():
    with open(f"/proc/{PID}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


async def connect():
    """A connection with small buffers, so that the server soon has to wait."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, (HOST, int(PORT)))
    return await asyncio.open_connection(sock=raw, limit=4096)


async def end(reader, what):
    """The bytes until the server closes the connection."""
    count, head = 0, b""
    try:
        while data := await asyncio.wait_for(reader.read(65536), PATIENCE):
            count += len(data)
            head = (head + data)[:400]
    except ConnectionError:
        pass
    except asyncio.TimeoutError:
        raise AssertionError(f"{what}: the connection stays open") from None
    return count, head


async def request(text, what, expected):
    reader, writer = await connect()
    try:
        writer.write(text)
        await writer.drain()
    except ConnectionError:
        pass
    _, head = await end(reader, what)
    writer.close()
    status = head.split(b" ")[1].decode() if head.startswith(b"HTTP/1.") else "none"
    assert status in expected, f"{what}: {head}"


async def serves():
    """A normal client is answered as soon as a connection is free."""
    for _ in range(600):
        try:
            reader, writer = await asyncio.open_connection(HOST, int(PORT))
            writer.write(b"GET /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % PATH.encode())
            line = await asyncio.wait_for(reader.readline(), 5)
            writer.close()
            if line.startswith((b"HTTP/1.1 200", b"HTTP/1.1 426")):
                return
        except (ConnectionError, asyncio.TimeoutError):
            pass
        await asyncio.sleep(0.1)
    raise AssertionError("others are not served any more")


async def http():
    ok = "GET / HTTP/1.1\r\nHost: localhost\r\n"
    for what, text, expected in [
        ("noise", os.urandom(100_000), {"400", "none"}),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512), {"400", "none"}),
        ("a long line", b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\n\r\n", {"400", "none"}),
        ("a long header", ok.encode() + b"X: " + b"a" * 300_000, {"400", "none"}),
        ("many headers", ok.encode() + b"X: 1\r\n" * 5_000, {"400", "none"}),
        ("a body", b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123456789", {"none"}),
        ("two lengths", b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", {"400", "none"}),
        ("no host", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", {"403"}),
        ("two hosts", b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n", {"403"}),
        ("a post", b"POST /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % PATH.encode(), {"405"}),
    ]:
        await request(text, what, expected)
    # Streams whose clients leave before they begin.
    for _ in range(200):
        _, writer = await connect()
        writer.write(b"GET /news?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    # Endless requests only occupy connections; so do a thousand idle ones.
    halves = [await connect() for _ in range(20)]
    for _, writer in halves:
        writer.write(b"GET / HTTP/1.1\r\nHo")
    await serves()
    crowd = await asyncio.gather(*(connect() for _ in range(1_000)), return_exceptions=True)
    for item in halves + [item for item in crowd if not isinstance(item, BaseException)]:
        item[1].close()
    await serves()
    print("bad requests are refused")


async def pipeline():
    """A client that sends requests and reads no answer waits, and its answers do not pile up."""
    before = memory()
    _, writer = await connect()
    many = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % PATH.encode() * 1_000
    # The buffers of the system hold some ten megabytes of requests.
    for sent in range(1_000):
        try:
            writer.write(many)
            await asyncio.wait_for(writer.drain(), 5)
        except (ConnectionError, asyncio.TimeoutError):
            break
        grown = memory() - before
        assert grown < 30, f"memory has grown by {grown} MB after {sent + 1} thousand requests"
    else:
        raise AssertionError("a million requests are accepted from a client that reads no answer")
    writer.transport.abort()
    await serves()
    print("unread answers hold back further requests")


def frame(opcode, payload, length=None):
    """A frame of a client, with a mask of zeros."""
    size = len(payload) if length is None else length
    head = bytes([0x80 | opcode])
    head += bytes([0x80 | size]) if size < 126 else struct.pack(">BQ", 0xFF, size)
    return head + bytes(4) + payload


async def handshake():
    reader, writer = await connect()
    writer.write(
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n")
    assert b" 101 " in await reader.readline()
    return reader, writer


async def frames():
    for what, data in [
        ("a frame of 2^40 bytes", frame(2, b"", 1 << 40)),
        ("a message of 2 MB in parts", b"\x01\xff" + struct.pack(">Q", 1 << 19) + bytes(4 + (1 << 19)) + (
            b"\x00\xff" + struct.pack(">Q", 1 << 19) + bytes(4 + (1 << 19))) * 3),
        ("a thousand parts", b"\x01\x80" + bytes(4) + (b"\x00\x80" + bytes(4)) * 1_000),
        ("an unknown opcode", frame(7, b"")),
        ("a frame with reserved bits", b"\xf9\x80" + bytes(4)),
        ("a frame without a mask", b"\x89\x04ping"),
        ("a text in parts, the last without a mask", b"\x01\x80" + bytes(4) + b"\x80\x00"),
        ("a long ping", frame(9, bytes(1_000))),
        ("its end", frame(8, b"")),
    ]:
        reader, writer = await handshake()
        writer.write(data)
        await end(reader, what)
        writer.close()
    # Endless pings and invalid requests from a client that reads no answer.
    wrong = json.dumps({"op": "subscribe", "subscriptions": [{"id": 1, "channelId": 99999}] * 1_000}).encode()
    for data in [frame(9, bytes(120)) * 1_000, frame(1, wrong)]:
        reader, writer = await handshake()
        try:
            while True:
                writer.write(data)
                await asyncio.wait_for(writer.drain(), PATIENCE)
        except ConnectionError:
            pass
    await serves()
    print("bad frames are refused")


async def slow():
    import websockets

    async def subscribed():
        # Without the library's pings: the answer to one waits behind everything that a slow client has not read.
        client = await websockets.connect(
            f"ws://{HOST}:{PORT}", subprotocols=["foxglove.sdk.v1"], max_size=None, ping_interval=None)
        while True:
            text = await asyncio.wait_for(client.recv(), PATIENCE)
            for channel in json.loads(text).get("channels", []):
                if channel["topic"] == "/log":
                    wanted = {"id": 1, "channelId": channel["id"]}
                    await client.send(json.dumps({"op": "subscribe", "subscriptions": [wanted]}))
                    return client, wanted

    quick, wanted = await subscribed()
    lazy, _ = await subscribed()
    reader, mute = await handshake()
    mute.write(frame(1, json.dumps({"op": "subscribe", "subscriptions": [wanted]}).encode()))
    # The fast client is served while the others read nothing.
    size = 0
    while size < 64 << 20:
        size += len(await asyncio.wait_for(quick.recv(), PATIENCE))
    assert memory() < 250, memory()
    # The slow one resumes, and is told what it missed.
    status = {}
    while status.get("op") != "status":
        data = await asyncio.wait_for(lazy.recv(), PATIENCE)
        status = {} if isinstance(data, bytes) else json.loads(data)
    assert status["level"] == 1 and "were dropped" in status["message"], status
    print("a slow client is told:", status["message"])

    async def drain(client):
        while True:
            await client.recv()

    async def sip(client):
        while True:
            await client.recv()
            await asyncio.sleep(0.02)

    # Clients stay connected however slowly they read.
    slowest, _ = await subscribed()
    readers = [asyncio.create_task(drain(client)) for client in (quick, lazy)] + [asyncio.create_task(sip(slowest))]
    # The stalled one is disconnected half a minute after its last read.
    await asyncio.sleep(45)
    count, _ = await end(reader, "a mute client")
    assert count < 24 << 20, count
    for name, task in zip(("quick", "lazy", "slowest"), readers):
        assert not task.done(), (name, task.exception())
    assert memory() < 250, memory()
    print("a mute client is disconnected")


async def main():
    before = memory()
    await http()
    await pipeline()
    if IS_BRIDGE:
        await frames()
    assert memory() < before + 150, (before, memory())
    if IS_BRIDGE:
        await slow()
    await serves()


asyncio.run(main())
