"""Calls of the tile cache: tiles, offline regions, totals."""

import gzip
import math
import pathlib
import struct
import threading
import time
import zlib
from typing import Any

from node_calls import values
from request_fields import INVALID, NOT_FOUND, polygon
from stage import Bus, Failed, Web
from town import place

CACHE = "tile-cache-node"


def png() -> bytes:
    """Returns a PNG image of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


class TileSource:
    """A web server of map tiles that can fail or hold its answers back."""

    def __init__(self) -> None:
        self.failing = False
        self.count = 0
        self._admitted = math.inf
        self._gate = threading.Condition()
        self._web = Web(self._answer)
        self.url, self.end = self._web.url, self._web.end

    def _answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        with self._gate:
            self.count += 1
            self._gate.wait_for(lambda: self._admitted > 0, 20)
            self._admitted -= 1
        if self.failing:
            return 500, {}, b""
        if path.endswith(".png"):
            return 200, {"Content-Type": "image/png", "Cache-Control": "max-age=86400"}, png()
        # A vector tile with one layer, whose name is the path.
        name = path.encode()
        layer = b"\x78\x02\x0a" + bytes([len(name)]) + name
        tile = gzip.compress(b"\x1a" + bytes([len(layer)]) + layer, mtime=0)
        kind = {"Content-Type": "application/vnd.mapbox-vector-tile", "Content-Encoding": "gzip"}
        return 200, {**kind, "Cache-Control": "max-age=3"}, tile

    def hold(self, after: float) -> None:
        """Holds back all tiles after the next few."""
        with self._gate:
            self._admitted = after
            self._gate.notify_all()

    def release(self) -> None:
        """Sends the tiles that were held back."""
        self.hold(after=math.inf)

    def tilesets(self, roads: str) -> str:
        """Returns the key `tilesets` of the cache."""
        return (
            f"name=roads,source={roads};name=base,source={self.url}/base/{{z}}/{{x}}/{{y}}.pbf,domain=maps,zooms=0-14;"
            f"name=sharp,source={self.url}/sharp/{{z}}/{{x}}/{{y}}{{ratio}}.png,domain=maps,zooms=9-9,pixel_ratio=2;"
            f"name=photo,source={self.url}/photo/{{z}}/{{x}}/{{y}}.png,domain=maps,zooms=0-14,cacheable=false,reason=licence"
        )


def area(types: Any, east: float, north: float, size: float) -> Any:
    """Returns a square as a MultiPolygon."""
    corners = [
        place(east, north),
        place(east + size, north),
        place(east + size, north + size),
        place(east, north + size),
    ]
    return types.MultiPolygon(polygons=[polygon(types, corners)])


def all_expired(state: Any) -> bool:
    """Whether all tiles of the map have expired."""
    return any(
        one.tileset == "base" and one.tile_count and one.tile_count == one.expired_count for one in state.tilesets
    )


def tile_calls(bus: Bus, source: TileSource) -> None:
    """Calls every method of the tile cache."""
    types, call, prove = bus.types, bus.client(CACHE), bus.contract.prove
    code = lambda answer: types.enum("ErrorCode", answer.error.code)  # noqa: E731

    def region(name: str, size: float = 800, low: int = 8, high: int = 14, tileset: str = "base", **fields: Any) -> Any:
        wanted = types.TilesetDescriptor(
            tileset=tileset, domain=2 if tileset != "roads" else 1, zoom_min=low, zoom_max=high, pixel_ratio=1
        )
        fields.setdefault("metadata", [types.KeyValue(key="owner", value="nobody")])
        return types.RegionDefinition(
            region_id=name, name="Hafen", geometry=area(types, 0, 0, size), descriptors=[wanted], **fields
        )

    def key(tileset: str = "base", zoom: int = 12, x: int = 100, y: int = 1000, domain: int = 2) -> Any:
        return types.TileKey(domain=domain, tileset=tileset, zoom=zoom, x=x, y=y)

    # Tiles.
    none = call("TileCache.GetTile", key=key(), cache_only=True)
    one = call("TileCache.GetTile", key=key())
    bus.until(lambda: call("TileCache.GetTile", key=key()).from_cache, "a tile that is kept")
    if none.HasField("data") or not one.data or one.from_cache:
        raise Failed(f"cache_only changes nothing, or a tile is not cached: {none} {one}")
    prove("GetTileRequest.key GetTileRequest.cache_only", "changes the answer")
    path = call("TileCache.GetTile", key=key(), accept_path=True)
    if not path.path or path.data:
        raise Failed("accept_path changes nothing")
    prove("GetTileRequest.accept_path", "changes the answer")
    bus.until(
        lambda: call("TileCache.GetTile", key=key(), cache_only=True, accept_expired=False).HasField("error"),
        "an expired tile",
    )
    if call("TileCache.GetTile", key=key(), cache_only=True).HasField("error"):
        raise Failed("accept_expired changes nothing")
    prove("GetTileRequest.accept_expired", "changes the answer")
    wrongs = {"tileset": "nil", "domain": 1, "zoom": 31, "x": 5000, "y": 5000}
    others = {"tileset": dict(tileset="photo"), "zoom": dict(zoom=11), "x": dict(x=101), "y": dict(y=1001)}
    for field, wrong in wrongs.items():
        expected = NOT_FOUND if field == "tileset" else INVALID
        call.refusal("TileCache.GetTile", expected, f"key.{field}", key=key(**{field: wrong}))
        prove(f"TileKey.{field}", "is refused by name")
    for field, other in others.items():
        if call("TileCache.GetTile", key=key(**other)).data in (one.data, b""):
            raise Failed(f"a key with another {field} gives the same tile or none")
        prove(f"TileKey.{field}", "changes the answer")
    # A tileset has one domain.
    north = place(100, 100)
    column = int((north[1] + 180) / 360 * 4096)
    row = int((1 - math.asinh(math.tan(math.radians(north[0]))) / math.pi) / 2 * 4096)
    if not call("TileCache.GetTile", key=key(tileset="roads", domain=1, x=column, y=row)).data:
        raise Failed("there is no road tile of the town")
    call.refusal("TileCache.GetTile", INVALID, "key.domain", key=key(tileset="roads", domain=2, x=column, y=row))
    prove("TileKey.domain", "changes the answer")

    # Regions.
    small, large = (call("TileCache.EstimateRegion", definition=region("a", size)) for size in (300, 20_000))
    if small.tile_count >= large.tile_count:
        raise Failed("the area of an estimate changes nothing")
    prove("EstimateRegionRequest.definition RegionDefinition.geometry MultiPolygon.polygons", "changes the answer")
    for field, other in (
        ("zoom_min", region("a", low=12)),
        ("zoom_max", region("a", high=12)),
        ("tileset", region("a", tileset="roads")),
    ):
        if (
            call("TileCache.EstimateRegion", definition=other).tile_count
            == call("TileCache.EstimateRegion", definition=region("a")).tile_count
        ):
            raise Failed(f"{field} of a descriptor changes nothing")
        prove(f"TilesetDescriptor.{field}", "changes the answer")
    prove("RegionDefinition.descriptors", "changes the answer")
    # A tileset has one domain and one pixel ratio.
    for tileset, domain, ratio in (("base", 2, 1.0), ("sharp", 2, 2.0), ("roads", 1, 1.0)):
        for wanted, one_domain, one_ratio in ((None, domain, ratio), ("domain", 3 - domain, ratio), ("pixel_ratio", domain, 3 - ratio)):
            definition = region("a", tileset=tileset)
            definition.descriptors[0].domain, definition.descriptors[0].pixel_ratio = one_domain, one_ratio
            if wanted:
                call.refusal("TileCache.EstimateRegion", INVALID, f"descriptors[0].{wanted}", definition=definition)
            elif call("TileCache.EstimateRegion", definition=definition).HasField("error"):
                raise Failed(f"a region of {tileset} with domain {domain} and pixel ratio {ratio} is rejected")
    both = "TilesetDescriptor.domain TilesetDescriptor.pixel_ratio"
    prove(both, "is refused by name")
    prove(both, "changes the answer")
    since = time.monotonic()
    loaded = call(
        "TileCache.LoadRegion", definition=region("a", metadata=[types.KeyValue(key="owner", value="walk")])
    ).region
    if (
        loaded.definition.region_id != "a"
        or loaded.definition.name != "Hafen"
        or loaded.definition.metadata[0].value != "walk"
    ):
        raise Failed(f"the region differs from its request: {loaded}")
    prove(
        "LoadRegionRequest.definition RegionDefinition.region_id RegionDefinition.name RegionDefinition.metadata "
        "RegionDefinition.metadata.key RegionDefinition.metadata.value",
        "changes the answer",
    )
    bus.expect("/tiles/region_event", lambda event: event.success, since, "a region that is loaded")
    bus.until(lambda: all_expired(call("TileCache.Statistics").state), "tiles that have expired")
    # Expired tiles are fetched again, unless the region accepts them.
    before = source.count
    call("TileCache.LoadRegion", definition=region("a", accept_expired=True))
    kept = source.count - before
    call("TileCache.LoadRegion", definition=region("b", accept_expired=False))
    if kept >= source.count - before - kept:
        raise Failed(
            f"accept_expired of a region changes nothing: {kept} tiles are fetched with, {source.count - before - kept} without"
        )
    prove("RegionDefinition.accept_expired", "changes the answer")
    page = call("TileCache.ListRegions", page_size=1)
    rest = call("TileCache.ListRegions", start_after=page.next_start_after)
    if len(page.regions) != 1 or [one.definition.region_id for one in rest.regions] != ["b"]:
        raise Failed("page_size and start_after of ListRegions change nothing")
    prove("ListRegionsRequest.page_size ListRegionsRequest.start_after", "changes the answer")
    if [call("TileCache.GetRegion", region_id=one).region.definition.region_id for one in "ab"] != ["a", "b"]:
        raise Failed("GetRegion returns another region")
    prove("GetRegionRequest.region_id", "changes the answer")
    for method in ("GetRegion", "RemoveRegion", "UpdateRegion", "CancelLoad"):
        answer = call(f"TileCache.{method}", region_id="nil")
        if code(answer) != NOT_FOUND or "region_id" not in answer.error.message:
            raise Failed(f"{method} of an unknown region: {answer}")
        prove(f"{method}Request.region_id", "is refused by name")
    updated = call(
        "TileCache.UpdateRegion", region_id="a", name="Berg", metadata=[types.KeyValue(key="owner", value="other")]
    )
    if updated.region.definition.name != "Berg" or updated.region.definition.metadata[0].value != "other":
        raise Failed("UpdateRegion changes nothing")
    if call("TileCache.GetRegion", region_id="b").region.definition.name == "Berg":
        raise Failed("UpdateRegion changes another region, too")
    prove("UpdateRegionRequest.region_id UpdateRegionRequest.metadata.key UpdateRegionRequest.metadata.value", "changes the answer")
    before = source.count
    call("TileCache.UpdateRegion", region_id="a", revalidate=True)
    bus.until(lambda: source.count > before, "revalidated tiles")
    prove("UpdateRegionRequest.name UpdateRegionRequest.metadata UpdateRegionRequest.revalidate", "changes the answer")
    # A load that fails, and one that is cancelled.
    source.failing = True
    since = time.monotonic()
    failed = call.parts("TileCache.LoadRegion", definition=region("c", size=3000, high=12))[-1]
    if not failed.region.HasField("error") and not failed.HasField("error"):
        raise Failed(f"a region without its source: {failed}")
    bus.expect("/tiles/region_event", lambda event: event.HasField("error"), since, "a load that fails")
    for method, fields in (("GetRegion", {}), ("UpdateRegion", {"name": "Tal"})):
        if not call(f"TileCache.{method}", region_id="c", **fields).region.HasField("error"):
            raise Failed(f"{method} does not give the reason why the region is incomplete")
    source.failing = False
    source.hold(after=4)
    loading = threading.Thread(
        target=lambda: call("TileCache.LoadRegion", definition=region("d", size=12_000)), daemon=True
    )
    loading.start()
    bus.expect("/tiles/region_event", lambda event: event.region_id == "d", since, "a load under way")
    bus.expect("/tiles/state", lambda state: state.downloading_count > 0, since, "tiles under way")
    cancelled = call("TileCache.CancelLoad", region_id="d")
    if types.enum("RegionState", cancelled.region.state) != "CANCELLED":
        raise Failed(f"CancelLoad: {cancelled}")
    prove("CancelLoadRequest.region_id", "changes the answer")
    source.release()
    loading.join(20)
    before = {one.definition.region_id for one in call("TileCache.ListRegions").regions}
    call("TileCache.RemoveRegion", region_id="b")
    if {one.definition.region_id for one in call("TileCache.ListRegions").regions} != before - {"b"}:
        raise Failed("RemoveRegion does not remove exactly the named region")
    prove("RemoveRegionRequest.region_id", "changes the answer")
    # Coverage and totals.
    wanted = types.TilesetDescriptor(tileset="base", domain=2, zoom_min=10, zoom_max=13)
    near = call("TileCache.Coverage", geometry=area(types, 0, 0, 800), descriptors=[wanted])
    far = call("TileCache.Coverage", geometry=area(types, 0, 0, 60_000), descriptors=[wanted])
    less = call(
        "TileCache.Coverage",
        geometry=area(types, 0, 0, 60_000),
        descriptors=[types.TilesetDescriptor(tileset="base", domain=2, zoom_min=10, zoom_max=10)],
    )
    if not near.wanted_count < far.wanted_count or less.wanted_count >= far.wanted_count:
        raise Failed("geometry or descriptors of Coverage change nothing")
    prove("TileCoverageRequest.geometry TileCoverageRequest.descriptors", "changes the answer")
    if code(call("TileCache.Coverage", geometry=area(types, 0, 0, 800))) != INVALID:
        raise Failed("Coverage without descriptors is not rejected")
    answer = call("TileCache.Purge", tileset="nil")
    if code(answer) != NOT_FOUND or "tileset:" not in answer.error.message:
        raise Failed("Purge of an unknown tileset is not rejected")
    kept = {"base": key(zoom=5, x=16, y=10), "sharp": key(tileset="sharp", zoom=9, x=16, y=10)}
    is_kept = lambda name: call("TileCache.GetTile", key=kept[name], cache_only=True).from_cache  # noqa: E731
    for name, one_key in kept.items():
        call("TileCache.GetTile", key=one_key)
        bus.until(lambda: is_kept(name), "a tile that is kept")  # noqa: B023
    call("TileCache.Purge", tileset="sharp")
    if [is_kept(name) for name in kept] != [True, False]:
        raise Failed("Purge does not remove exactly the tiles of the named tileset")
    prove("PurgeRequest.tileset", "changes the answer")
    prove("PurgeRequest.tileset", "is refused by name")
    call("TileCache.GetTile", key=key(tileset="base", zoom=4, x=8, y=5))
    fresh = call("TileCache.Purge", expired_only=True)
    all_of_it = call("TileCache.Purge")
    if fresh.removed_count >= fresh.removed_count + all_of_it.removed_count:
        raise Failed("expired_only changes nothing")
    prove("PurgeRequest.expired_only", "changes the answer")


def offline(bus: Bus) -> None:
    """Checks the state of a cache that may not use the network but has a local folder as a source."""
    since = time.monotonic()
    values(bus, CACHE, string_value=("network.mode", "offline"))
    bus.expect("/tiles/state", lambda state: state.source_state == 2, since, "the state without the network")
    values(bus, CACHE, string_value=("network.mode", "unmetered"))


def away(bus: Bus, program: pathlib.Path) -> None:
    """Checks the state of a cache that may not use the network and has only web servers as sources."""
    tilesets = "name=base,source=http://127.0.0.1:9/{z}/{x}/{y}.pbf,domain=maps,zooms=0-14"
    bus.start(program, store__path=bus.folder / "store", tilesets=tilesets, network__mode="offline")
    bus.expect("/tiles/state", lambda state: state.source_state == 3, 0, "the state without any usable source")
