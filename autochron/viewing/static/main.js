// The page: a head, filters, the list on the left, and the panel of what is selected on the right.

const PAIRED = INDEX.kind !== "trace";
const KEYS = [
  ["↑ ↓ Home End", "move"], ["← →", "close or open what is inside"], ["Enter", "go to the details"], ["Esc", "go back to the list"],
  ["/", "search"], ["n, p", PAIRED ? "next or previous difference" : "next or previous failure"], ["v", "tree or time line"], ["t", "dark or light"], ["?", "this list"],
];

class Page {
  constructor(root) {
    this.side = SIDES[0];
    this.rows = PAIRED ? null : new TreeRows(this.side);
    this.filters = { text: "", kind: "", name: "", lane: "", status: "", differing: false };
    this.matches = null;
    this.list = new VirtualList(PAIRED ? "crossings of both sides" : "crossings", PAIRED ? "listbox" : "tree",
      (row, item, isSelected, at) => (PAIRED ? this.drawPair(row, item, isSelected, at) : this.drawRow(row, item, isSelected, at)),
      (at, event) => this.choose(at, event), (event) => this.listKey(event));
    this.list.element.id = "list";
    this.panel = h("div", { id: "panel", tabindex: "-1", role: "region", "aria-label": "details" });
    this.status = h("p", { id: "count", role: "status" });
    this.depths = PAIRED ? pairDepths() : null;
    fill(root, this.head(), this.main());
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.followHash());
    this.refresh();
    this.start();
  }

  // --- head --------------------------------------------------------------------------------------------------------

  head() {
    const verdict = INDEX.verdict && h("p", { class: INDEX.same ? "verdict same" : "verdict differs", id: "verdict" }, visible(INDEX.verdict));
    const cut = INDEX.cut > 0 && h("p", { class: "note" }, `${countText(INDEX.cut, "large value")} left out, because the page is full. autochron traces show has them.`);
    const run = this.side.run;
    const ended = !PAIRED && !run.complete && h("p", { class: "note" }, "The run was cut off before its end.");
    this.theme = h("button", { type: "button", id: "theme", onclick: () => this.switchTheme() }, "dark or light");
    const help = h("dialog", { id: "help", "aria-label": "keys" }, h("h2", {}, "Keys"),
      h("dl", { class: "facts" }, KEYS.map(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])),
      h("form", { method: "dialog" }, h("button", {}, "close")));
    this.help = help;
    return h("header", {}, h("div", { class: "titles" }, h("h1", {}, visible(INDEX.title)), verdict, ended, cut),
      h("div", { class: "buttons" }, this.theme, h("button", { type: "button", onclick: () => help.showModal() }, "keys"), help));
  }

  switchTheme() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    if (this.timeline) this.timeline.schedule();
  }

  // --- filters and list --------------------------------------------------------------------------------------------

  main() {
    const option = (name) => h("option", { value: name }, name === "0" ? "main" : oneLine(name, 60));
    const choice = (key, label, names) => {
      if (names.length < 2) return null;
      const select = h("select", { "aria-label": label, onchange: () => { this.filters[key] = select.value; this.refresh(); } }, h("option", { value: "" }, `any ${label}`), names.map(option));
      return select;
    };
    this.search = h("input", { type: "search", id: "search", placeholder: "search names, inputs and outcomes", "aria-label": "search names, inputs and outcomes", autocomplete: "off", spellcheck: "false" });
    let waiting = 0;
    this.search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { this.filters.text = this.search.value; this.refresh(); }, 120); });
    const only = h("input", { type: "checkbox", id: "only", onchange: () => { this.filters.differing = only.checked; this.refresh(); } });
    this.viewButton = PAIRED ? null : h("button", { type: "button", id: "view", "aria-pressed": "false", onclick: () => this.switchView() }, "time line");
    const filters = h("div", { class: "filters", role: "search" }, this.search,
      choice("kind", "kind", namesOf("kind")), choice("name", "name", namesOf("name")), choice("lane", "lane", namesOf("lane")), choice("status", "ending", namesOf("status")),
      PAIRED && h("label", { for: "only" }, only, " only differences"), this.viewButton);
    const run = h("button", { type: "button", class: "run-button", id: "run", onclick: () => this.showRun() }, PAIRED ? "the runs" : "the run");
    this.left = h("div", { class: "left" }, this.list.element);
    return h("main", {}, filters, h("div", { class: "bar" }, this.status, run), h("div", { class: "split" }, this.left, this.panel));
  }

  refresh() {
    const { text, differing } = this.filters;
    const inText = text ? textSearch(text) : null;
    const wanted = ["kind", "name", "lane", "status"].filter((key) => this.filters[key]);
    const lower = text.toLowerCase();
    const fits = (side, at) => wanted.every((key) => side[key](at) === this.filters[key])
      && (!inText || side.address(at).toLowerCase().includes(lower) || side.columns.words[at].toLowerCase().includes(lower) || inText(side, at));
    const isFiltered = Boolean(inText || wanted.length || differing);
    const current = this.current();
    let count = 0;
    if (PAIRED) {
      const items = [];
      INDEX.pairs.forEach((row, at) => {
        if (differing && !isDifferent(row[2])) return;
        if (!isFiltered || [0, 1].some((side) => row[side] >= 0 && fits(SIDES[side], row[side]))) items.push(at);
      });
      count = items.length;
      this.list.selected = items.indexOf(current);
      this.list.set(items);
    } else {
      this.matches = isFiltered ? new Uint8Array(this.side.size) : null;
      for (let at = 0; at < this.side.size; at++) {
        const matches = !isFiltered || fits(this.side, at);
        if (matches) count += 1;
        if (matches && this.matches) this.matches[at] = 1;
      }
      this.setRows(current);
    }
    const all = PAIRED ? INDEX.pairs.length : this.side.size;
    this.status.textContent = isFiltered ? `${count.toLocaleString("en")} of ${countText(all, "crossing")}` : countText(all, "crossing");
  }

  setRows(current) {
    const rows = this.rows.visible(this.matches && ((at) => this.matches[at] === 1));
    this.list.selected = current === null ? -1 : lowerBound(rows, current);
    if (this.list.selected >= rows.length || rows[this.list.selected] !== current) this.list.selected = -1;
    this.list.set(rows);
  }

  current() {
    return this.list.selected < 0 ? null : this.list.items[this.list.selected];
  }

  drawRow(row, item, isSelected, at) {
    const { side, rows } = this;
    const crossing = rows.at[item];
    const inside = rows.hasInside(item);
    const isOpen = inside && (this.matches !== null || !rows.folded.has(item));
    row.className = isSelected ? "row selected" : "row";
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", String(rows.depth[item] + 1));
    row.setAttribute("aria-selected", String(isSelected));
    if (inside) row.setAttribute("aria-expanded", String(isOpen)); else row.removeAttribute("aria-expanded");
    row.setAttribute("aria-setsize", String(this.list.items.length));
    row.setAttribute("aria-posinset", String(at + 1));
    const fold = h("span", { class: inside ? "fold" : "fold none", "aria-hidden": "true" }, inside ? (isOpen ? "▾" : "▸") : "");
    fold.style.marginLeft = `${Math.min(rows.depth[item], 20) * 14}px`;
    if (crossing < 0) {
      fill(row, fold, h("span", { class: "lane" }, `lane ${oneLine(rows.lane[item], 80)}`));
      return;
    }
    const { columns } = side;
    const bar = h("span", { class: `bar ${side.kind(crossing)}` });
    const whole = side.end - side.begin;
    bar.style.left = `${((columns.started[crossing] - side.begin) / whole) * 100}%`;
    bar.style.width = `${Math.max(0.5, (columns.duration[crossing] / whole) * 100)}%`;
    const failed = side.status(crossing) === "raised" || side.status(crossing) === "failed";
    fill(row, fold, h("span", { class: `kind ${side.kind(crossing)}` }, side.kind(crossing)), h("span", { class: "address" }, oneLine(side.address(crossing), 80)),
      columns.marks[crossing] && h("span", { class: failed ? "marks bad" : "marks" }, oneLine(columns.marks[crossing], 80)),
      h("span", { class: "words" }, visible(columns.words[crossing])), h("span", { class: "took" }, durationText(columns.duration[crossing])),
      h("span", { class: "bars", "aria-hidden": "true" }, bar));
  }

  drawPair(row, item, isSelected, at) {
    const [first, second, differences] = INDEX.pairs[item];
    const isRun = first < 0 && second < 0; // of the run as a whole, or of a crossing that was refused
    const side = first < 0 ? SIDES[1] : SIDES[0];
    const crossing = first < 0 ? second : first;
    const gravest = gravestOf(differences);
    const [sign, words] = isRun ? ["≠", "differs"] : isNotRun(INDEX.pairs[item]) ? ["·", "not run: inside of a served crossing"] : first < 0 ? ["+", `only the ${SIDES[1].run.title}`] : second < 0 ? ["−", `only the ${SIDES[0].run.title}`]
      : isDifferent(differences) ? ["≠", "differs"] : ["=", "no difference found"];
    row.className = `row pair${isSelected ? " selected" : ""}${gravest ? ` ${gravest}` : ""}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(isSelected));
    row.setAttribute("aria-setsize", String(this.list.items.length));
    row.setAttribute("aria-posinset", String(at + 1));
    const mark = h("span", { class: "sign", title: words }, sign, h("span", { class: "offscreen" }, words));
    mark.style.marginRight = `${Math.min(this.depths[item], 20) * 14}px`;
    const mode = second >= 0 && !["recorded", "served"].includes(SIDES[1].mode(second)) && h("span", { class: "tag" }, SIDES[1].mode(second));
    const text = (each, where) => h("span", { class: "words" }, where < 0 ? "" : visible(each.columns.words[where]));
    const tag = item === firstDifference() && h("span", { class: gravest === "error" ? "tag first bad" : "tag first" }, "first difference");
    if (isRun) {
      fill(row, mark, h("span", { class: "address" }, oneLine(differences[0].address, 60)), tag, h("span", { class: "words" }, oneLine(differences[0].message, 200)));
      return;
    }
    const isSame = first >= 0 && second >= 0 && SIDES[0].columns.words[first] === SIDES[1].columns.words[second];
    fill(row, mark, h("span", { class: `kind ${side.kind(crossing)}` }, side.kind(crossing)), h("span", { class: "address" }, oneLine(side.address(crossing), 60)), mode,
      gravest === "notice" && !isNotRun(INDEX.pairs[item]) && h("span", { class: "tag" }, "note"), tag,
      text(SIDES[0], first), isSame ? null : text(SIDES[1], second));
  }

  // --- selecting ---------------------------------------------------------------------------------------------------

  choose(at, event) {
    const item = this.list.items[at];
    this.list.select(at);
    if (!PAIRED && event && event.type === "click" && event.target.closest(".fold, .lane") && this.rows.hasInside(item)) this.toggle(item);
    this.show(item);
  }

  show(item) {
    document.body.classList.add("chosen");
    if (PAIRED) {
      const row = INDEX.pairs[item];
      const side = row[0] < 0 ? 1 : 0;
      const openers = [0, 1].map((each) => (at) => this.open(each, at));
      if (row[side] < 0) { this.panelOf(plainText(row[2][0].address), () => pairView(row, openers)); return; }
      this.panelOf(SIDES[side].address(row[side]), () => pairView(row, openers), () => SIDES[side].line(row[side]));
      this.setHash(`${side ? "second/" : ""}${SIDES[side].address(row[side])}`);
      return;
    }
    const crossing = this.rows.at[item];
    if (crossing < 0) {
      this.panelOf(`lane ${this.rows.lane[item]}`, () => h("p", {}, countText(this.rows.last[item] - item - 1, "row"), " in this lane, and below."));
      return;
    }
    this.panelOf(this.side.address(crossing), () => crossingView(this.side, crossing, (at) => this.open(0, at)), () => this.side.line(crossing));
    if (this.timeline) this.timeline.select(crossing);
    this.setHash(this.side.address(crossing));
  }

  /**
   * Fill the panel.
   * @param title what it shows
   * @param draw returns the content
   * @param raw returns the text that is shown where the content can't be drawn
   */
  panelOf(title, draw, raw = () => "") {
    let content = null;
    try {
      content = draw();
    } catch (error) {
      content = h("div", {}, h("p", { class: "note" }, `This can't be drawn (${oneLine(String(error), 120)}). Its data:`), h("pre", { tabindex: "0" }, visible(raw())));
    }
    fill(this.panel, h("div", { class: "panel-head" }, h("h2", {}, oneLine(title, 120)),
      h("button", { type: "button", class: "back", onclick: () => this.back() }, "back to the list")), content);
    this.panel.scrollTop = 0;
    if (getComputedStyle(this.left).display === "none") this.panel.querySelector(".back").focus();
  }

  back() {
    document.body.classList.remove("chosen");
    this.list.element.focus();
  }

  /** Show a crossing of a side, wherever it is in the list. */
  open(side, at) {
    if (PAIRED) return this.goTo(INDEX.pairs.findIndex((row) => row[side] === at));
    this.rows.reveal(this.rows.rowOf[at]);
    return this.goTo(this.rows.rowOf[at]);
  }

  goTo(item) {
    if (item < 0) return;
    if (!PAIRED) this.setRows(this.current());
    let at = this.list.items.indexOf(item);
    if (at < 0) { this.clearFilters(); at = this.list.items.indexOf(item); }
    this.list.select(at);
    this.show(item);
  }

  clearFilters() {
    this.search.value = "";
    for (const select of document.querySelectorAll(".filters select")) select.value = "";
    const only = document.getElementById("only");
    if (only) only.checked = false;
    this.filters = { text: "", kind: "", name: "", lane: "", status: "", differing: false };
    this.refresh();
  }

  toggle(item) {
    if (this.rows.folded.has(item)) this.rows.folded.delete(item); else this.rows.folded.add(item);
    this.setRows(item);
  }

  setHash(address) {
    const hash = `#${encodeURIComponent(address)}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
  }

  followHash() {
    let address = "";
    try { address = decodeURIComponent(location.hash.slice(1)); } catch { return false; }
    if (!address) return false;
    const isSecond = PAIRED && address.startsWith("second/");
    if (isSecond) address = address.slice("second/".length);
    for (const [number, side] of SIDES.entries()) {
      if (isSecond && number === 0) continue;
      for (let at = 0; at < side.size; at++) if (side.address(at) === address) { this.open(number, at); return true; }
    }
    return false;
  }

  start() {
    if (this.followHash()) return;
    const first = PAIRED ? firstToSee() : -1;
    if (first >= 0) this.goTo(first); else this.showRun();
    document.body.classList.remove("chosen");
  }

  showRun() {
    document.body.classList.add("chosen");
    const find = (file) => { this.search.value = file; this.filters.text = file; this.refresh(); };
    this.panelOf(PAIRED ? "The runs" : "The run", () => h("div", {},
      PAIRED ? h("div", { class: "beside" }, SIDES.map((side) => h("div", {}, h("h3", {}, side.run.title), runView(side, find)))) : runView(this.side, find)));
  }

  switchView() {
    const isTime = this.viewButton.getAttribute("aria-pressed") !== "true";
    this.viewButton.setAttribute("aria-pressed", String(isTime));
    if (isTime && !this.timeline) this.timeline = new Timeline(this.side, (at) => this.open(0, at));
    fill(this.left, isTime ? this.timeline.element : this.list.element);
    if (isTime) {
      const item = this.current();
      this.timeline.select(item === null ? -1 : this.rows.at[item]);
    } else this.list.render(true);
  }

  // --- keys --------------------------------------------------------------------------------------------------------

  listKey(event) {
    const item = this.current();
    if (event.key === "Enter") { event.preventDefault(); this.panel.focus(); return; }
    if (PAIRED || item === null || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    const { rows } = this;
    const isOpen = rows.hasInside(item) && !rows.folded.has(item);
    if (event.key === "ArrowRight") {
      if (rows.hasInside(item) && !isOpen) this.toggle(item);
      else if (isOpen && this.list.selected + 1 < this.list.items.length) this.choose(this.list.selected + 1, event);
    } else if (isOpen && this.matches === null) this.toggle(item);
    else {
      let above = this.list.selected - 1;
      while (above >= 0 && rows.depth[this.list.items[above]] >= rows.depth[item]) above -= 1;
      if (above >= 0) this.choose(above, event);
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") { event.preventDefault(); if (isTyping && this.search.value) { this.clearFilters(); } this.back(); return; }
    if (isTyping) { if (event.key === "Enter" && this.list.items.length) this.list.element.focus(); return; }
    const acts = { "/": () => this.search.focus(), "?": () => this.help.showModal(), t: () => this.switchTheme(), v: () => !PAIRED && this.switchView(), n: () => this.step(1), p: () => this.step(-1) };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  }

  /** Go to the next row that differs or failed. */
  step(direction) {
    const isMarked = (item) => {
      if (PAIRED) return isDifferent(INDEX.pairs[item][2]);
      const crossing = this.rows.at[item];
      return crossing >= 0 && ["raised", "failed", "abandoned"].includes(this.side.status(crossing));
    };
    const from = this.list.selected < 0 && direction < 0 ? this.list.items.length : this.list.selected;
    for (let at = from + direction; at >= 0 && at < this.list.items.length; at += direction) {
      if (isMarked(this.list.items[at])) { this.list.select(at); this.show(this.list.items[at]); return; }
    }
  }
}

function namesOf(key) {
  const numbers = new Set();
  for (const side of SIDES) for (const number of side.columns[key]) numbers.add(number);
  return [...numbers].map((number) => INDEX.names[number]).sort();
}

function gravestOf(differences) {
  return ["error", "warning", "consequence", "notice"].find((severity) => (differences || []).some((each) => each.severity === severity)) || "";
}

let knownFirst = null;
/** Return the row of the first error; without errors, of the first other difference that is more than a note. */
function firstDifference() {
  if (knownFirst === null) {
    const severities = INDEX.pairs.map((row) => gravestOf(row[2]));
    knownFirst = severities.indexOf("error");
    if (knownFirst < 0) knownFirst = severities.findIndex((severity) => severity === "warning" || severity === "consequence");
  }
  return knownFirst;
}

/** Return whether there is a difference that is more than a note. */
function isDifferent(differences) {
  return !["", "notice"].includes(gravestOf(differences));
}

/** Return the row of the first difference; without one, of what ran live first. */
function firstToSee() {
  const first = firstDifference();
  return first >= 0 ? first : INDEX.pairs.findIndex((row) => row[1] >= 0 && SIDES[1].mode(row[1]) === "live");
}

/** Return how deep each pair is in the tree. */
function pairDepths() {
  const depths = SIDES.map((side) => {
    const known = new Int32Array(side.size);
    for (let at = 0; at < side.size; at++) known[at] = side.columns.parent[at] < 0 ? 0 : known[side.columns.parent[at]] + 1;
    return known;
  });
  return INDEX.pairs.map((row) => (row[0] >= 0 ? depths[0][row[0]] : row[1] >= 0 ? depths[1][row[1]] : 0));
}

function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

window.viewer = new Page(document.getElementById("root"));
