"""Tile servers that send wrong data, and operators that copy, truncate and remove files under running nodes."""

import http.server
import os
import pathlib
import shutil
import socketserver
import subprocess
import threading
import time

import bus
from faults_process import back_after, boot_of
from registry import fault
from run import Run, Scene
from stack import SetUpFailed, is_process

ALONE = Scene(starts=False)


def own_tiles(run: Run) -> pathlib.Path:
    """Gives the run its own copy of the tiles, which may be damaged."""
    copy = run.folder / "tiles"
    shutil.copytree(run.tiles, copy)
    run.stack.tiles = copy
    return copy


def other_tiles(run: Run) -> pathlib.Path:
    """Builds tiles of the same roads with other content: the speed limits of another country."""
    other = run.folder / "other"
    done = run.options.programs.run("map", "build", run.options.map, "--out", other, "--country", "PT")
    if done.returncode != 0:
        raise SetUpFailed(f"navbus map build: {done.stderr.strip()}")
    return other


def lives_and_guides(run: Run, before: str, cause: str) -> None:
    """Checks that the node has not crashed, and guides or reports why not."""
    run.expect(
        boot_of(run, "navigation-node") == before,
        f"navigation-node survives {cause}",
        "it was restarted: " + "; ".join(run.stack.crashes()[:1]),
    )
    guided = run.wait(run.guided_since(run.now()), 10)
    health = run.observer.last("/health/navigation-node")
    run.expect(
        guided.done or (health and health.reasons), f"guidance or a reported reason after {cause}", run.state_text()
    )


def place_new_route(run: Run) -> None:
    """Requests routes, so that the map is used."""
    for goal in (run.points[-1], run.points[0], run.points[-1]):
        request = run.types.CalculateRouteRequest(preview=False)
        request.waypoints.add(latitude=goal[0], longitude=goal[1])
        try:
            run.client.call("CalculateRoute", request, "CalculateRouteResponse", seconds=10)
        except bus.CallFailed:
            pass


@fault(
    "tiles-copy",
    "an operator repeatedly copies new tiles over those of the running node for 12 s",
    ALONE,
    quick=True,
)
def tiles_copy(run: Run) -> None:
    """The node survives `cp -r NEW/* TILES/` during a drive while routes are requested."""
    tiles, other, same = own_tiles(run), other_tiles(run), run.tiles
    run.start_stack()
    run.require(run.wait(run.is_guided, 30), "guidance begins")
    before = boot_of(run, "navigation-node")
    ends = threading.Event()

    def ask() -> None:
        while not ends.is_set():
            place_new_route(run)

    asker = threading.Thread(target=ask, daemon=True)
    asker.start()
    copies, end = 0, time.monotonic() + 12
    while time.monotonic() < end and boot_of(run, "navigation-node") == before:
        subprocess.run(f"cp -r {(other, same)[copies % 2]}/* {tiles}/", shell=True, check=True)
        copies += 1
        time.sleep(run.rng.choice([0, 0, 0.05, 0.5]))
    ends.set()
    asker.join()
    run.facts["copies"] = copies
    run.sleep(2)
    lives_and_guides(run, before, f"{copies} copies over its tiles")


def spoil(run: Run, act, cause: str) -> None:
    """Damages the files of the tiles during a drive."""
    tiles = own_tiles(run)
    run.start_stack()
    run.require(run.wait(run.is_guided, 30), "guidance begins")
    before = boot_of(run, "navigation-node")
    files = sorted(path for path in tiles.rglob("*") if path.is_file() and path.suffix == ".road")
    for path in files:
        act(path)
    place_new_route(run)
    run.sleep(6)
    place_new_route(run)
    lives_and_guides(run, before, cause)


@fault("tiles-truncate", "every tile's file is truncated to a third under the running node", ALONE)
def tiles_truncate(run: Run) -> None:
    """The node survives truncate(2) on mapped files."""
    spoil(run, lambda path: os.truncate(path, path.stat().st_size // 3), "truncated files")


@fault("tiles-empty", "every tile's file is emptied under the running node", ALONE)
def tiles_empty(run: Run) -> None:
    """The node survives truncation of mapped files to length zero."""
    spoil(run, lambda path: os.truncate(path, 0), "emptied files")


@fault("tiles-garbage", "every tile's file is overwritten with random bytes in place", ALONE)
def tiles_garbage(run: Run) -> None:
    """The node survives changes of mapped files."""

    def overwrite(path: pathlib.Path) -> None:
        with open(path, "r+b") as file:
            file.write(run.rng.randbytes(path.stat().st_size))

    spoil(run, overwrite, "overwritten files")


@fault("tiles-remove", "the folder of tiles is removed under the running node", ALONE)
def tiles_remove(run: Run) -> None:
    """The node survives `rm -r TILES`."""
    spoil(run, lambda path: path.unlink(), "removed files")


@fault("tiles-readonly", "the tile store is on a read-only disk", Scene(starts=False, guided=False))
def tiles_readonly(run: Run) -> None:
    """The available tiles are still served."""
    store = run.folder / "store"
    fill = [
        str(run.options.programs.folder / "tile-cache-node"),
        "--set",
        f"store.path={store}",
        "--set",
        f"tilesets=name=roads,source=file://{run.tiles}",
    ]
    cache = subprocess.Popen(fill, env=run.stack.full_environment, stderr=subprocess.DEVNULL)
    try:
        run.require(run.wait(lambda: run.stack.is_up("tile-cache-node"), 20), "the cache starts")
        here = run.points[0]
        loaded = run.options.programs.run(
            "region",
            "load",
            "here",
            "--circle",
            f"{here[0]:.5f},{here[1]:.5f},1500",
            environment=run.stack.full_environment,
            seconds=60,
        )
        if loaded.returncode != 0:
            raise SetUpFailed(f"navbus region load: {loaded.stderr.strip()}")
    finally:
        cache.terminate()
        cache.wait()
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    flags = ["-m", "--propagation", "private"]
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode != 0:
        raise SetUpFailed("creating a mount namespace is not permitted")
    log = open(run.folder / "cache.log", "wb")
    cache = subprocess.Popen(
        ["unshare", *flags, "bash", "-c", script, str(store), *fill],
        env=run.stack.full_environment,
        stdout=log,
        stderr=log,
    )
    try:
        up = run.wait(lambda: run.stack.is_up("tile-cache-node") or cache.poll() is not None, 20)
        run.expect(
            up.done and cache.poll() is None,
            "the cache starts with a read-only store",
            f"it ended with {cache.poll()}: {(run.folder / 'cache.log').read_text()[-300:]}",
        )
        if cache.poll() is None:
            done = run.options.programs.run(
                "region", "list", "--json", environment=run.stack.full_environment, seconds=30
            )
            run.expect(
                done.returncode == 0 and "here" in done.stdout, "its regions are there", done.stdout + done.stderr
            )
    finally:
        cache.terminate()
        cache.wait()


class TileServer:
    """A static server of a folder that can misbehave in several modes."""

    MODES = ("lie", "hang", "garbage", "cut", "error", "redirect", "slow", "huge", "empty")

    def __init__(self, folder: pathlib.Path) -> None:
        self.mode, self.requests = "good", 0
        self.ends = threading.Event()
        outer = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            """A handler that answers according to the mode."""

            protocol_version = "HTTP/1.1"

            def __init__(self, *words: object) -> None:
                super().__init__(*words, directory=str(folder))

            def do_GET(self) -> None:
                """Sends a file according to the mode."""
                outer.requests += 1
                path = pathlib.Path(self.translate_path(self.path))
                data = path.read_bytes() if path.is_file() else None
                outer.answer(self, data)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            """A server of many connections at a time."""

            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Ignores clients that disconnect."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, handler: http.server.BaseHTTPRequestHandler, data: bytes | None) -> None:
        """Sends a file according to the mode."""
        mode = self.mode
        if mode == "list":
            mode = "good" if handler.path.endswith("tileset.json") else "error"
        if mode == "hang":
            self.ends.wait(60)
            handler.close_connection = True
            return
        if mode == "garbage":
            handler.wfile.write(os.urandom(4_000))
            handler.close_connection = True
            return
        if mode == "error" or data is None:
            handler.send_error(503 if mode == "error" else 404)
            return
        if mode == "redirect":
            handler.send_response(302)
            handler.send_header("Location", handler.path)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        body = {"lie": bytes(reversed(data)), "empty": b"", "huge": data}.get(mode, data)
        handler.send_response(200)
        handler.send_header("Content-Length", str(1 << 40 if mode == "huge" else len(body)))
        handler.end_headers()
        if mode == "cut":
            handler.wfile.write(body[: len(body) // 2])
            handler.close_connection = True
        elif mode == "slow":
            for start in range(0, len(body), 500):
                handler.wfile.write(body[start : start + 500])
                if self.ends.wait(0.2):
                    return
        else:
            handler.wfile.write(body)
            handler.close_connection = mode == "huge"

    def end(self) -> None:
        """Ends the server."""
        self.ends.set()
        self._server.shutdown()
        self._server.server_close()


@fault(
    "server-lies",
    "a tile server sends wrong data, hangs, sends garbage, truncates, fails, and finally works",
    Scene(starts=False, cache=True, guided=False),
)
def server_lies(run: Run) -> None:
    """The store is sound at the end, and guidance begins once the tiles arrive."""
    server = TileServer(run.tiles)
    store = run.folder / "store"
    try:
        run.stack.arguments |= {
            "store": str(store),
            "tilesets": f"name=roads,source={server.address}",
            "tiles": str(store / "tilesets/roads/current"),
        }
        modes = list(TileServer.MODES)
        run.rng.shuffle(modes)
        # The list of tiles must be available, because without it there is no map to start with.
        server.mode = "list"
        run.start_stack()
        cache, before = run.stack.pid("tile-cache-node"), boot_of(run, "navigation-node")
        for mode in modes:
            server.mode = mode
            run.sleep(4)
            if not run.expect(
                is_process(cache),
                f"the cache stays alive with its server in mode '{mode}'",
                f"it has ended; see {run.stack.log}",
            ):
                return
        server.mode = "good"
        server.ends.set()
        moment = run.now()
        run.within(
            run.wait(run.guided_since(moment), 180, moment),
            150,
            "guidance begins once the server works",
            "guidance_s",
        )
        run.expect(boot_of(run, "navigation-node") == before, "navigation-node stays alive", "it was restarted")
        run.facts["requests"] = server.requests
        run.stack.stop()
        done = subprocess.run(
            [str(run.options.programs.folder / "tile-cache-node"), "--set", f"store.path={store}", "--check"],
            env=run.stack.full_environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        run.expect(done.returncode == 0, "the store is sound", (done.stdout + done.stderr).strip()[-300:])
    finally:
        server.end()


@fault("operator-twin", "a second node of each name is started", quick=True, live=True)
def operator_twin(run: Run) -> None:
    """The second node is rejected with a message; the first one continues."""
    folder = run.options.programs.folder
    for node, words in (
        ("navigation-node", ["--set", f"tiles={run.stack.tiles}"]),
        ("gnss-node", ["--set", "source=gpsd://127.0.0.1:1"]),
    ):
        before = boot_of(run, node)
        done = subprocess.run(
            [str(folder / node), *words], env=run.stack.full_environment, capture_output=True, text=True, timeout=60
        )
        run.expect(
            0 < done.returncode < 128 and node in done.stderr,
            f"a second {node} is rejected with a message",
            f"status {done.returncode}: {done.stderr.strip()[-200:]}",
        )
        run.expect(boot_of(run, node) == before, f"the first {node} continues", "another node has its name")
    back_after(run, run.now(), 1, "twins")


@fault("operator-registry", "the nodes' files on the bus are removed: announcements, then sockets, then folders")
def operator_registry(run: Run) -> None:
    """Connected clients continue to receive data, or the health reports that there is none; nothing crashes."""
    run.accounts = False
    for pattern in ("*/announcement.json", "*/pub", "*/rpc"):
        for path in (run.stack.bus / "0").glob(pattern):
            path.unlink(missing_ok=True)
        run.sleep(3)
        guided = run.wait(run.guided_since(run.now()), 5)
        health = run.observer.last("/health/navigation-node")
        run.expect(
            guided.done or (health and health.reasons),
            f"guidance or a reported reason without {pattern}",
            run.state_text(),
        )
        run.facts["guided"] = guided.done
    run.expect(run.stack.launcher.poll() is None, "the launch continues", "it has ended")


@fault("operator-config", "configuration files with garbage", Scene(trip="none", starts=False, record=False))
def operator_config(run: Run) -> None:
    """Each is rejected with a message and an error status; none crashes a node."""
    rng = run.rng
    garbage = {
        "random.yaml": rng.randbytes(4_000),
        "deep.yaml": b"[" * 20_000,
        "utf.yaml": b"tiles: \xff\xfe\n",
        "null.yaml": bytes(100),
        "bomb.yaml": b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
        b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n",
        "key.yaml": b"no_such_key: 1\n",
        "list.yaml": b"- 1\n- 2\n",
    }
    for name, data in garbage.items():
        path = run.folder / name
        path.write_bytes(data)
        for node in ("navigation-node", "gnss-node", "tile-cache-node"):
            try:
                done = subprocess.run(
                    [str(run.options.programs.folder / node), "--config", path, "--print-config"],
                    text=True,
                    capture_output=True,
                    env=run.stack.full_environment,
                    timeout=60,
                )
                run.expect(
                    0 < done.returncode < 128,
                    f"{node} rejects {name} with a message",
                    f"status {done.returncode}: {done.stderr.strip()[-200:]}",
                )
            except subprocess.TimeoutExpired:
                run.fail(f"{node} rejects {name}", "it has not ended after 60 s")
