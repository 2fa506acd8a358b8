#!/usr/bin/env python3
"""Real providers of routes on loopback: osrm-routed and valhalla_service, on data built from one extract.

Builds missing data, starts both servers, prints their addresses (`osrm http://…`, `valhalla http://…`, `ready`), and
terminates them when its standard input is closed. It uses its own ports and folders, so that several instances can run at
the same time.

    Tests/Peers/directions.py MAP.osm.pbf FOLDER

Needs osrm-bindings and pyvalhalla, whose wheels contain the servers.
"""
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import osrm
import valhalla

from workbench import free_port

OSRM, VALHALLA = os.path.dirname(osrm.__file__), os.path.dirname(valhalla.__file__)


def run(words):
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")


def build_osrm(source, folder):
    base = os.path.join(folder, "map.osrm")
    if os.path.exists(base + ".mldgr"):
        return base
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(folder, "map.osm.pbf")
    if not os.path.lexists(link):
        os.symlink(os.path.abspath(source), link)
    tool = lambda name: os.path.join(OSRM, "bin", f"osrm-{name}")
    run([tool("extract"), "-t", "1", "-p", os.path.join(OSRM, "share", "profiles", "car.lua"), link])
    run([tool("partition"), "-t", "1", base])
    run([tool("customize"), "-t", "1", base])
    return base


def build_valhalla(source, folder, port):
    tiles = os.path.join(folder, "tiles")
    os.makedirs(tiles, exist_ok=True)
    config = valhalla.get_config(tile_extract="", tile_dir=tiles)
    config["mjolnir"]["concurrency"] = 1
    ipc = lambda name: f"ipc://{os.path.join(folder, name)}"
    config["httpd"]["service"].update(
        listen=f"tcp://127.0.0.1:{port}", loopback=ipc("loopback"), interrupt=ipc("interrupt"))
    for part in ("loki", "thor", "odin", "meili"):
        config[part]["service"]["proxy"] = ipc(part)
    path = os.path.join(folder, "valhalla.json")
    with open(path, "w") as file:
        json.dump(config, file)
    if not os.listdir(tiles):
        run([os.path.join(VALHALLA, "bin", "valhalla_build_tiles"), "-c", path, source])
    return path


def answers(url):
    """Whether an HTTP server answers at a URL, with any status."""
    try:
        urllib.request.urlopen(url, timeout=1)
    except urllib.error.HTTPError:
        pass
    except OSError:
        return False
    return True


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    source, folder = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    base = build_osrm(source, os.path.join(folder, "osrm"))
    ports = {"osrm": free_port(), "valhalla": free_port()}
    config = build_valhalla(source, os.path.join(folder, "valhalla"), ports["valhalla"])
    commands = [
        [os.path.join(OSRM, "bin", "osrm-routed"), "--algorithm", "mld", "--ip", "127.0.0.1", "-t", "1",
         "--port", str(ports["osrm"]), base],
        [os.path.join(VALHALLA, "bin", "valhalla_service"), config, "1"],
    ]
    servers = [
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in commands
    ]
    try:
        for name, port in ports.items():
            url = f"http://127.0.0.1:{port}"
            until = time.monotonic() + 60
            while not answers(url):
                if time.monotonic() > until or any(server.poll() is not None for server in servers):
                    sys.exit(f"{name} does not answer")
                time.sleep(0.05)
            print(name, url, flush=True)
        print("ready", flush=True)
        sys.stdin.read()
    finally:
        for server in servers:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
