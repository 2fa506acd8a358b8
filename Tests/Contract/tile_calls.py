"""Calls of the tile cache: tiles, offline regions, totals."""

import gzip
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
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


class TileSource:
    """A web server of map tiles that fails for some of them."""

    def __init__(self) -> None:
        self.failing = False
        self.delay = 0.0
        self.count = 0
        self._web = Web(self._answer)
        self.url, self.end = self._web.url, self._web.end

    def _answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.count += 1
        time.sleep(self.delay)
        if self.failing:
            return 500, {}, b""
        if path.endswith(".png"):
            return 200, {"Content-Type": "image/png", "Cache-Control": "max-age=86400"}, png()
        tile = gzip.compress(b"\x1a\x05\x78\x02\x0a\x01a", mtime=0)
        kind = {"Content-Type": "application/vnd.mapbox-vector-tile", "Content-Encoding": "gzip"}
        return 200, {**kind, "Cache-Control": "max-age=3"}, tile

    def tilesets(self, roads: str) -> str:
        """The configuration of the cache."""
        return (
            f"name=roads,source={roads};name=base,source={self.url}/base/{{z}}/{{x}}/{{y}}.pbf,domain=maps,zooms=0-14;"
            f"name=photo,source={self.url}/photo/{{z}}/{{x}}/{{y}}.png,domain=maps,zooms=0-14,cacheable=false,reason=licence"
        )


def area(types: Any, east: float, north: float, size: float) -> Any:
    """A square as a set of areas."""
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
    """Every method of the tile cache."""
    types, call, prove = bus.types, bus.client(CACHE), bus.contract.prove
    code = lambda answer: types.enum("ErrorCode", answer.error.code)  # noqa: E731

    def region(name: str, size: float = 800, low: int = 8, high: int = 14, tileset: str = "base", **fields: Any) -> Any:
        wanted = types.TilesetDescriptor(
            tileset=tileset, domain=2 if tileset != "roads" else 1, zoom_min=low, zoom_max=high
        )
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
        raise Failed(f"cache_only changes nothing, or a tile is not kept: {none} {one}")
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
    checks = {
        "tileset": (key(tileset="nil"), "NOT_FOUND"), "domain": (key(domain=1), INVALID), "zoom": (key(zoom=31), INVALID),
        "x": (key(x=5000), INVALID), "y": (key(y=5000), INVALID),
    }  # fmt: skip
    for field, (wrong, expected) in checks.items():
        answer = call("TileCache.GetTile", key=wrong)
        if code(answer) != expected or f"key.{field}" not in answer.error.message:
            raise Failed(f"a tile with a wrong {field} is not refused")
        prove(f"TileKey.{field}", "is refused by name")

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
    wrong = region("a")
    wrong.descriptors[0].domain = 1
    answer = call("TileCache.EstimateRegion", definition=wrong)
    if code(answer) != INVALID or "descriptors[0].domain" not in answer.error.message:
        raise Failed("a descriptor's wrong domain is not refused")
    prove("TilesetDescriptor.domain", "is refused by name")
    double = region("a")
    double.descriptors[0].pixel_ratio = 3
    answer = call("TileCache.EstimateRegion", definition=double)
    if code(answer) != INVALID or "descriptors[0].pixel_ratio" not in answer.error.message:
        raise Failed(f"a pixel ratio that the tileset does not have is not refused: {answer}")
    prove("TilesetDescriptor.pixel_ratio", "is refused by name")
    since = time.monotonic()
    loaded = call(
        "TileCache.LoadRegion", definition=region("a", metadata=[types.KeyValue(key="owner", value="walk")])
    ).region
    if (
        loaded.definition.region_id != "a"
        or loaded.definition.name != "Hafen"
        or loaded.definition.metadata[0].value != "walk"
    ):
        raise Failed(f"the region is not what was asked for: {loaded}")
    prove(
        "LoadRegionRequest.definition RegionDefinition.region_id RegionDefinition.name RegionDefinition.metadata",
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
    if call("TileCache.GetRegion", region_id="a").region.definition.region_id != "a":
        raise Failed("GetRegion gives another region")
    for method in ("GetRegion", "RemoveRegion", "UpdateRegion", "CancelLoad"):
        answer = call(f"TileCache.{method}", region_id="nil")
        if code(answer) != NOT_FOUND or "region_id" not in answer.error.message:
            raise Failed(f"{method} of a region that is not there: {answer}")
        prove(f"{method}Request.region_id", "is refused by name")
    updated = call(
        "TileCache.UpdateRegion", region_id="a", name="Berg", metadata=[types.KeyValue(key="owner", value="other")]
    )
    if updated.region.definition.name != "Berg" or updated.region.definition.metadata[0].value != "other":
        raise Failed("UpdateRegion changes nothing")
    before = source.count
    call("TileCache.UpdateRegion", region_id="a", revalidate=True)
    bus.until(lambda: source.count > before, "tiles that are asked for again")
    prove("UpdateRegionRequest.name UpdateRegionRequest.metadata UpdateRegionRequest.revalidate", "changes the answer")
    # A load that fails, and one that is cancelled.
    source.failing = True
    since = time.monotonic()
    failed = call.parts("TileCache.LoadRegion", definition=region("c", size=3000, high=12))[-1]
    if not failed.region.HasField("error") and not failed.HasField("error"):
        raise Failed(f"a region without its source: {failed}")
    bus.expect("/tiles/region_event", lambda event: event.HasField("error"), since, "a load that fails")
    source.failing = False
    source.delay = 0.2
    loading = threading.Thread(
        target=lambda: call("TileCache.LoadRegion", definition=region("d", size=12_000)), daemon=True
    )
    loading.start()
    bus.expect("/tiles/region_event", lambda event: event.region_id == "d", since, "a load under way")
    bus.expect("/tiles/state", lambda state: state.downloading_count > 0, since, "tiles under way")
    cancelled = call("TileCache.CancelLoad", region_id="d")
    if types.enum("RegionState", cancelled.region.state) != "CANCELLED":
        raise Failed(f"CancelLoad: {cancelled}")
    source.delay = 0.0
    loading.join(20)
    if call("TileCache.RemoveRegion", region_id="b").HasField("error"):
        raise Failed("RemoveRegion fails")
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
        raise Failed("Coverage without descriptors is not refused")
    answer = call("TileCache.Purge", tileset="nil")
    if code(answer) != NOT_FOUND or "tileset:" not in answer.error.message:
        raise Failed("Purge of a tileset that is not there is not refused")
    call("TileCache.GetTile", key=key(zoom=5, x=16, y=10))
    expired = call("TileCache.Purge", tileset="base", expired_only=True)
    whole = call("TileCache.Purge", tileset="base")
    if expired.removed_count + whole.removed_count == 0:
        raise Failed("Purge removes nothing")
    prove("PurgeRequest.tileset", "is refused by name")
    call("TileCache.GetTile", key=key(tileset="base", zoom=4, x=8, y=5))
    fresh = call("TileCache.Purge", expired_only=True)
    all_of_it = call("TileCache.Purge")
    if fresh.removed_count >= fresh.removed_count + all_of_it.removed_count:
        raise Failed("expired_only changes nothing")
    prove("PurgeRequest.expired_only", "changes the answer")


def offline(bus: Bus) -> None:
    """The state of a cache that may not use the network: one of its tilesets is a folder of this machine."""
    since = time.monotonic()
    values(bus, CACHE, string_value=("network.mode", "offline"))
    bus.expect("/tiles/state", lambda state: state.source_state == 2, since, "a source that may not be asked")
    values(bus, CACHE, string_value=("network.mode", "unmetered"))


def away(bus: Bus, program: pathlib.Path) -> None:
    """The state of a cache that may not use the network and has web servers alone as sources."""
    tilesets = "name=base,source=http://127.0.0.1:9/{z}/{x}/{y}.pbf,domain=maps,zooms=0-14"
    bus.start(program, store__path=bus.folder / "store", tilesets=tilesets, network__mode="offline")
    bus.expect("/tiles/state", lambda state: state.source_state == 3, 0, "no source that may be asked")
