// The page: lists, controls, keys, and the current time of all parts.

/** The distance beyond which two runs count as apart, m. */
const APART = 10;

const ARROW = { 1: 180, 2: 135, 3: 90, 4: 45, 5: 0, 6: -45, 7: -90, 8: -135 };

/** Creates the icon of a maneuver. */
function maneuverIcon(type, modifier) {
  const svg = make("svg", { viewBox: "0 0 24 24", class: "maneuver", "aria-hidden": "true" });
  if (type === 4) {
    svg.append(make("path", { d: "M7 21V4M7 5h10l-2.5 3.5L17 12H7", fill: "none" }));
  } else if (type === 3) {
    svg.append(make("circle", { cx: 12, cy: 18, r: 3 }), make("path", { d: "M12 15V4M7.5 8.5 12 4l4.5 4.5", fill: "none" }));
  } else if (modifier === 1) {
    svg.append(make("path", { d: "M16 21V10a4.5 4.5 0 0 0-9 0v8M3.5 14.5 7 18l3.5-3.5", fill: "none" }));
  } else {
    const a = (ARROW[modifier] || 0) * Math.PI / 180, x = 12 + 8 * Math.sin(a), y = 12 - 8 * Math.cos(a);
    const wing = (turn) => (x - 5 * Math.sin(a + turn)).toFixed(1) + " " + (y + 5 * Math.cos(a + turn)).toFixed(1);
    if (type >= 11 && type <= 15) svg.append(make("circle", { cx: 12, cy: 12, r: 4, fill: "none", class: "ring" }));
    svg.append(make("path", { d: "M12 21V12L" + x.toFixed(1) + " " + y.toFixed(1) + "M" + wing(0.7) + "L" + x.toFixed(1) + " " + y.toFixed(1) + "L" + wing(-0.7), fill: "none" }));
  }
  return svg;
}

class Page {
  constructor(document_) {
    this.data = document_;
    this.runs = [];
    this.map = document_.map;
    this.changes = document_.changes;
    this.live = document_.live !== undefined;
    this.rate = 10;
  }

  /** Reads and draws the drive, the visible parts first. */
  *open() {
    for (const [i, run] of this.data.runs.entries()) this.runs.push(yield* prepare(run, i));
    this.duration = Math.max(1, ...this.runs.map((run) => run.duration));
    yield* projectAll(this);
    if (this.runs.length > 1) this.runs[0].apart = distancesBetween(this.runs[0], this.runs[1]);
    this.t = Math.max(0, Math.min(this.duration, ...this.runs.map((run) => (track(run).t.length ? track(run).t[0] : Infinity))));
    // A link may contain a time: #t=120 is two minutes after the start.
    const moment = this.linkedMoment();
    if (moment !== null) this.t = Math.min(this.duration, moment);
    yield;
    this.layers();
    this.tabs();
    yield;
    const seek = (t) => this.seek(t);
    this.view = new MapView(this, seek);
    yield* this.view.open();
    this.plots = new PlotBoard(this, seek);
    yield* this.plots.open();
    this.timeline = new Timeline(this, seek);
    yield;
    this.listen();
    this.seek(this.t);
    yield* this.view.setMap(this.map);
    if (this.live) {
      this.following = new Live(this);
      this.seek(this.duration);
    }
    // On a small map, the drive must be fitted beside the readout.
    if (this.view.isFitted) this.view.fit();
    this.view.draw();
    document.documentElement.dataset.ready = "true";
  }

  layers() {
    const box = $("layers").lastElementChild;
    for (const [key, label] of [["roads", "Roads"], ["names", "Names"], ["routes", "Routes"], ["fixes", "Fixes"], ["sigma", "σ ellipses"], ["marks", "Events"]]) {
      const input = make("input", { type: "checkbox", checked: "" });
      input.checked = true;
      input.addEventListener("change", () => { this.view.shows[key] = input.checked; this.view.changed0(); });
      box.append(make("label", { class: "layer " + key }, input, make("i"), label));
    }
  }

  // Lists.

  /** Creates the tabs of the lists; if the set of lists is unchanged, only the open list is refreshed. */
  tabs(isAgain) {
    const lists = [];
    if (this.changes.length || this.runs.length > 1) lists.push(["differences", "Differences", () => this.differences()]);
    for (const r of this.runs) if (r.instructions.length) lists.push(["instructions" + r.letter, "Instructions" + (this.runs.length > 1 ? " " + r.letter : ""), () => this.instructions(r)]);
    for (const r of this.runs) if (r.events.length) lists.push(["events" + r.letter, "Events" + (this.runs.length > 1 ? " " + r.letter : ""), () => this.events(r)]);
    if (this.live) lists.push(["nodes", "Nodes", () => this.nodeList()]);
    lists.push(["recording", this.live ? "Drive" : "Recording", () => this.recording()]);
    const isSame = isAgain && this.lists.map((list) => list[0]).join() === lists.map((list) => list[0]).join();
    this.lists = lists;
    if (isSame) return this.refreshList();
    const tabs = $("tabs"), hadFocus = tabs.contains(document.activeElement);
    tabs.replaceChildren();
    for (const [id, label] of lists) {
      const tab = make("button", { type: "button", role: "tab", id: "tab-" + id, "aria-controls": "list", tabindex: -1 }, label);
      tab.addEventListener("click", () => this.openList(id));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault(); event.stopPropagation();
        const i = lists.findIndex((list) => list[0] === this.list);
        this.openList(lists[(i + step + lists.length) % lists.length][0], true);
      });
      tabs.append(tab);
    }
    this.openList(this.list && lists.some((list) => list[0] === this.list) ? this.list : lists[0][0], hadFocus);
  }

  openList(id, isFocused) {
    this.list = id;
    for (const tab of $("tabs").children) {
      const isOpen = tab.id === "tab-" + id;
      tab.setAttribute("aria-selected", isOpen);
      tab.tabIndex = isOpen ? 0 : -1;
      if (isOpen && isFocused) tab.focus();
    }
    $("list").setAttribute("aria-labelledby", "tab-" + id);
    this.rows = [];
    $("list").replaceChildren(...this.lists.find((list) => list[0] === id)[2]());
    $("list").scrollTop = 0;
    this.active = null;
    this.mark();
  }

  /** Refreshes the open list; scroll position and focus are kept. */
  refreshList() {
    const list = $("list"), top = list.scrollTop, rows = this.rows, focus = rows.findIndex((row) => row.button === document.activeElement);
    this.rows = [];
    const content = this.lists.find((entry) => entry[0] === this.list)[2]();
    // Rows are only added, so an equal number means equal rows.
    if (rows.length && rows.length === this.rows.length) { this.rows = rows; return; }
    list.replaceChildren(...content);
    list.scrollTop = top;
    if (focus >= 0 && this.rows[focus]) this.rows[focus].button.focus({ preventScroll: true });
    this.active = null;
    this.mark();
  }

  row(t, run, ...content) {
    const button = make("button", { type: "button", class: "row run" + (run ? run.letter : "A"), "data-t": t }, ...content);
    button.addEventListener("click", () => this.seek(t));
    this.rows.push({ t, button });
    return make("li", {}, button);
  }

  instructions(run) {
    const list = make("ol", { class: "rows instructions" });
    run.instructions.forEach((item, i) => {
      list.append(this.row(item.t, run, maneuverIcon(item.type, item.modifier),
        make("span", { class: "what" }, item.text), make("span", { class: "time" }, clockText(item.t), make("small", {}, String(i + 1)))));
    });
    return [list];
  }

  events(run) {
    const list = make("ol", { class: "rows events" });
    for (const event of run.events) {
      list.append(this.row(event.t, run, make("i", { class: "dot " + toneOf(event) }), make("span", { class: "what" + (weight(event) ? "" : " dim") }, sentence(plain(event.text))), make("span", { class: "time" }, clockText(event.t))));
    }
    return [list];
  }

  differences() {
    const out = [], [a, b] = this.runs, apart = (a.apart || []).filter((d) => d !== null);
    let high = 0;
    for (const d of apart) high = Math.max(high, d);
    const far = apart.filter((d) => d > APART).length;
    out.push(make("p", { class: "note" }, apart.length
      ? "The vehicles are at most " + metres(high) + " apart" + (far ? ", and more than " + APART + " m at " + (100 * far / apart.length).toFixed(far * 100 < apart.length ? 1 : 0) + " % of the positions, marked on the map." : ".")
      : "The two recordings have no time in common; their positions are not compared."));
    if (!this.changes.length) out.push(make("p", { class: "note good" }, "Both runs have the same events at the same times."));
    const list = make("ol", { class: "rows changes" }), words = { removed: ["A only", "−"], added: ["B only", "+"], moved: ["moved", "~"] };
    for (const change of this.changes) {
      const [label, sign] = words[change.change];
      const text = sentence(plain(change.text)) + (change.change === "moved" ? " – in B " + (change.other > change.t ? "+" : "−") + (Math.abs(change.other - change.t) / 1000).toFixed(1) + " s" : "");
      list.append(this.row(change.t, this.runs[change.change === "added" ? 1 : 0], make("i", { class: "sign " + change.change, title: label }, sign), make("span", { class: "what" }, text, make("small", {}, label)), make("span", { class: "time" }, clockText(change.t))));
    }
    out.push(list);
    return out;
  }

  /** The nodes of the bus with their health and the rates of their topics. */
  nodeList() {
    const out = [];
    for (const node of this.nodes || []) {
      const facts = [node.cpu === undefined ? null : (node.cpu * 100).toFixed(0) + " % of a core", node.memory === undefined ? null : Math.round(node.memory / 1048576) + " MB", node.uptime === undefined ? null : "up " + durationText(node.uptime)].filter(Boolean);
      const table = make("table", { class: "topics", "data-node": node.name }, make("caption", {}, make("i", { class: "dot state" + node.state }), node.name + " ", make("small", {}, [HEALTH[node.state] || "", ...facts].map((fact) => fact.replaceAll(" ", "\u00a0")).join(" · "))));
      if (node.reason) table.append(make("tr", {}, make("td", { colspan: 2 }, node.reason)));
      for (const topic of node.topics.filter((t) => t.publishes || t.lost)) {
        const seen = topic.count === undefined ? "not read" : topic.rate ? topic.rate.toFixed(1) + " Hz" : topic.count + (topic.count === 1 ? " message" : " messages");
        table.append(make("tr", {}, make("th", { scope: "row" }, topic.topic, topic.publishes ? "" : make("small", {}, " received")), make("td", { class: "number" }, seen + (topic.lost ? ", " + topic.lost + " lost" : ""))));
      }
      out.push(table);
    }
    return out.length ? out : [make("p", { class: "note" }, "No node has been heard yet.")];
  }

  recording() {
    const out = [];
    for (const run of this.runs) {
      const table = make("table", {}, make("caption", {}, run.name));
      const row = (name, value) => table.append(make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
      row("Start", dateText(run.start));
      for (const [name, part] of [["Fixes", run.fixes], ["Positions", run.positions], ["Progress", run.progress]]) {
        if (part.messages) row(name, part.rows === part.messages ? String(part.messages) : part.rows + " of " + part.messages + " shown, extremes kept");
      }
      for (const trace of run.traces.length > 1 ? run.traces : []) row("Receiver " + (trace.name || "without a name"), trace.t.length + " fixes shown, " + metres(lengthOf(trace)));
      if (run.rejected.messages) {
        const counts = {};
        for (const reason of run.rejected.reason) counts[reason] = (counts[reason] || 0) + 1;
        row("Rejected", run.rejected.messages + ": " + Object.entries(counts).map(([r, n]) => n + " " + plain(run.reasons[r] || r)).join(", "));
      }
      for (const note of run.notes) row("Note", note);
      out.push(table);
      if (run.topics.length) {
        const topics = make("table", { class: "topics" }, make("caption", {}, "Messages"));
        for (const topic of run.topics) topics.append(make("tr", {}, make("th", { scope: "row", title: topic.type }, topic.topic), make("td", { class: "number" }, String(topic.count))));
        out.push(topics);
      }
    }
    out.push(make("p", { class: "note" }, (this.map ? "Roads of " + this.map.source + ", lines true to " + this.map.tolerance + " m. " : "No road tiles were given. ") + "navbus " + this.data.version));
    return out;
  }

  // The current time.

  /** Returns the time in the page's address, ms; null without one. */
  linkedMoment() {
    const moment = /[#&]t=(\d+(\.\d+)?)/.exec(location.hash);
    return moment && Number(moment[1]) * 1000;
  }

  seek(t, isPlaying) {
    if (this.following && !isPlaying) this.following.isAtEnd = t >= this.duration - 200;
    this.t = Math.max(0, Math.min(this.duration, t));
    this.view.seek(this.t, isPlaying);
    this.plots.seek(this.t, isPlaying);
    this.timeline.seek(this.t, this.readout());
    $("clock").textContent = clockText(this.t) + " / " + clockText(this.duration);
    this.mark();
  }

  /** Marks the row of the current time. */
  mark() {
    let found = null;
    for (const row of this.rows) if (row.t <= this.t + 1 && (!found || row.t >= found.t)) found = row;
    if (found === this.active) return;
    if (this.active) this.active.button.removeAttribute("aria-current");
    this.active = found;
    if (!found) return;
    found.button.setAttribute("aria-current", "true");
    const list = $("list"), top = found.button.offsetTop - list.offsetTop;
    if (list.scrollHeight > list.clientHeight && (top < list.scrollTop || top + found.button.offsetHeight > list.scrollTop + list.clientHeight)) list.scrollTop = top - list.clientHeight / 3;
  }

  /** Shows speed, road and remaining distance of each vehicle on the map; returns them as text for screen readers. */
  readout() {
    $("readout").replaceChildren();
    return this.runs.map((run) => this.describe(run)).filter(Boolean).join("; ");
  }

  describe(run) {
    const at = vehicleAt(run, this.t), words = [], isDouble = this.runs.length > 1;
    if (!at) return "";
    const box = make("div", { class: "run" + run.letter });
    const table = at.table, p = run.positions, i = at.i;
    const speed = table.speed ? table.speed[i] : null, limit = table.limit ? table.limit[i] : null, flags = table.flags ? table.flags[i] : 0;
    const kmh = (v) => Math.round(v * 0.036);
    const top = make("div", { class: "speedline" });
    if (speed !== null && speed !== undefined) top.append(make("b", { class: limit && speed > limit * 1.05 + 80 ? "speed over" : "speed" }, String(kmh(speed))), make("span", { class: "unit" }, "km/h"));
    if (top.childNodes.length) words.push(kmh(speed) + " km/h");
    if (isDouble) top.prepend(make("b", { class: "which" }, run.letter));
    if (limit) words.push("limit " + kmh(limit));
    if (limit) top.append(make("span", { class: "limitsign" }, String(kmh(limit)))); else if (flags & UNLIMITED) top.append(make("span", { class: "limitsign none" }, "∕"));
    const j = before(run.progress.t, this.t), q = run.progress, isFresh = j >= 0 && this.t - q.t[j] < GAP;
    const deviation = isFresh ? q.deviation[j] : 0;
    const stand = deviation > 0 ? DEVIATION[deviation] : flags & PREDICTED ? "predicted" : "";
    if (stand) top.append(make("span", { class: "badge " + (deviation > 0 ? "stand" + deviation : stand) }, stand));
    if (top.childNodes.length) box.append(top);
    const road = table.road && table.road[i] !== null ? run.roads[table.road[i]] : null;
    if (road) box.append(make("div", { class: "road" }, road));
    const details = [];
    if (isFresh && q.remaining[j] !== null) details.push(metres(q.remaining[j]) + " to go");
    if (isFresh && q.left[j] !== null) details.push(durationText(q.left[j] / 10));
    if (p.along && table === p && p.along[i] !== null) details.push("σ " + (p.along[i] / 100).toFixed(1) + " × " + (p.cross[i] === null ? "–" : (p.cross[i] / 100).toFixed(1)) + " m");
    if (details.length) box.append(make("div", { class: "details" }, details.join(" · ")));
    words.push(stand, road, ...details.filter((text) => !text.startsWith("σ")));
    const past = run.instructions.filter((item) => item.t <= this.t + 1), last = past[past.length - 1];
    if (last && this.t - last.t < 12000) {
      box.append(make("div", { class: "saying" }, maneuverIcon(last.type, last.modifier), last.text));
      words.push(last.text);
    }
    if (box.childNodes.length) $("readout").append(box);
    const text = words.filter(Boolean).join(", ");
    return isDouble && text ? run.letter + ": " + text : text;
  }

  // Playing.

  play(on = !this.isPlaying) {
    // A live drive needs no playback: the button jumps to the present.
    if (this.following) return this.seek(this.duration);
    this.isPlaying = on;
    $("play").setAttribute("aria-label", on ? "Pause" : "Play");
    $("play").querySelector("path").setAttribute("d", on ? "M6.5 4.5h4v15h-4ZM13.5 4.5h4v15h-4Z" : "M7 4.5v15l12-7.5Z");
    if (!on) return;
    if (this.t >= this.duration - 1) this.seek(0); else this.view.keepInView(false);
    let last = performance.now();
    const step = (now) => {
      if (!this.isPlaying) return;
      this.seek(this.t + (now - last) * this.rate, true);
      last = now;
      if (this.t >= this.duration) this.play(false); else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  nextRate() {
    const rates = [1, 2, 5, 10, 30, 60];
    this.rate = rates[(rates.indexOf(this.rate) + 1) % rates.length];
    $("rate").textContent = this.rate + "×";
    $("rate").setAttribute("aria-label", "Playback rate " + this.rate + "×");
  }

  /** Seeks to the next or the previous event or instruction. */
  jump(step) {
    const times = [...new Set(this.runs.flatMap((run) => [...run.instructions, ...run.events.filter(weight)].map((e) => e.t)))].sort((a, b) => a - b);
    const t = step > 0 ? times.find((x) => x > this.t + 1) : times.filter((x) => x < this.t - 1).pop();
    if (t !== undefined) this.seek(t);
  }

  theme() {
    const root = document.documentElement, isDark = getComputedStyle(root).getPropertyValue("--dark").trim() === "1";
    root.dataset.theme = isDark ? "light" : "dark";
    this.view.restyle();
  }

  help() {
    const keys = [["Space", "play, pause"], ["← →", "1 s back, on; with Shift 10 s"], ["Home End", "start, end"], ["N P", "next event, the one before"], ["R", "playback rate"],
      ["+ −", "zoom the map"], ["W A S D", "move the map"], ["F", "show the whole drive"], ["C", "follow the vehicle"], ["Z X", "zoom the plots; also Shift and the wheel"], ["T", "light or dark"], ["?", "this help"]];
    const list = make("dl", { class: "keys" });
    for (const [key, text] of keys) list.append(make("dt", {}, ...key.split(" ").flatMap((k) => [make("kbd", {}, k), " "])), make("dd", {}, text));
    const legend = make("ul", { class: "legendlist" });
    for (const [name, text] of [["traceA", "matched position"], ["predictedline", "predicted position"], ["offline", "off route"], ["routeline", "route in force"], ["oldroute", "earlier or later route"], ["fixdot", "fix as received"], ["rejecteddot", "fix that was rejected"], ["ellipse", "one standard deviation"], ...(this.runs.length > 1 ? [["traceB", "run B"], ["fixdot fixB", "fix of run B, below those of A"], ["rejecteddot rejectedB", "fix that run B rejected"], ["apartline", "runs more than 10 m apart"]] : [])]) legend.append(make("li", {}, make("i", { class: name }), text));
    $("helptext").replaceChildren(list, legend);
    $("help").showModal();
  }

  listen() {
    $("play").addEventListener("click", () => this.play());
    $("rate").addEventListener("click", () => this.nextRate());
    $("theme").addEventListener("click", () => this.theme());
    $("ask").addEventListener("click", () => this.help());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.view.restyle());
    addEventListener("hashchange", () => { const t = this.linkedMoment(); if (t !== null) this.seek(t); });
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
      const isControl = event.target.closest && event.target.closest("button,input,summary,a");
      const keys = {
        " ": () => this.play(), ArrowLeft: () => this.seek(this.t - (event.shiftKey ? 10000 : 1000)), ArrowRight: () => this.seek(this.t + (event.shiftKey ? 10000 : 1000)),
        Home: () => this.seek(0), End: () => this.seek(this.duration), n: () => this.jump(1), p: () => this.jump(-1), r: () => this.nextRate(),
        "+": () => this.view.zoom(1.6), "=": () => this.view.zoom(1.6), "-": () => this.view.zoom(1 / 1.6), f: () => this.view.command("fit"), c: () => this.view.command("follow"),
        w: () => this.view.pan(0, -1), a: () => this.view.pan(-1, 0), s: () => this.view.pan(0, 1), d: () => this.view.pan(1, 0),
        z: () => this.plots.zoom(0.5), x: () => this.plots.zoom(2), t: () => this.theme(), "?": () => this.help(),
      };
      const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action || (isControl && event.key === " ")) return;
      event.preventDefault();
      action();
    });
  }
}

let page;
function begin() {
  page = new Page(JSON.parse($("data").textContent));
  takeSteps(page.open());
}
// The script starts after the browser has painted the text of the page. A hidden page is never painted.
if (document.hidden) setTimeout(begin); else requestAnimationFrame(() => setTimeout(begin));
