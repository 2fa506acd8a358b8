// The map: roads, fixes and ellipses on a canvas, with routes, traces and marks as SVG above it.

// By class, from motorway to ferry: width in metres, least width in pixels, and the least scale (pixels per metre) at which it is shown.
const ROADS = [
  { m: 16, px: 2.6, from: 0 }, { m: 14, px: 2.2, from: 0 }, { m: 12, px: 1.8, from: 0.004 }, { m: 10, px: 1.5, from: 0.008 },
  { m: 9, px: 1.2, from: 0.02 }, { m: 7, px: 0.9, from: 0.05 }, { m: 7, px: 0.9, from: 0.06 }, { m: 6, px: 0.8, from: 0.08 },
  { m: 4, px: 0.6, from: 0.14 }, { m: 3, px: 0.6, from: 0.14 }, { m: 3, px: 1, from: 0.01 },
];
const CLASS_COLOUR = ["motorway", "motorway", "primary", "secondary", "street", "street", "street", "street", "service", "service", "ferry"];

function* readRoads(map) {
  if (!map) return { roads: [], names: [], labels: [] };
  const classes = unpack(map.classes), flags = unpack(map.flags), names = unpack(map.name), counts = unpack(map.counts);
  yield;
  const lat = unpack(map.lat);
  yield;
  const lon = unpack(map.lon), roads = [];
  let at = 0;
  for (const [i, kind] of classes.entries()) {
    yield;
    const n = counts[i], points = new Float32Array(n * 2), box = [Infinity, Infinity, -Infinity, -Infinity];
    for (let k = 0; k < n; k++, at++) {
      const x = eastward(lon[at] * 1e-6), y = southward(lat[at] * 1e-6);
      points[2 * k] = x; points[2 * k + 1] = y;
      box[0] = Math.min(box[0], x); box[1] = Math.min(box[1], y); box[2] = Math.max(box[2], x); box[3] = Math.max(box[3], y);
    }
    roads.push({ kind, flags: flags[i], name: names[i], points, box });
  }
  return { roads, names: map.names, labels: yield* joinNamed(roads) };
}

/** Joins the roads of each name into lines for labels: a street consists of many ways, each too short for its name. */
function* joinNamed(roads) {
  const byName = new Map();
  for (const road of roads) {
    if (road.name < 0) continue;
    if (!byName.has(road.name)) byName.set(road.name, []);
    byName.get(road.name).push(road);
  }
  const labels = [], key = (x, y) => Math.round(x * 2) + " " + Math.round(y * 2);
  for (const [name, parts] of byName) {
    yield;
    const free = new Set(parts), ends = new Map();
    const p = (part, last) => { const q = part.points, i = last ? q.length - 2 : 0; return key(q[i], q[i + 1]); };
    for (const part of parts) for (const end of [p(part, false), p(part, true)]) ends.set(end, [...(ends.get(end) || []), part]);
    for (const part of parts) {
      if (!free.delete(part)) continue;
      let line = [...part.points], kind = part.kind;
      for (const atEnd of [true, false]) {
        for (;;) {
          const end = atEnd ? key(line[line.length - 2], line[line.length - 1]) : key(line[0], line[1]);
          const next = (ends.get(end) || []).find((other) => free.has(other));
          if (!next) break;
          free.delete(next);
          const points = [];
          for (let i = 0; i < next.points.length; i += 2) points.push([next.points[i], next.points[i + 1]]);
          if ((p(next, false) === end) !== atEnd) points.reverse();
          if (atEnd) line.push(...points.slice(1).flat()); else line = [...points.slice(0, -1).flat(), ...line];
          kind = Math.min(kind, next.kind);
        }
      }
      const box = [Infinity, Infinity, -Infinity, -Infinity];
      for (let i = 0; i < line.length; i += 2) {
        box[0] = Math.min(box[0], line[i]); box[2] = Math.max(box[2], line[i]);
        box[1] = Math.min(box[1], line[i + 1]); box[3] = Math.max(box[3], line[i + 1]);
      }
      labels.push({ name, kind, points: line, box });
    }
  }
  return labels.sort((a, b) => a.kind - b.kind || b.points.length - a.points.length);
}

class MapView {
  constructor(page, onSeek) {
    this.page = page;
    this.onSeek = onSeek;
    this.element = $("map");
    this.canvas = $("ground");
    this.overlay = $("overlay");
    this.shows = { roads: true, names: true, routes: true, fixes: true, sigma: true, marks: true };
    this.view = { x: 0, y: 0, scale: 1 };
    this.width = this.height = 1;
    this.marks = [];
    this.follow = false;
    this.t = 0;
    Object.assign(this, { roads: [], names: [], labels: [] });
    this.isFitted = true;
    this.pending = 0;
  }

  /** Draws the drive without roads. */
  *open() {
    yield* this.buildPaths();
    // Without a pause, because elements have no position before the first drawing.
    this.restyle();
    this.resize();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Builds routes and traces as paths in metres; stroke widths do not scale. */
  *buildPaths() {
    const elements = [], routePaths = [];
    const path = function* (table, from, to) {
      let d = "", open = false, last = null;
      for (let i = from; i <= to; i++) {
        if (i % 256 === 0) yield;
        if (table.x[i] === null) { open = false; continue; }
        const jump = last !== null && (table.t && table.t[i] - table.t[last] > 60000 || table.flags && table.flags[i] & TELEPORT);
        d += (open && !jump ? "L" : "M") + table.x[i].toFixed(1) + " " + table.y[i].toFixed(1);
        open = true; last = i;
      }
      return d;
    };
    for (const run of this.page.runs) {
      for (const route of run.routes) {
        if (!route.d) route.d = yield* path(route, 0, route.x.length - 1);
        const element = make("path", { class: "route run" + run.letter, d: route.d, "data-route": route.id });
        elements.push(element);
        routePaths.push({ element, run, route });
      }
    }
    for (const run of this.page.runs) {
      const table = track(run), n = table.t.length;
      if (run.apart) {
        let d = "";
        for (let i = 0; i < n; i++) if (run.apart[i] !== null && run.apart[i] > APART && i + 1 < n) d += yield* path(table, i, i + 1);
        if (d) elements.push(make("path", { class: "apart", d }));
      }
      // One path for each kind of position.
      const kind = (i) => (!table.flags ? "plainfix" : table.flags[i] & PREDICTED ? "predicted" : table.flags[i] & ON_ROAD ? "measured" : "offroad");
      const parts = {};
      for (let i = 0; i < n;) {
        let j = i;
        while (j + 1 < n && kind(j + 1) === kind(i)) j++;
        parts[kind(i)] = (parts[kind(i)] || "") + (yield* path(table, i, Math.min(j + 1, n - 1)));
        i = j + 1;
      }
      const title = { plainfix: "Fixes", measured: "Matched positions", predicted: "Predicted positions", offroad: "Positions off the road" };
      for (const [name, d] of Object.entries(parts)) {
        if (run.index === 0) elements.push(make("path", { class: "edge", d }));
        elements.push(make("path", { class: "trace run" + run.letter + " " + name, d }, make("title", {}, title[name])));
      }
      // Without positions, each further receiver has its own line.
      for (const other of table === run.traces[0] ? run.traces.slice(1) : []) {
        elements.push(make("path", { class: "trace run" + run.letter + " plainfix otherreceiver", d: yield* path(other, 0, other.t.length - 1) }, make("title", {}, "Fixes of " + (other.name || "another receiver"))));
      }
      const p = run.progress;
      let off = "";
      for (let i = 0; i < p.t.length;) {
        if (!(p.deviation[i] >= 4)) { i++; continue; }
        let j = i;
        while (j + 1 < p.t.length && p.deviation[j + 1] >= 4) j++;
        const from = Math.max(before(table.t, p.t[i]), 0), to = before(table.t, p.t[Math.min(j + 1, p.t.length - 1)]);
        if (to > from) off += yield* path(table, from, to);
        i = j + 1;
      }
      if (off) elements.push(make("path", { class: "trace offroute", d: off }, make("title", {}, "Off route")));
    }
    yield;
    this.routePaths = routePaths;
    $("world").replaceChildren(...elements);
    this.buildMarks();
  }

  buildMarks() {
    const marks = $("marks");
    marks.replaceChildren();
    this.marks = [];
    for (const run of this.page.runs) {
      const place = (t) => vehicleAt(run, t);
      const table = track(run);
      if (table.t.length && !this.page.live) this.mark(run, { x: table.x[0], y: table.y[0] }, "start", "Start", table.t[0], 3);
      const last = run.routes[run.routes.length - 1], goal = last && last.stops[last.stops.length - 1];
      if (goal) this.mark(run, { x: eastward(goal.lon), y: southward(goal.lat) }, "goal", goal.name || "Destination", null, 3);
      for (const event of run.events) {
        const w = weight(event);
        if (!w || event.kind === "route" || event.kind === "state" || /FETCH|WILL_/.test(event.text)) continue;
        const at = place(event.t);
        if (at) this.mark(run, at, "event " + toneOf(event), clockText(event.t) + " " + sentence(plain(event.text)), event.t, 1 + w / 2);
      }
      run.instructions.forEach((item, i) => {
        const at = place(item.t);
        if (at) this.mark(run, at, "say", i + 1 + ". " + item.text, item.t, 1, String(i + 1));
      });
    }
    this.marks.sort((a, b) => b.rank - a.rank);
    // Marks of a higher rank are drawn on top.
    for (const mark of [...this.marks].reverse()) marks.append(mark.element);
  }

  mark(run, at, kind, text, t, rank, label) {
    const element = make("g", { class: "mark " + kind + " run" + run.letter, "data-t": t }, make("title", {}, text));
    if (kind === "goal") {
      element.append(make("path", { d: "M0 0C-3-7-9-9-9-16a9 9 0 0 1 18 0C9-9 3-7 0 0Z" }), make("circle", { cy: -16, r: 3.4, class: "hole" }));
    } else if (kind === "say") {
      element.append(make("circle", { r: label.length > 2 ? 12 : 9 }), make("text", { y: 3.6 }, label));
    } else {
      element.append(make("circle", { r: kind === "start" ? 7 : 6.5 }));
    }
    if (t !== null) element.addEventListener("click", () => this.onSeek(t));
    this.marks.push({ ...at, x: at.x, y: at.y, element, rank, size: kind === "say" ? 10 : 8 });
  }

  listen() {
    const pointers = new Map();
    let moved = 0, pinch = 0;
    this.element.addEventListener("pointerdown", (event) => {
      if (event.target.closest("button,details,.mark")) return;
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      this.element.setPointerCapture(event.pointerId);
      moved = 0; pinch = 0;
    });
    this.element.addEventListener("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const dx = event.clientX - last[0], dy = event.clientY - last[1];
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      moved += Math.abs(dx) + Math.abs(dy);
      this.view.x -= dx / this.view.scale / pointers.size;
      this.view.y -= dy / this.view.scale / pointers.size;
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()], size = Math.hypot(a[0] - b[0], a[1] - b[1]);
        const box = this.element.getBoundingClientRect();
        if (pinch) this.zoom(size / pinch, (a[0] + b[0]) / 2 - box.left, (a[1] + b[1]) / 2 - box.top);
        pinch = size;
      }
      if (moved > 4) this.setFollow(false);
      this.changed();
    });
    const end = (event) => {
      if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved < 5) this.click(event);
      pinch = 0;
    };
    this.element.addEventListener("pointerup", end);
    this.element.addEventListener("pointercancel", end);
    this.element.addEventListener("wheel", (event) => {
      if (event.target.closest("details")) return;
      event.preventDefault();
      const box = this.element.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.element.addEventListener("dblclick", (event) => {
      if (event.target.closest("button,details")) return;
      const box = this.element.getBoundingClientRect();
      this.zoom(2, event.clientX - box.left, event.clientY - box.top);
    });
    for (const button of $("mapbuttons").children) {
      button.addEventListener("click", () => this.command(button.dataset.do));
    }
  }

  command(what) {
    if (what === "in") this.zoom(1.6);
    if (what === "out") this.zoom(1 / 1.6);
    if (what === "fit") { this.setFollow(false); this.fit(); }
    if (what === "follow") this.setFollow(!this.follow);
  }

  setFollow(on) {
    this.follow = on;
    $("mapbuttons").querySelector("[data-do=follow]").setAttribute("aria-pressed", on);
    if (on && this.view.scale < 0.5) this.view.scale = 0.8;
    if (on) this.keepInView(true);
    this.changed();
  }

  /** Seeks to the time at which the vehicle was nearest to a click. */
  click(event) {
    const box = this.element.getBoundingClientRect();
    const x = this.view.x + (event.clientX - box.left - this.width / 2) / this.view.scale;
    const y = this.view.y + (event.clientY - box.top - this.height / 2) / this.view.scale;
    let best = { d: 24 / this.view.scale, t: null };
    for (const run of this.page.runs) {
      const table = track(run);
      table.t.forEach((t, i) => {
        const d = table.x[i] === null ? Infinity : Math.hypot(table.x[i] - x, table.y[i] - y);
        if (d < best.d) best = { d, t };
      });
    }
    if (best.t !== null) this.onSeek(best.t);
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const scale = Math.max(0.0005, Math.min(40, this.view.scale * factor));
    if (!this.follow) {
      this.view.x += (px - this.width / 2) * (1 / this.view.scale - 1 / scale);
      this.view.y += (py - this.height / 2) * (1 / this.view.scale - 1 / scale);
    }
    this.view.scale = scale;
    this.changed();
  }

  pan(right, down) {
    this.setFollow(false);
    this.view.x += right * this.width / 8 / this.view.scale; this.view.y += down * this.height / 8 / this.view.scale;
    this.changed();
  }

  resize() {
    const box = this.element.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, 3), width = Math.max(box.width, 1), height = Math.max(box.height, 1);
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    // A resized canvas is empty, so it is redrawn immediately.
    if (this.isFitted) this.fit();
    this.draw();
  }

  fit() {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const run of this.page.runs) {
      for (const table of [track(run), ...run.routes]) {
        for (let i = 0; i < table.x.length; i++) {
          if (table.x[i] === null) continue;
          box[0] = Math.min(box[0], table.x[i]); box[2] = Math.max(box[2], table.x[i]);
          box[1] = Math.min(box[1], table.y[i]); box[3] = Math.max(box[3], table.y[i]);
        }
      }
    }
    if (box[0] > box[2]) return;
    const padX = Math.min(70, this.width * 0.1), padY = Math.min(80, this.height * 0.12);
    // On a small map the readout would cover the drive.
    const top = this.width < 500 ? Math.max(padY, Math.min($("readout").offsetHeight + 30, this.height / 2)) : padY;
    this.view.scale = Math.min((this.width - 2 * padX) / Math.max(box[2] - box[0], 60), (this.height - top - padY) / Math.max(box[3] - box[1], 60));
    this.view.x = (box[0] + box[2]) / 2;
    this.view.y = (box[1] + box[3]) / 2 - (top - padY) / 2 / this.view.scale;
    this.changed();
    this.isFitted = true;
  }

  changed() {
    this.isFitted = false;
    this.pending = this.pending || requestAnimationFrame(() => this.draw());
  }

  screen(x, y) {
    return [(x - this.view.x) * this.view.scale + this.width / 2, (y - this.view.y) * this.view.scale + this.height / 2];
  }

  isInView(at, margin) {
    const [x, y] = this.screen(at.x, at.y);
    return x >= margin && y >= margin && x <= this.width - margin && y <= this.height - margin;
  }

  keepInView(always, margin = 10) {
    const at = this.vehicle;
    if (!at || (!always && this.isInView(at, margin))) return;
    this.view.x = at.x; this.view.y = at.y;
    this.changed();
  }

  /** Shows the vehicles and the route in force at a time. */
  seek(t, isPlaying) {
    this.t = t;
    const group = $("vehicles"), wasInView = !this.vehicle || this.isInView(this.vehicle, 0);
    group.replaceChildren();
    this.vehicle = null;
    for (const run of [...this.page.runs].reverse()) {
      const at = vehicleAt(run, t);
      if (!at || at.x === null) continue;
      this.vehicle = at;
      const element = make("g", { class: "vehicle run" + run.letter }, make("circle", { r: 18, class: "halo" }), make("circle", { r: 11 }));
      if (at.course !== null) element.append(make("path", { d: "M0-7 4.8 5.4 0 3-4.8 5.4Z", transform: "rotate(" + at.course * 180 / Math.PI + ")" }));
      group.append(element);
      at.element = element;
      const current = routeAt(run, t);
      for (const entry of this.routePaths) if (entry.run === run) entry.element.classList.toggle("current", entry.route === current);
    }
    this.vehicles = this.page.runs.map((run) => vehicleAt(run, t));
    this.placeVehicles();
    // A user who has moved the map away from a playing vehicle is looking at another place.
    if (this.follow || !isPlaying || wasInView) this.keepInView(this.follow, isPlaying ? 40 : 10);
    if (this.shows.sigma) this.changed0();
  }

  /** Schedules drawing and keeps the fitted state. */
  changed0() {
    const fitted = this.isFitted;
    this.changed();
    this.isFitted = fitted;
  }

  placeVehicles() {
    const elements = [...$("vehicles").children];
    [...this.page.runs].reverse().map((run) => vehicleAt(run, this.t)).filter((at) => at && at.x !== null).forEach((at, i) => {
      const [x, y] = this.screen(at.x, at.y);
      if (elements[i]) elements[i].setAttribute("transform", "translate(" + x.toFixed(1) + " " + y.toFixed(1) + ")");
    });
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const { x, y, scale } = this.view, ratio = this.canvas.width / this.width;
    $("world").setAttribute("transform", "translate(" + (this.width / 2 - x * scale) + " " + (this.height / 2 - y * scale) + ") scale(" + scale + ")");
    $("world").classList.toggle("noroutes", !this.shows.routes);
    // Marks that would cover a mark of a higher rank are hidden at this scale.
    const taken = [];
    for (const mark of this.marks) {
      const [px, py] = this.screen(mark.x, mark.y);
      const inside = px > -20 && py > -20 && px < this.width + 20 && py < this.height + 30;
      const isFree = mark.rank > 2 || !taken.some((other) => Math.hypot(other[0] - px, other[1] - py) < other[2] + mark.size);
      const isShown = inside && isFree && (this.shows.marks || mark.rank > 2);
      if (isShown) taken.push([px, py, mark.size]);
      mark.element.style.display = isShown ? "" : "none";
      if (isShown) mark.element.setAttribute("transform", "translate(" + px.toFixed(1) + " " + py.toFixed(1) + ")");
    }
    this.placeVehicles();
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colour = this.colours;
    context.fillStyle = colour.land;
    context.fillRect(0, 0, this.width, this.height);
    const reach = [x - this.width / 2 / scale, y - this.height / 2 / scale, x + this.width / 2 / scale, y + this.height / 2 / scale];
    const isVisible = (road) => scale >= ROADS[road.kind].from && road.box[0] <= reach[2] && road.box[2] >= reach[0] && road.box[1] <= reach[3] && road.box[3] >= reach[1];
    if (this.shows.roads) this.drawRoads(context, this.roads.filter(isVisible));
    if (this.shows.fixes) this.drawFixes(context, reach);
    if (this.shows.sigma) this.drawEllipses(context, reach);
    if (this.shows.roads && this.shows.names) this.drawNames(context, this.labels.filter(isVisible), taken);
    this.drawScale();
  }

  drawRoads(context, visible) {
    const { scale } = this.view, colour = this.colours;
    context.lineCap = context.lineJoin = "round";
    const trace = (road) => {
      const p = road.points;
      let [lx, ly] = this.screen(p[0], p[1]);
      context.moveTo(lx, ly);
      for (let i = 2; i < p.length; i += 2) {
        const [px, py] = this.screen(p[i], p[i + 1]);
        if (Math.abs(px - lx) + Math.abs(py - ly) < 0.8 && i + 2 < p.length) continue;
        context.lineTo(px, py);
        lx = px; ly = py;
      }
    };
    const width = (road) => {
      const style = ROADS[road.kind];
      return Math.min(Math.max(style.px, style.m * scale * (road.flags & 4 ? 0.7 : 1)), 26);
    };
    const groups = new Map();
    for (const road of visible) {
      const key = road.kind * 4 + (road.flags & 4 ? 1 : 0) + (road.flags & 1 ? 2 : 0);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(road);
    }
    const keys = [...groups.keys()].sort((a, b) => b - a);
    for (const pass of ["casing", "fill"]) {
      for (const key of keys) {
        const roads = groups.get(key), kind = CLASS_COLOUR[roads[0].kind], wide = width(roads[0]), isTunnel = key & 2;
        if (pass === "casing" && (wide < 2.6 || kind === "ferry")) continue;
        if (pass === "fill" && isTunnel && wide > 3) context.globalAlpha = 0.55;
        context.beginPath();
        roads.forEach(trace);
        context.lineWidth = pass === "casing" ? wide + 1.8 : wide;
        context.strokeStyle = pass === "casing" ? colour[kind + "Edge"] : wide < 2.6 && !["motorway", "primary", "secondary"].includes(kind) ? colour.thin : colour[kind];
        context.setLineDash(kind === "ferry" ? [6, 6] : pass === "casing" && isTunnel ? [4, 4] : []);
        if (pass === "casing" && isTunnel) context.lineCap = "butt";
        context.stroke();
        context.lineCap = "round";
        context.globalAlpha = 1;
      }
    }
    context.setLineDash([]);
  }

  /** Draws fixes, and crosses for rejected ones. Those of run B are drawn first and wider, so that common ones show both colours. */
  drawFixes(context, reach) {
    const { scale } = this.view;
    for (const run of [...this.page.runs].reverse()) {
      const f = run.fixes, isSecond = run.index > 0, size = Math.max(1.3, Math.min(3, 1.2 + scale)) + (isSecond ? 1.2 : 0);
      context.fillStyle = isSecond ? this.colours.runB : this.colours.fix;
      context.globalAlpha = 0.85;
      let lx = -99, ly = -99;
      context.beginPath();
      for (let i = 0; i < f.x.length; i++) {
        if (f.x[i] === null || f.x[i] < reach[0] || f.x[i] > reach[2] || f.y[i] < reach[1] || f.y[i] > reach[3]) continue;
        const [px, py] = this.screen(f.x[i], f.y[i]);
        if (Math.abs(px - lx) + Math.abs(py - ly) < 2.4) continue;
        lx = px; ly = py;
        context.moveTo(px + size, py);
        context.arc(px, py, size, 0, 7);
      }
      context.fill();
      context.globalAlpha = 1;
      const r = run.rejected;
      context.strokeStyle = isSecond ? this.colours.runB : this.colours.bad;
      context.lineWidth = isSecond ? 4 : 1.6;
      context.beginPath();
      for (let i = 0; i < r.x.length; i++) {
        if (r.x[i] === null) continue;
        const [px, py] = this.screen(r.x[i], r.y[i]);
        context.moveTo(px - 3.5, py - 3.5); context.lineTo(px + 3.5, py + 3.5);
        context.moveTo(px + 3.5, py - 3.5); context.lineTo(px - 3.5, py + 3.5);
      }
      context.stroke();
    }
  }

  /** Draws one-sigma ellipses where there is room, and that of the current time. */
  drawEllipses(context, reach) {
    const { scale } = this.view;
    this.page.runs.forEach((run, index) => {
      const p = run.positions;
      if (!p.along) return;
      const colour = index ? this.colours.runB : this.colours.runA;
      const ellipse = (i, alpha) => {
        const along = p.along[i], cross = p.cross[i];
        if (along === null || cross === null || p.x[i] === null) return;
        const [px, py] = this.screen(p.x[i], p.y[i]), course = (p.course[i] || 0) / 10 * Math.PI / 180;
        context.beginPath();
        context.ellipse(px, py, along / 100 * scale, cross / 100 * scale, course - Math.PI / 2, 0, 7);
        context.globalAlpha = alpha; context.fillStyle = colour; context.fill();
        context.globalAlpha = Math.min(1, alpha * 4); context.strokeStyle = colour; context.lineWidth = 1; context.stroke();
        context.globalAlpha = 1;
      };
      let last = [-999, -999];
      for (let i = 0; i < p.t.length; i++) {
        if (p.x[i] === null || p.x[i] < reach[0] || p.x[i] > reach[2] || p.y[i] < reach[1] || p.y[i] > reach[3]) continue;
        const size = Math.max(p.along[i] || 0, p.cross[i] || 0) / 100 * scale;
        if (size < 5) continue;
        const at = this.screen(p.x[i], p.y[i]);
        if (Math.hypot(at[0] - last[0], at[1] - last[1]) < Math.max(26, size * 1.2)) continue;
        last = at;
        ellipse(i, 0.1);
      }
      const now = this.vehicles && this.vehicles[index];
      if (now && now.table === p) ellipse(now.i, 0.22);
    });
  }

  /** Draws names along their roads where there is room. */
  drawNames(context, visible, taken) {
    const { scale } = this.view;
    if (scale < 0.02) return;
    context.font = "500 11px " + this.colours.font;
    context.textAlign = "center"; context.textBaseline = "middle"; context.lineJoin = "round";
    const boxes = taken.map((t) => [t[0] - t[2], t[1] - t[2], t[0] + t[2], t[1] + t[2]]), shown = new Map();
    const info = $("readout").getBoundingClientRect(), own = this.element.getBoundingClientRect();
    if (info.width) boxes.push([info.left - own.left, info.top - own.top, info.right - own.left, info.bottom - own.top]);
    let count = 0;
    const least = scale < 0.05 ? 3 : scale < 0.12 ? 4 : scale < 0.3 ? 7 : 9;
    for (const road of visible) {
      if (road.name < 0 || road.kind > least || count > 90) continue;
      const name = this.names[road.name], wide = context.measureText(name).width;
      // The longest part that is nearly straight.
      const p = road.points, points = [];
      for (let i = 0; i < p.length; i += 2) points.push(this.screen(p[i], p[i + 1]));
      const isIn = (q) => q[0] > 0 && q[1] > 0 && q[0] < this.width && q[1] < this.height;
      let best = null;
      for (let i = 0; i + 1 < points.length; i++) {
        let j = i + 1;
        const heading = Math.atan2(points[j][1] - points[i][1], points[j][0] - points[i][0]);
        while (j + 1 < points.length) {
          const next = Math.atan2(points[j + 1][1] - points[j][1], points[j + 1][0] - points[j][0]);
          if (Math.abs(Math.sin(next - heading)) > 0.16 || Math.cos(next - heading) < 0 || (!isIn(points[j]) && isIn(points[i]))) break;
          j++;
        }
        const length = (isIn(points[i]) || isIn(points[j]) ? 1 : 0.5) * Math.hypot(points[j][0] - points[i][0], points[j][1] - points[i][1]);
        if (!best || length > best.length) best = { length, a: points[i], b: points[j] };
        i = Math.max(i, j - 1);
      }
      if (!best || best.length < wide + 10) continue;
      const cx = (best.a[0] + best.b[0]) / 2, cy = (best.a[1] + best.b[1]) / 2;
      if (cx < 10 || cy < 10 || cx > this.width - 10 || cy > this.height - 10) continue;
      let angle = Math.atan2(best.b[1] - best.a[1], best.b[0] - best.a[0]);
      if (angle > Math.PI / 2) angle -= Math.PI; else if (angle < -Math.PI / 2) angle += Math.PI;
      const w = Math.abs(Math.cos(angle)) * wide / 2 + Math.abs(Math.sin(angle)) * 7, h = Math.abs(Math.sin(angle)) * wide / 2 + Math.abs(Math.cos(angle)) * 7;
      const box = [cx - w - 3, cy - h - 3, cx + w + 3, cy + h + 3];
      if (boxes.some((b) => b[0] < box[2] && b[2] > box[0] && b[1] < box[3] && b[3] > box[1])) continue;
      const same = shown.get(road.name) || [];
      if (same.some((s) => Math.hypot(s[0] - cx, s[1] - cy) < 260)) continue;
      shown.set(road.name, [...same, [cx, cy]]);
      boxes.push(box);
      count++;
      context.save();
      context.translate(cx, cy);
      context.rotate(angle);
      context.strokeStyle = this.colours.halo; context.lineWidth = 3.2; context.strokeText(name, 0, 0.5);
      context.fillStyle = this.colours.name; context.fillText(name, 0, 0.5);
      context.restore();
    }
  }

  drawScale() {
    const want = 90 / this.view.scale, power = 10 ** Math.floor(Math.log10(want));
    const length = [5, 2, 1].map((n) => n * power).find((n) => n <= want);
    const span = $("scale").firstElementChild;
    span.style.width = length * this.view.scale + "px";
    span.textContent = length >= 1000 ? length / 1000 + " km" : length >= 1 ? length + " m" : Math.round(length * 100) + " cm";
  }

  *setMap(map) {
    Object.assign(this, yield* readRoads(map));
    $("attribution").textContent = map ? map.attribution : "";
    this.changed0();
  }

  /** Applies the colours of the page's theme. */
  restyle() {
    const style = getComputedStyle(document.documentElement);
    const names = ["land", "street", "streetEdge", "thin", "service", "serviceEdge", "secondary", "secondaryEdge", "primary", "primaryEdge", "motorway", "motorwayEdge", "ferry", "fix", "bad", "runA", "runB", "name", "halo"];
    this.colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
    this.colours.font = style.getPropertyValue("--font");
    this.changed0();
  }
}
