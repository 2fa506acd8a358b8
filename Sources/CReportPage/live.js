"use strict";
// An ongoing drive: updates arrive as server-sent events and are appended.

class Live {
  constructor(page) {
    this.page = page;
    this.sequence = page.data.live;
    this.map = 0;
    this.isAtEnd = true;
    this.interval = 400;
    $("play").setAttribute("aria-label", "Go to the present");
    $("play").title = "Go to the present (space)";
    $("play").querySelector("path").setAttribute("d", "M6 4.5v15l10-7.5ZM16.5 4.5h3v15h-3Z");
    $("rate").hidden = true;
    this.connect();
  }

  connect() {
    this.show("connecting");
    const source = new EventSource("news?after=" + this.sequence);
    source.onopen = () => this.show("live");
    // The next connection requests the missed updates.
    source.onerror = () => { source.close(); this.show("connection lost"); setTimeout(() => this.connect(), 1000); };
    source.onmessage = (event) => this.take(JSON.parse(event.data));
    source.addEventListener("reset", () => { source.close(); location.reload(); });
  }

  show(state) {
    this.state = state;
    document.documentElement.dataset.live = state;
    const run = this.page.runs[0];
    $("when").textContent = state + (track(run).t.length ? " · " + dateText(run.start + this.page.duration) : " · no position yet");
  }

  take(batch) {
    if (batch.sequence <= this.sequence) return;
    this.sequence = batch.sequence;
    const page = this.page;
    if (batch.nodes) {
      page.nodes = batch.nodes;
      if (page.list === "nodes") page.refreshList();
    }
    if (batch.map !== this.map) {
      this.map = batch.map;
      fetch("map").then((answer) => answer.json()).then((map) => { page.map = map; finish(page.view.setMap(map)); }).catch(() => { this.map = -1; });
    }
    if (batch.figures) this.showFigures(batch.figures);
    if (!batch.run) return;
    this.append(page.runs[0], batch.run);
    if (!this.timer) this.timer = setTimeout(() => this.redraw(), this.interval);
  }

  /** Shows the key figures of the drive. */
  showFigures(figures) {
    $("facts").firstElementChild.replaceChildren(...figures.map(({ name, value, more }) => (
      make("div", {}, make("dt", {}, name), make("dd", {}, value, more ? make("small", {}, more) : "")))));
  }

  append(run, document_) {
    const count = track(run).t.length, isFirst = !count, news = finish(prepare(document_, 0));
    // The server keeps less of a long drive than this page has received.
    if (count > 100000 || run.events.length > 10000) location.reload();
    // Each batch has its own numbering of names.
    const numbered = (column, names, known) => {
      const numbers = names.map((name) => {
        if (!known.includes(name)) known.push(name);
        return known.indexOf(name);
      });
      return column.map((number) => (number === null ? null : numbers[number]));
    };
    news.positions.road = numbered(news.positions.road, news.roads, run.roads);
    news.fixes.receiver = numbered(news.fixes.receiver, news.receivers, run.receivers);
    // Fixes derived from positions are used only when no receiver publishes on the bus.
    if (!document_.fixes.rows && run.fixes.messages) news.fixes.t.length = 0;
    if (isFirst) {
      const place = track(news);
      if (place.t.length) centreOn(place.lat[0] * 1e-6, place.lon[0] * 1e-6);
    }
    for (const table of [news.fixes, news.positions, news.rejected, ...news.routes]) project(table);
    const push = (to, from) => {
      for (const name of Object.keys(from)) if (Array.isArray(from[name])) to[name] = (to[name] || []).concat(from[name].slice(0, from.t.length));
      to.messages += from.messages; to.rows = to.t.length;
    };
    for (const name of ["fixes", "positions", "progress", "rejected"]) push(run[name], news[name]);
    run.traces = tracesOf(run);
    for (const latency of news.latencies) {
      const known = run.latencies.find((l) => l.name === latency.name);
      if (known) push(known, latency); else run.latencies.push(latency);
    }
    for (const route of news.routes) {
      const last = run.routes[run.routes.length - 1];
      if (!last || last.lat.join() !== route.lat.join()) run.routes.push(route);
    }
    for (const node of news.nodes) {
      const known = run.nodes.find((n) => n.name === node.name);
      if (!known) { run.nodes.push(node); continue; }
      for (const state of node.states) {
        const last = known.states[known.states.length - 1];
        if (last.state !== state.state || last.reason !== state.reason) known.states.push(state);
      }
    }
    run.events.push(...news.events);
    run.instructions.push(...news.instructions);
    run.arrivals.push(...news.arrivals);
    run.duration = Math.max(run.duration, news.duration);
    if (isFirst && track(run).t.length) {
      for (const route of run.routes) { project(route); route.d = null; }
      finish(this.page.view.setMap(this.page.map));
      this.page.view.isFitted = true;
    }
  }

  redraw() {
    const began = performance.now();
    const page = this.page, old = page.duration, plots = page.plots, view = page.view, isFitted = view.isFitted;
    this.timer = 0;
    page.duration = Math.max(old, page.runs[0].duration);
    if (plots.window[1] >= old - 1) {
      const span = plots.window[0] > 0 ? plots.window[1] - plots.window[0] : page.duration;
      plots.window = [page.duration - span, page.duration];
    }
    finish(view.buildPaths());
    plots.build();
    plots.draw();
    page.timeline.draw();
    page.tabs(true);
    if (isFitted) view.fit(); else view.changed();
    page.seek(this.isAtEnd ? page.duration : page.t, true);
    this.show(this.state);
    // Drawing takes at most a tenth of the time, also for a long drive.
    this.interval = Math.max(400, 10 * (performance.now() - began));
  }
}
