"use strict";
// The data of the page: unpacking, and values that are derived once.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/** Creates an element; children are added as text, so that content of a recording is never parsed as HTML. */
function make(name, attributes = {}, ...children) {
  const element = ["svg", "g", "path", "circle", "line", "rect", "text", "polygon", "title"].includes(name)
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, value);
  for (const child of children) element.append(child);
  return element;
}

/** The longest time between pauses in which the browser can paint and handle input, ms. */
const SLICE = 30;

/** Runs a generator with pauses. */
async function takeSteps(steps) {
  for (let end = performance.now() + SLICE; !steps.next().done;) {
    if (performance.now() < end) continue;
    await (globalThis.scheduler && scheduler.yield ? scheduler.yield() : new Promise((resume) => setTimeout(resume)));
    end = performance.now() + SLICE;
  }
}

/** Runs a generator without pauses and returns its result. */
function finish(steps) {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Decodes numbers from base64: 0 for null, else the zigzag form of a difference plus one, seven bits per byte. */
function unpack(text, differences = 1) {
  const bytes = atob(text), out = [];
  let last = 0, step = 0, value = 0, unit = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes.charCodeAt(i);
    value += (byte & 127) * unit;
    if (byte & 128) { unit *= 128; continue; }
    unit = 1;
    if (value === 0) { out.push(null); continue; }
    const code = value - 1;
    value = 0;
    let difference = code % 2 ? -(code + 1) / 2 : code / 2;
    if (differences === 2) { difference += step; step = difference; }
    last += difference;
    out.push(last);
  }
  return out;
}

function* unpackTable(table) {
  const out = { rows: table.rows, messages: table.messages };
  for (const [name, text] of Object.entries(table.columns)) {
    out[name] = unpack(text, name === "t" ? 2 : 1);
    yield;
  }
  return out;
}

// The Mercator projection, in metres at the middle of the drive; y increases southwards.
const earth = { lat: 0, lon: 0, cos: 1 };
const mercator = (lat) => Math.log(Math.tan(Math.PI / 4 + Math.max(-85, Math.min(85, lat)) * Math.PI / 360));
function centreOn(lat, lon) {
  earth.lat = mercator(lat); earth.lon = lon; earth.cos = Math.cos(lat * Math.PI / 180);
}
function eastward(lon) {
  let d = lon - earth.lon;
  if (d > 180) d -= 360; else if (d < -180) d += 360;
  return d * Math.PI / 180 * 6378137 * earth.cos;
}
const southward = (lat) => (earth.lat - mercator(lat)) * 6378137 * earth.cos;

/** Returns the index of the last time at or before t; -1 before the first. */
function before(times, t) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1; else high = middle;
  }
  return low - 1;
}

const DEVIATION = ["", "on route", "uncertain", "off step", "off route", "wrong way"];
const HEALTH = ["unknown", "OK", "degraded", "lost"];
const ON_ROAD = 1, PREDICTED = 2, TELEPORT = 8, UNLIMITED = 32;
/** The gap between samples from which on a line is interrupted, ms. */
const GAP = 6000;

/** Unpacks a run of the document for drawing. */
function* prepare(run, index) {
  const out = { ...run, index, letter: "AB"[index], latencies: [], routes: [] };
  for (const name of ["fixes", "positions", "progress", "rejected"]) out[name] = yield* unpackTable(run[name]);
  for (const entry of run.latencies) out.latencies.push({ name: entry.name, ...(yield* unpackTable(entry.table)) });
  for (const route of run.routes) {
    out.routes.push({ ...route, lat: unpack(route.lat), lon: unpack(route.lon) });
    yield;
  }
  // A recording without fix messages, such as the output of a replay, has the fixes in its positions.
  if (!out.fixes.t.length) {
    const p = out.positions;
    out.fixes = { t: [], lat: [], lon: [], acc: [], speed: [], receiver: [], rows: 0, messages: 0 };
    p.t.forEach((t, i) => {
      if (p.rawLat[i] === null) return;
      out.fixes.t.push(t); out.fixes.lat.push(p.rawLat[i]); out.fixes.lon.push(p.rawLon[i]);
      out.fixes.acc.push(null); out.fixes.speed.push(null); out.fixes.receiver.push(null);
    });
    out.fixes.rows = out.fixes.t.length;
  }
  out.traces = tracesOf(out);
  return out;
}

/** Returns a table of fixes for each receiver, that with the most fixes first: fixes of several receivers do not form one line. */
function tracesOf(run) {
  const fixes = run.fixes;
  if (run.receivers.length < 2) return [fixes];
  const columns = Object.keys(fixes).filter((name) => Array.isArray(fixes[name]));
  const tables = run.receivers.map((name) => ({ name, ...Object.fromEntries(columns.map((column) => [column, []])) }));
  fixes.receiver.forEach((number, i) => {
    if (tables[number]) for (const column of columns) tables[number][column].push(fixes[column][i]);
  });
  const used = tables.filter((table) => table.t.length).sort((a, b) => b.t.length - a.t.length);
  return used.length ? used : [fixes];
}

/** Returns the table with the places of the vehicle: matched positions, else the fixes of one receiver. */
const track = (run) => (run.positions.t.length ? run.positions : run.traces[0]);

function project(table) {
  table.x = table.lat.map((_, i) => (table.lon[i] === null ? null : eastward(table.lon[i] * 1e-6)));
  table.y = table.lat.map((lat) => (lat === null ? null : southward(lat * 1e-6)));
}

function* projectAll(page) {
  const lats = [], lons = [];
  for (const run of page.runs) {
    for (const table of [track(run), ...run.routes]) {
      table.lat.forEach((lat, i) => { if (lat !== null) { lats.push(lat); lons.push(table.lon[i]); } });
      yield;
    }
  }
  if (lats.length) {
    const mid = (values) => Float64Array.from(values).sort()[values.length >> 1];
    centreOn(mid(lats) * 1e-6, mid(lons) * 1e-6);
  }
  for (const run of page.runs) {
    for (const table of [run.fixes, run.positions, run.rejected, ...run.routes]) {
      yield;
      project(table);
    }
  }
  for (const run of page.runs) run.traces = tracesOf(run);
}

/** Returns the vehicle of a run at a time: place, course and row of the table; null before the first place. */
function vehicleAt(run, t) {
  const table = track(run), i = before(table.t, t);
  if (i < 0 || !table.t.length) return null;
  const j = Math.min(i + 1, table.t.length - 1), span = table.t[j] - table.t[i];
  const share = span > 0 && span < GAP ? Math.min((t - table.t[i]) / span, 1) : 0;
  const x = table.x[i] + (table.x[j] - table.x[i]) * share, y = table.y[i] + (table.y[j] - table.y[i]) * share;
  let course = table.course ? table.course[i] : null;
  course = course === null || course === undefined
    ? (table.x[j] !== table.x[i] || table.y[j] !== table.y[i] ? Math.atan2(table.x[j] - table.x[i], table.y[i] - table.y[j]) : null)
    : course / 10 * Math.PI / 180;
  return { x, y, course, i, table, age: t - table.t[i] };
}

/** Returns the route in force at a time. */
function routeAt(run, t) {
  let found = null;
  for (const route of run.routes) if (route.t <= t) found = route;
  return found || run.routes[0] || null;
}

/** Returns the distances between the vehicles of two runs at the times of the first, m; null where one has no place. */
function distancesBetween(a, b) {
  const table = track(a);
  return table.t.map((t, i) => {
    const other = vehicleAt(b, t);
    return other && other.age < GAP && table.x[i] !== null ? Math.hypot(table.x[i] - other.x, table.y[i] - other.y) : null;
  });
}

// Texts.

const two = (n) => String(n).padStart(2, "0");
function clockText(ms) {
  const s = Math.max(0, Math.floor(ms / 1000)), h = Math.floor(s / 3600);
  return (h ? h + ":" + two(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ":" + two(s % 60);
}
function dateText(ms) {
  const date = new Date(ms);
  return isNaN(date) ? "" : date.toISOString().replace("T", " ").slice(0, 19) + " UTC";
}
function metres(m) {
  if (m === null || m === undefined || !isFinite(m)) return "–";
  return m >= 1000 ? (m / 1000).toFixed(m >= 100000 ? 0 : 1) + " km" : Math.round(m) + " m";
}
function durationText(s) {
  if (s === null || !isFinite(s)) return "–";
  const size = Math.abs(s);
  if (size < 100) return s.toFixed(0) + " s";
  if (size < 5400) return (s / 60).toFixed(size < 600 ? 1 : 0) + " min";
  const minutes = Math.round(size / 60);
  return Math.floor(minutes / 60) * Math.sign(s) + " h " + two(minutes % 60) + " min";
}
const plain = (text) => text.replace(/\b[A-Z][A-Z_]{2,}\b/g, (w) => (["GNSS", "ETA", "GPS", "UTC"].includes(w) ? w : w.toLowerCase().replaceAll("_", " ")));
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Policy decisions that reject a proposal of navigation; a NO to other requests rejects nothing. */
const REFUSAL = /^policy (SHOULD_REROUTE|ACCEPT_REROUTE|ACCEPT_FASTER_ROUTE|SHOULD_TAKE_ALTERNATIVE|SHOULD_ADVANCE_LEG): NO /;

/** Returns the importance of an event: 2 for a problem, 1 for a notable event, 0 for others. */
function weight(event) {
  if (/FAILED|OFF_ROUTE|WRONG_WAY|INVALIDATED|LOST/.test(event.text)) return 2;
  if (["reroute", "arrival", "route", "prediction", "faster"].includes(event.kind) || /TAKEN/.test(event.text)) return 1;
  // The first selection of a receiver is not a change.
  if (event.kind === "receiver" && event.text.includes("' instead of '") || event.kind === "policy" && REFUSAL.test(event.text)) return 1;
  return 0;
}
function toneOf(event) {
  if (event.kind === "arrival") return "good";
  const w = weight(event);
  return w === 2 ? "bad" : event.kind === "route" ? "accent" : w === 1 ? "warn" : "dim";
}

function quantile(values, share) {
  const sorted = Float64Array.from(values.filter((v) => v !== null && isFinite(v))).sort();
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null;
}

/** Returns the distance along the places of a table, m. */
function lengthOf(table) {
  let length = 0;
  for (let i = 1; i < table.t.length; i++) {
    const flags = table.flags ? table.flags[i] : 0;
    if (table.x[i] !== null && table.x[i - 1] !== null && !(flags & TELEPORT)) length += Math.hypot(table.x[i] - table.x[i - 1], table.y[i] - table.y[i - 1]);
  }
  return length;
}

/** The distance beyond which a route leads to another destination, m. */
const ELSEWHERE = 30;

/**
 * Returns the errors of the estimated times of arrival, s, relative to the arrival of the trip, or to the last estimate if the drive has
 * no arrival. A trip ends at its arrival or, without an arrival, when a route leads to another destination.
 */
function etaErrors(run) {
  const p = run.progress, arrived = run.arrivals.length > 0;
  const starts = run.routes.filter((route, i) => {
    const last = run.routes[i - 1], a = route.x.length - 1, b = last ? last.x.length - 1 : -1;
    return route.reason === "STARTED" || (last && Math.hypot(route.x[a] - last.x[b], route.y[a] - last.y[b]) > ELSEWHERE);
  }).map((route) => route.t).sort((a, b) => a - b);
  let last;
  for (let i = p.t.length - 1; i >= 0 && last === undefined; i--) if (p.left[i] !== null) last = p.t[i] + p.left[i] * 100;
  const ends = arrived ? run.arrivals : last === undefined ? [] : [last];
  let end = 0, next = 0;
  const values = p.t.map((t, i) => {
    while (end < ends.length && ends[end] < t) end++;
    while (next < starts.length && starts[next] <= t) next++;
    if (p.left[i] === null || end === ends.length || starts[next] <= ends[end]) return null;
    return (t + p.left[i] * 100 - ends[end]) / 1000;
  });
  return { t: p.t, values, arrived };
}
