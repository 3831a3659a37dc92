// The time line: a row for each lane, a bar for each crossing. It is drawn on a canvas, which shows only what is in sight.

const LANE = 24;
const LABEL = 130;
const AXIS = 20;

class Timeline {
  /** @param choose called with a crossing that was clicked */
  constructor(side, choose) {
    this.side = side;
    this.choose = choose;
    const lanes = new Map();
    for (let at = 0; at < side.size; at++) {
      const lane = side.columns.lane[at];
      if (!lanes.has(lane)) lanes.set(lane, []);
      lanes.get(lane).push(at);
    }
    this.lanes = [...lanes].map(([lane, list]) => ({ name: INDEX.names[lane], list }));
    this.from = side.begin;
    this.to = side.end;
    this.selected = -1;
    this.canvas = h("canvas", { role: "img", "aria-label": `time line of ${countText(this.lanes.length, "lane")}; the tree has the same crossings` });
    this.space = h("div", { class: "timeline-space" }, this.canvas);
    this.box = h("div", { class: "timeline-box", tabindex: "0", role: "group", "aria-label": "time line" }, this.space);
    const button = (label, title, act) => h("button", { type: "button", title, "aria-label": title, onclick: act }, label);
    this.element = h("div", { class: "timeline" },
      h("div", { class: "tools" }, button("+", "zoom in", () => this.zoom(0.5)), button("−", "zoom out", () => this.zoom(2)), button("all", "show the whole run", () => this.zoom(Infinity))), this.box);
    this.box.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      if (event.ctrlKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX)); else this.shift((event.deltaY || event.deltaX) / 500);
    }, { passive: false });
    this.canvas.addEventListener("click", (event) => { const at = this.crossingAt(event.offsetX, event.offsetY); if (at >= 0) this.choose(at); });
    this.canvas.addEventListener("mousemove", (event) => {
      const at = this.crossingAt(event.offsetX, event.offsetY);
      this.canvas.title = at < 0 ? "" : `${side.address(at)}, ${durationText(side.columns.duration[at])}`;
    });
    new ResizeObserver(() => this.schedule()).observe(this.box);
  }

  key(event) {
    const acts = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), ArrowLeft: () => this.shift(-0.2), ArrowRight: () => this.shift(0.2) };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  }

  timeAt(x) { return this.from + ((x - LABEL) / (this.width - LABEL)) * (this.to - this.from); }

  zoom(factor, around = (this.from + this.to) / 2) {
    const { begin, end } = this.side;
    const span = Math.min(end - begin, Math.max(10, (this.to - this.from) * factor));
    this.from = Math.max(begin, Math.min(end - span, around - span / 2));
    this.to = this.from + span;
    this.schedule();
  }

  shift(part) {
    const span = this.to - this.from;
    this.from = Math.max(this.side.begin, Math.min(this.side.end - span, this.from + part * span));
    this.to = this.from + span;
    this.schedule();
  }

  /** Select a crossing, and move its time and its lane into sight. */
  select(at) {
    this.selected = at;
    if (at < 0) return this.schedule();
    const { started, duration, lane } = this.side.columns;
    if (started[at] > this.to || started[at] + duration[at] < this.from) this.shift((started[at] - (this.from + this.to) / 2) / (this.to - this.from));
    const row = this.lanes.findIndex((each) => each.name === INDEX.names[lane[at]]);
    const top = row * LANE;
    if (top < this.box.scrollTop || top + LANE + AXIS > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top - this.box.clientHeight / 2;
    return this.schedule();
  }

  crossingAt(x, y) {
    const lane = this.lanes[Math.floor((y - AXIS + this.box.scrollTop) / LANE)];
    if (!lane || x < LABEL || y < AXIS) return -1;
    const reach = ((this.to - this.from) / (this.width - LABEL)) * 3;
    const time = this.timeAt(x);
    const { started, duration } = this.side.columns;
    let best = -1;
    for (const at of lane.list) {
      if (started[at] > time + reach) break;
      // The innermost one starts last.
      if (started[at] + duration[at] >= time - reach) best = at;
    }
    return best;
  }

  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const scale = window.devicePixelRatio || 1;
    const width = this.box.clientWidth;
    const height = this.box.clientHeight;
    if (!width || !height) return;
    this.width = width;
    this.space.style.height = `${this.lanes.length * LANE + AXIS + 4}px`;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const styles = getComputedStyle(document.documentElement);
    const colour = (name) => styles.getPropertyValue(`--${name}`).trim();
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const scaleX = (width - LABEL) / (this.to - this.from);
    const first = Math.floor(this.box.scrollTop / LANE);
    const last = Math.min(this.lanes.length, Math.ceil((this.box.scrollTop + height) / LANE));
    const colours = { model: colour("model"), tool: colour("tool"), router: colour("router"), ambient: colour("ambient") };
    const { started, duration } = this.side.columns;
    for (let row = first; row < last; row++) {
      const y = row * LANE - this.box.scrollTop + AXIS;
      const lane = this.lanes[row];
      context.fillStyle = colour("line");
      context.fillRect(0, y + LANE - 1, width, 1);
      let drawnTo = -1;
      for (const at of lane.list) {
        if (started[at] > this.to) break;
        const end = started[at] + duration[at];
        if (end < this.from) continue;
        // Whole pixels, so that of many short crossings one is drawn for each pixel.
        const x = LABEL + Math.max(0, Math.floor((started[at] - this.from) * scaleX));
        const right = Math.max(x + 2, LABEL + Math.ceil((end - this.from) * scaleX));
        if (right <= drawnTo && at !== this.selected && right - x < 3) continue; // nothing of it could be seen
        drawnTo = Math.max(drawnTo, right);
        const failed = this.side.status(at) === "raised" || this.side.status(at) === "failed";
        const inner = this.side.columns.parent[at] >= 0 ? 4 : 0;
        context.fillStyle = at === this.selected ? colour("accent") : failed ? colour("bad") : colours[this.side.kind(at)] || colour("tool");
        context.fillRect(x, y + 4 + inner, Math.min(right, width) - x, LANE - 9 - inner);
        if (right - x > 60) {
          context.fillStyle = colour("on-bar");
          context.save();
          context.beginPath();
          context.rect(x, y, right - x - 4, LANE);
          context.clip();
          context.fillText(oneLine(this.side.name(at), 60), x + 5, y + LANE / 2 + inner / 2);
          context.restore();
        }
      }
      context.fillStyle = colour("back");
      context.fillRect(0, y, LABEL, LANE - 1);
      context.fillStyle = colour("text");
      context.fillText(fitted(context, lane.name === "0" ? "main" : lane.name, LABEL - 12), 6, y + LANE / 2);
    }
    this.axis(context, width, colour);
  }

  axis(context, width, colour) {
    context.fillStyle = colour("back");
    context.fillRect(0, 0, width, AXIS);
    context.fillStyle = colour("muted");
    const step = niceStep((this.to - this.from) / Math.max(1, (width - LABEL) / 110));
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = LABEL + ((time - this.from) * (width - LABEL)) / (this.to - this.from);
      context.fillRect(x, 0, 1, AXIS);
      context.fillText(durationText(Math.round(time)), x + 4, AXIS / 2);
    }
  }
}

/** Return a round number of microseconds that is at least as long. */
function niceStep(least) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= least);
}

function fitted(context, text, room) {
  let shown = oneLine(text, 60);
  if (context.measureText(shown).width <= room) return shown;
  while (shown.length > 1 && context.measureText(`…${shown}`).width > room) shown = shown.slice(1);
  return `…${shown}`;
}
