// Plots over time and the timeline, as SVG with at most about two points per pixel.

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

/** Returns the times of tick marks in a window, ms, with room for their labels. */
function timeTicks(from, to, width) {
  const most = Math.max(2, Math.floor(width / 80)), span = (to - from) / 1000;
  const step = (STEPS.find((s) => span / s <= most) || Math.ceil(span / most)) * 1000, out = [];
  for (let t = Math.ceil(from / step) * step; t <= to && out.length < 100; t += step) out.push(t);
  return out;
}

function niceStep(range, most) {
  const power = 10 ** Math.floor(Math.log10(range / most || 1));
  return [1, 2, 2.5, 5, 10].map((n) => n * power).find((s) => range / s <= most) || power * 10;
}

/** Formats a number on an axis in at most five characters. */
function axisNumber(v) {
  const isLong = Math.abs(v) >= 1000;
  return Number((isLong ? v / 1000 : v).toFixed(6)).toLocaleString("en").replace("-", "−") + (isLong ? "k" : "");
}

/** Returns the path of a series in a window: all points, or the least and the greatest of each pixel column. */
function seriesPath(times, values, window, width, x, y, isStepped) {
  const from = Math.max(before(times, window[0]), 0), to = Math.min(before(times, window[1]) + 1, times.length - 1);
  let d = "", last = null, lastY = 0;
  const put = (i, value) => {
    const px = x(times[i]), py = y(value);
    if (last === null || times[i] - last > Math.max(GAP, (window[1] - window[0]) / width * 3)) {
      if (isStepped && last !== null) d += "H" + x(last).toFixed(1);
      d += "M" + px.toFixed(1) + " " + py.toFixed(1);
    }
    else if (isStepped) d += (py === lastY ? "" : "H" + px.toFixed(1) + "V" + py.toFixed(1));
    else d += "L" + px.toFixed(1) + " " + py.toFixed(1);
    if (isStepped && py === lastY && i === to) d += "H" + px.toFixed(1);
    last = times[i]; lastY = py;
  };
  if (to - from < width * 2 || isStepped) {
    for (let i = from; i <= to; i++) {
      if (values[i] === null || values[i] === undefined) { if (isStepped && last !== null) d += "H" + x(times[i]).toFixed(1); last = null; } else put(i, values[i]);
    }
    if (isStepped && last !== null) d += "H" + x(times[to]).toFixed(1);
    return d;
  }
  for (let i = from; i <= to;) {
    const column = Math.floor(x(times[i]));
    let low = -1, high = -1, j = i;
    for (; j <= to && Math.floor(x(times[j])) === column; j++) {
      if (values[j] === null) continue;
      if (low < 0 || values[j] < values[low]) low = j;
      if (high < 0 || values[j] > values[high]) high = j;
    }
    if (low >= 0) { put(Math.min(low, high), values[Math.min(low, high)]); if (low !== high) put(Math.max(low, high), values[Math.max(low, high)]); } else last = null;
    i = j;
  }
  return d;
}

/** A plot of series with a common vertical axis. */
class Plot {
  constructor(spec, board) {
    this.spec = spec;
    this.board = board;
    this.value = make("span", { class: "value" });
    const legend = make("span", { class: "legend" });
    for (const series of spec.series) if (series.label) legend.append(make("span", { class: "key " + series.class }, series.label));
    this.svg = make("svg", { role: "img", "aria-label": this.describe(), "data-plot": spec.name });
    this.body = make("g");
    this.cursor = make("line", { class: "cursor" });
    this.svg.append(this.body, this.cursor);
    this.element = make("figure", { class: "plot" }, make("figcaption", {}, make("b", {}, spec.title), legend, this.value), this.svg);
    const seek = (event) => {
      const box = this.svg.getBoundingClientRect();
      board.onSeek(board.time(event.clientX - box.left));
    };
    this.svg.addEventListener("pointerdown", (event) => { this.svg.setPointerCapture(event.pointerId); this.isDown = true; seek(event); });
    this.svg.addEventListener("pointermove", (event) => { if (this.isDown) seek(event); });
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, () => { this.isDown = false; });
    this.svg.addEventListener("wheel", (event) => {
      if (!event.shiftKey && !event.ctrlKey) return;
      event.preventDefault();
      const box = this.svg.getBoundingClientRect();
      board.zoom(Math.exp((event.deltaY || event.deltaX) * 0.003), board.time(event.clientX - box.left));
    }, { passive: false });
    this.svg.addEventListener("dblclick", () => board.zoomOut());
  }

  /** Returns a description of the plot for screen readers. */
  describe() {
    const { title, unit, series } = this.spec;
    const parts = series.filter((s) => s.values).map((s) => {
      const known = s.values.filter((v) => v !== null && v !== undefined && isFinite(v));
      if (!known.length) return null;
      const number = (v) => (Math.abs(v) >= 100 ? v.toFixed(0) : v.toFixed(1));
      let low = Infinity, high = -Infinity;
      for (const v of known) { if (v < low) low = v; if (v > high) high = v; }
      return (s.label || title) + ": median " + number(quantile(known, 0.5)) + ", from " + number(low) + " to " + number(high) + " " + unit;
    }).filter(Boolean);
    return title + ". " + parts.join("; ");
  }

  draw(width, isLast, room) {
    const { spec, board } = this, foot = isLast ? 18 : 6, height = (spec.height || room) + foot, bottom = height - foot, top = 5;
    this.svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    this.svg.setAttribute("height", height);
    this.body.replaceChildren();
    const x = (t) => board.x(t), left = board.left, right = width - 6, add = (name, attributes, ...children) => { const e = make(name, attributes, ...children); this.body.append(e); return e; };
    const ticks = timeTicks(board.window[0], board.window[1], right - left);
    for (const t of ticks) {
      add("line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: bottom });
      if (isLast) add("text", { class: "tick mid", x: x(t), y: bottom + 15 }, clockText(t));
    }
    if (spec.lanes) return this.drawLanes(spec.lanes, x, add, left, right);
    let low = Infinity, high = -Infinity;
    for (const series of spec.series) {
      const from = Math.max(before(series.t, board.window[0]), 0), to = before(series.t, board.window[1]);
      for (let i = from; i <= to && series.values; i++) {
        const v = series.values[i];
        if (v === null || v === undefined || !isFinite(v)) continue;
        if (v < low) low = v;
        if (v > high) high = v;
      }
      // A band that grows during an outage is clipped, because it would flatten the series.
      const usual = series.band ? quantile(series.band.slice(from, to + 1), 0.9) : null;
      if (usual !== null) { low = Math.min(low, -usual); high = Math.max(high, usual); }
    }
    if (low > high) [low, high] = [0, 1];
    if (spec.zero !== false) { low = Math.min(low, 0); high = Math.max(high, spec.least || 1); }
    if (spec.symmetric) { high = Math.max(-low, high, spec.least || 1); low = -high; }
    const step = niceStep(high - low, 3);
    low = Math.floor(low / step + 1e-9) * step; high = Math.ceil(high / step - 1e-9) * step;
    const y = (v) => bottom - (v - low) / (high - low) * (bottom - top);
    for (let v = low; v <= high + step / 2; v += step) {
      add("line", { class: Math.abs(v) < step / 1e6 ? "zero" : "grid", x1: left, x2: right, y1: y(v), y2: y(v) });
      add("text", { class: "tick end", x: left - 5, y: y(v) + 3.5 }, axisNumber(v));
    }
    const clip = { "clip-path": "url(#plotclip)" };
    for (const series of spec.series) {
      if (series.band) {
        const up = seriesPath(series.t, series.band, board.window, right - left, x, y);
        const down = seriesPath(series.t, series.band.map((v) => (v === null ? null : -v)), board.window, right - left, x, y);
        // Both edges have the same points: the outline is one edge followed by the other in reverse.
        const parts = up.split("M").slice(1), others = down.split("M").slice(1);
        const d = parts.map((part, i) => "M" + part + "L" + others[i].split("L").reverse().join("L") + "Z").join("");
        add("path", { class: "band " + series.class, d, ...clip });
        continue;
      }
      const d = seriesPath(series.t, series.values, board.window, right - left, x, y, series.isStepped);
      if (series.isFilled && d) {
        const base = y(Math.max(low, Math.min(high, 0)));
        const area = d.split("M").slice(1).map((part) => {
          const points = part.split("L"), first = points[0].split(" ")[0], last = points[points.length - 1].split(" ")[0];
          return "M" + first + " " + base + "L" + part + "L" + last + " " + base + "Z";
        }).join("");
        add("path", { class: "area " + series.class, d: area, ...clip });
      }
      add("path", { class: "series " + series.class, d, ...clip });
    }
  }

  drawLanes(lanes, x, add, left, right) {
    lanes.forEach((lane, i) => {
      const y = 6 + i * 20;
      add("text", { class: "tick lane", x: left + 4, y: y + 10.5 }, lane.name);
      lane.spans.forEach((span) => {
        const from = Math.max(left, x(span.from)), to = Math.min(right, x(span.to));
        if (to <= from) return;
        const rect = make("rect", { class: "span " + span.class, x: from, y, width: Math.max(to - from, 1.5), height: 14, rx: 3 }, make("title", {}, span.text));
        this.body.prepend(rect);
      });
    });
  }

  seek(t) {
    const x = this.board.x(t), isIn = t >= this.board.window[0] && t <= this.board.window[1];
    this.cursor.setAttribute("x1", x); this.cursor.setAttribute("x2", x);
    this.cursor.setAttribute("y1", 0); this.cursor.setAttribute("y2", 400);
    this.cursor.style.display = isIn ? "" : "none";
    const text = this.spec.read ? this.spec.read(t) : "";
    if (this.value.textContent === text) return;
    this.value.textContent = text;
    // The health text may be longer than its space, so it is also the tooltip.
    this.value.title = this.spec.lanes ? text : "";
  }
}

/** All plots, with a common time window. */
class PlotBoard {
  constructor(page, onSeek) {
    this.page = page;
    this.onSeek = onSeek;
    this.element = $("plots");
    this.left = 40;
    this.window = [0, Math.max(page.duration, 1)];
  }

  *open() {
    yield* this.building();
    yield* this.drawing();
    new ResizeObserver(() => { if (this.measure().join() !== this.size.join()) this.draw(); }).observe(this.element);
  }

  build() { finish(this.building()); }

  *building() {
    const specs = plotSpecs(this.page);
    if (this.plots && this.plots.map((plot) => plot.spec.name).join() === specs.map((spec) => spec.name).join()) {
      this.plots.forEach((plot, i) => {
        plot.spec = specs[i];
        plot.svg.setAttribute("aria-label", plot.describe());
      });
      return;
    }
    const clip = make("svg", { class: "defs", width: 0, height: 0, "aria-hidden": "true" });
    clip.innerHTML = '<defs><clipPath id="plotclip"><rect x="40" y="4" width="4000" height="400"/></clipPath></defs>';
    const bar = make("div", { class: "plotbar" }, make("span", { id: "span" }));
    for (const [label, title, action] of [["+", "Shorter time (Z)", () => this.zoom(0.5)], ["−", "Longer time (X)", () => this.zoom(2)], ["All", "The whole drive", () => this.zoomOut()]]) {
      const button = make("button", { type: "button", title, "aria-label": title }, label);
      button.addEventListener("click", action);
      bar.append(button);
    }
    this.plots = [];
    for (const spec of specs) {
      yield;
      this.plots.push(new Plot(spec, this));
    }
    this.element.replaceChildren(clip, bar, ...this.plots.map((plot) => plot.element));
    if (!this.plots.length) this.element.append(make("p", { class: "empty" }, "This recording has nothing to plot."));
  }

  x(t) { return this.left + (t - this.window[0]) / (this.window[1] - this.window[0]) * (this.width - 6 - this.left); }
  time(x) { return this.window[0] + Math.max(0, Math.min(1, (x - this.left) / (this.width - 6 - this.left))) * (this.window[1] - this.window[0]); }

  zoom(factor, around = this.t || 0) {
    const whole = Math.max(this.page.duration, 1), span = Math.max(4000, Math.min(whole, (this.window[1] - this.window[0]) * factor));
    const share = (around - this.window[0]) / (this.window[1] - this.window[0]);
    const from = Math.max(0, Math.min(whole - span, around - span * Math.max(0, Math.min(1, share))));
    this.window = [from, from + span];
    this.draw();
  }

  zoomOut() {
    this.window = [0, Math.max(this.page.duration, 1)];
    this.draw();
  }

  /** Returns the width of the panel, and its height if the panel scrolls, else 0. */
  measure() {
    return [this.element.clientWidth, getComputedStyle(this.element).overflowY === "auto" ? this.element.clientHeight : 0];
  }

  draw() { finish(this.drawing()); }

  *drawing() {
    this.size = this.measure();
    const [width, height] = this.size;
    this.width = Math.max(width - 24, 200);
    // A panel with a fixed height divides it among the plots.
    const free = height - 60 - this.plots.length * 27 - this.plots.reduce((sum, plot) => sum + (plot.spec.height || 0), 0);
    const room = Math.round(Math.max(72, Math.min(160, height ? free / Math.max(this.plots.filter((plot) => !plot.spec.height).length, 1) : 92)));
    for (const [i, plot] of this.plots.entries()) {
      plot.draw(this.width, i === this.plots.length - 1, room);
      yield;
    }
    $("span").textContent = clockText(this.window[0]) + " – " + clockText(this.window[1]);
    for (const plot of this.plots) plot.seek(this.t || 0);
  }

  seek(t, isPlaying) {
    const isIn = (t) => t >= this.window[0] && t <= this.window[1], wasIn = isIn(this.t || 0);
    this.t = t;
    // During playback the window follows the vehicle only if it showed the vehicle before.
    if (!isIn(t) && (wasIn || !isPlaying)) {
      const span = this.window[1] - this.window[0], from = Math.min(Math.max(0, t - span * 0.1), Math.max(0, this.page.duration - span));
      this.window = [from, from + span];
      this.draw();
      return;
    }
    for (const plot of this.plots) plot.seek(t);
  }
}

/** Formats the values of series at a time, each with its name. */
function reading(list, t, digits, unit, name) {
  const texts = list.map((series) => {
    const i = before(series.t, t), v = i >= 0 && t - series.t[i] < GAP ? series.values[i] : null;
    return v === null || v === undefined ? "–" : v.toFixed(digits).replace("-", "−");
  });
  if (texts.every((text) => text === "–")) return "–";
  return texts.map((text, i) => name(list[i]) + text).join("  ") + " " + unit;
}

/** Returns the specifications of the plots; values that no run has are not plotted. */
function plotSpecs(page) {
  const specs = [], has = (values) => values && values.some((v) => v !== null && v !== undefined);
  const isDouble = page.runs.length > 1;
  const series = (run, table, values, label, extra = {}) => ({
    t: table.t, values, class: "run" + run.letter + (extra.class ? " " + extra.class : ""), label: isDouble ? (extra.isMain ? run.letter : run.index ? null : label) : label, run, ...extra, ...(extra.class ? { class: "run" + run.letter + " " + extra.class } : {}),
  });
  const divided = (values, by) => (values || []).map((v) => (v === null ? null : v / by));
  const add = (name, title, unit, list, extra = {}) => {
    const used = list.filter((s) => has(s.values) || has(s.band));
    if (!used.some((s) => has(s.values))) return;
    const digits = extra.digits === undefined ? 1 : extra.digits;
    const shown = used.filter((s) => s.values && s.isRead !== false && (s.isMain || !isDouble));
    specs.push({ name, title: title, unit, series: used, read: (t) => reading(shown, t, digits, unit, (s) => (isDouble ? s.run.letter + " " : shown.length > 1 && s.label ? s.label.split(" ")[0] + " " : "")), ...extra });
  };
  const runs = page.runs;
  add("speed", "Speed", "km/h", runs.flatMap((run) => {
    const table = has(run.positions.speed) ? run.positions : run.traces[0];
    return [
      series(run, run.positions, divided(run.positions.limit, 100 / 3.6), run.index ? null : "limit", { class: "limit", isStepped: true, isRead: false }),
      series(run, table, divided(table.speed, 100 / 3.6), "speed", { isMain: true }),
    ];
  }), { digits: 0, least: 30 });
  add("offset", "Fix beside the road", "m", runs.flatMap((run) => [
    series(run, run.positions, null, run.index ? null : "±1 σ", { band: divided(run.positions.cross, 100) }),
    series(run, run.positions, divided(run.positions.offset, 100), "offset", { isMain: true }),
  ]), { symmetric: true, least: 3 });
  add("deviation", "Distance from the route", "m", runs.flatMap((run) => {
    const p = run.progress, metres = divided(p.distance, 10), off = metres.map((v, i) => (p.deviation[i] >= 4 || (i && p.deviation[i - 1] >= 4) ? v : null));
    return [series(run, p, metres, null, { isFilled: true, isMain: true }), series(run, p, off, run.index ? null : "off route", { class: "off", isRead: false })];
  }), { least: 5 });
  add("eta", "ETA error", "s", runs.map((run) => {
    const eta = etaErrors(run);
    return series(run, run.progress, eta.values, eta.arrived ? null : "against the last estimate", { isFilled: runs.length === 1, isMain: true });
  }), { digits: 0, least: 5 });
  add("latency", "Latency", "ms", runs.flatMap((run) => {
    const main = run.latencies.find((l) => /fix_to_progress/.test(l.name)) || run.latencies.find((l) => /progress|position/.test(l.name)) || run.latencies[0];
    if (!main) return [];
    const name = main.name.split(" ").slice(1).join(" ").replaceAll("_", " ");
    return [series(run, main, divided(main.p99, 1000), run.index ? null : "p99 " + name, { class: "faint" }), series(run, main, divided(main.p50, 1000), "p50", { isMain: true })];
  }), { digits: 2, least: 0.5 });
  const lanes = runs.flatMap((run) => run.nodes.map((node) => ({
    name: (isDouble ? run.letter + " " : "") + node.name,
    spans: node.states.map((state, i) => ({
      from: state.t, to: i + 1 < node.states.length ? node.states[i + 1].t : page.duration, isLast: i + 1 === node.states.length, state: state.state,
      class: "health" + state.state, text: node.name + ": " + HEALTH[state.state] + (state.reason ? ", " + state.reason : ""),
    })),
  })));
  if (lanes.length) {
    specs.push({
      name: "health", title: "Health", unit: "", series: [], lanes, height: lanes.length * 20 + 4,
      read: (t) => {
        // The last state continues to the end, where the cursor of a live drive is.
        const spans = lanes.flatMap((lane) => lane.spans).filter((s) => s.from <= t && (t < s.to || s.isLast));
        if (!spans.length) return "–";
        const bad = spans.filter((s) => s.state !== 1).sort((a, b) => b.state - a.state);
        return bad.length ? bad[0].text : "all OK";
      },
    });
  }
  return specs;
}

/** The timeline below the page: the deviation states and the events. */
class Timeline {
  constructor(page, onSeek) {
    this.page = page;
    this.onSeek = onSeek;
    this.element = $("timeline");
    this.svg = this.element.firstElementChild;
    const seek = (event) => {
      const box = this.element.getBoundingClientRect();
      onSeek(Math.max(0, Math.min(1, (event.clientX - box.left - 8) / (box.width - 16))) * page.duration);
    };
    this.element.addEventListener("pointerdown", (event) => { this.element.setPointerCapture(event.pointerId); this.isDown = true; seek(event); });
    this.element.addEventListener("pointermove", (event) => { if (this.isDown) seek(event); });
    for (const name of ["pointerup", "pointercancel"]) this.element.addEventListener(name, () => { this.isDown = false; });
    // The keys of a slider, in addition to those of the page.
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 1000, ArrowDown: -1000, PageUp: 10000, PageDown: -10000 }[event.key];
      if (!step) return;
      event.preventDefault();
      onSeek(this.t + step);
    });
    this.t = 0;
    this.draw();
    new ResizeObserver(() => { if (this.measure() !== this.width) this.draw(); }).observe(this.element);
  }

  measure() { return Math.max(this.element.clientWidth, 100); }

  x(t) { return 8 + t / Math.max(this.page.duration, 1) * (this.width - 16); }

  draw() {
    this.width = this.measure();
    const height = 46, runs = this.page.runs;
    this.svg.setAttribute("viewBox", "0 0 " + this.width + " " + height);
    this.svg.replaceChildren();
    const add = (name, attributes, ...children) => this.svg.append(make(name, attributes, ...children));
    const tall = runs.length > 1 ? 5 : 8;
    runs.forEach((run, index) => {
      const y = 17 + index * 7, p = run.progress, table = track(run);
      if (table.t.length) add("rect", { class: "lane", x: this.x(table.t[0]), y, width: Math.max(this.x(table.t[table.t.length - 1]) - this.x(table.t[0]), 1), height: tall, rx: tall / 2 });
      for (let i = 0; i < p.t.length;) {
        let j = i;
        while (j + 1 < p.t.length && p.deviation[j + 1] === p.deviation[i] && p.t[j + 1] - p.t[j] < GAP) j++;
        const to = p.t[Math.min(j + 1, p.t.length - 1)] - p.t[j] < GAP ? p.t[Math.min(j + 1, p.t.length - 1)] : p.t[j];
        add("rect", { class: "stand stand" + p.deviation[i] + " run" + run.letter, x: this.x(p.t[i]), y, width: Math.max(this.x(to) - this.x(p.t[i]), 1), height: tall }, make("title", {}, DEVIATION[p.deviation[i]] || ""));
        i = j + 1;
      }
      const taken = [];
      // If there is no room for all events, the more important ones are shown.
      for (const event of [...run.events].sort((a, b) => weight(b) - weight(a))) {
        const w = weight(event), x = this.x(event.t);
        if (!w || event.kind === "state" || /FETCH/.test(event.text) || taken.some((other) => Math.abs(other - x) < 5)) continue;
        taken.push(x);
        add("circle", { class: "tickmark " + toneOf(event), cx: x, cy: 9, r: 4, "data-event": event.kind }, make("title", {}, clockText(event.t) + " " + sentence(plain(event.text))));
      }
      for (const item of run.instructions) add("line", { class: "saymark", x1: this.x(item.t), x2: this.x(item.t), y1: 15 + index * 7, y2: 15 + index * 7 + tall + 4 });
    });
    for (const change of this.page.changes) add("rect", { class: "changemark", x: this.x(change.t) - 1.5, y: 1, width: 3, height: 14, rx: 1.5 });
    for (const t of timeTicks(0, this.page.duration, this.width)) {
      const x = this.x(t);
      if (x < this.width - 24) add("text", { class: "tick" + (t ? " mid" : ""), x: t ? x : 8, y: 43 }, clockText(t));
    }
    this.head = make("g", { class: "head" }, make("line", { y1: 4, y2: 33 }), make("circle", { cy: 21, r: 7 }));
    this.svg.append(this.head);
    this.seek(this.t);
  }

  seek(t, words = this.words) {
    this.t = t;
    this.words = words;
    this.head.setAttribute("transform", "translate(" + this.x(t).toFixed(1) + " 0)");
    this.element.setAttribute("aria-valuemax", Math.round(this.page.duration / 1000));
    this.element.setAttribute("aria-valuenow", Math.round(t / 1000));
    this.element.setAttribute("aria-valuetext", [clockText(t) + " of " + clockText(this.page.duration), words].filter(Boolean).join(", "));
  }
}
