// The rows of the tree, and a list that draws only the rows that can be seen.

const ROW = 26;

/** The rows of one side: crossings below what encloses them, with a row for each lane that was started there. */
class TreeRows {
  constructor(side) {
    this.side = side;
    const inside = new Map();
    const parents = side.columns.parent;
    for (let at = 0; at < side.size; at++) {
      const list = inside.get(parents[at]);
      if (list) list.push(at); else inside.set(parents[at], [at]);
    }
    this.at = []; // a crossing, or -1 for a lane
    this.depth = [];
    this.lane = [];
    this.last = []; // the row after the last one inside this row
    this.rowOf = new Int32Array(side.size);
    const walk = [{ list: this.groups(inside.get(-1) || [], null), next: 0, depth: 0, row: -1 }];
    while (walk.length) {
      const top = walk[walk.length - 1];
      if (top.next === top.list.length) {
        if (top.row >= 0) this.last[top.row] = this.at.length;
        walk.pop();
        continue;
      }
      const item = top.list[top.next++];
      const row = this.at.length;
      this.depth.push(top.depth);
      this.last.push(row + 1);
      if (typeof item === "number") {
        this.at.push(item);
        this.lane.push(null);
        this.rowOf[item] = row;
        const children = inside.get(item);
        if (children) walk.push({ list: this.groups(children, side.columns.lane[item]), next: 0, depth: top.depth + 1, row });
      } else {
        this.at.push(-1);
        this.lane.push(item.lane);
        walk.push({ list: item.list, next: 0, depth: top.depth + 1, row });
      }
    }
    this.folded = new Set();
  }

  /** Return the crossings of the enclosing crossing's lane, and groups of those of other lanes, in order of start. */
  groups(list, lane) {
    const lanes = this.side.columns.lane;
    const main = lane === null ? INDEX.names.indexOf("0") : lane;
    if (list.every((at) => lanes[at] === main)) return list;
    const result = [];
    const known = new Map();
    for (const at of list) {
      if (lanes[at] === main) { result.push(at); continue; }
      if (!known.has(lanes[at])) {
        const group = { lane: INDEX.names[lanes[at]], list: [] };
        known.set(lanes[at], group);
        result.push(group);
      }
      known.get(lanes[at]).list.push(at);
    }
    return result;
  }

  get length() { return this.at.length; }
  hasInside(row) { return this.last[row] > row + 1; }

  /** Return the rows to show: all but folded ones, or those that match with all that encloses them. */
  visible(matches) {
    const rows = [];
    if (matches === null) {
      for (let row = 0; row < this.at.length; row++) {
        rows.push(row);
        if (this.folded.has(row)) row = this.last[row] - 1;
      }
      return rows;
    }
    const above = [];
    for (let row = 0; row < this.at.length; row++) {
      above.length = Math.min(above.length, this.depth[row]);
      above[this.depth[row]] = row;
      if (this.at[row] >= 0 && matches(this.at[row])) {
        for (const each of above) if (!rows.length || each > rows[rows.length - 1]) rows.push(each);
      }
    }
    return rows;
  }

  /** Open all that encloses a row. */
  reveal(row) {
    for (const each of [...this.folded]) if (each < row && row < this.last[each]) this.folded.delete(each);
  }
}

/** A list of rows of one height, of which those in sight are elements. */
class VirtualList {
  /**
   * @param label what it lists
   * @param draw draws a row into an element: (element, item, isSelected)
   * @param choose called with the position of a row that was chosen
   * @param key called with a keyboard event that the list doesn't use
   */
  constructor(label, role, draw, choose, key) {
    this.draw = draw;
    this.choose = choose;
    this.items = [];
    this.selected = -1;
    this.pool = [];
    this.space = h("div", { class: "space", role: "presentation" });
    this.element = h("div", { class: "list", role, tabindex: "0", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.element.addEventListener("keydown", (event) => { if (!this.move(event)) key(event, this); });
    this.element.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.at), event);
    });
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  set(items) {
    this.items = items;
    this.space.style.height = `${items.length * ROW}px`;
    this.render(true);
  }

  select(at, isShown = true) {
    this.selected = at;
    if (isShown && at >= 0) {
      const top = at * ROW;
      const box = this.element;
      if (top < box.scrollTop) box.scrollTop = top;
      else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
    }
    this.render(true);
  }

  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.render(false); });
  }

  render(isWhole) {
    const box = this.element;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 8);
    const count = Math.min(this.items.length - first, Math.ceil((box.clientHeight || 600) / ROW) + 16);
    if (!isWhole && this.first === first && this.count === count) return;
    while (this.pool.length < count) {
      const row = h("div", { class: "row" });
      row.style.height = `${ROW}px`;
      this.pool.push(row);
      this.space.append(row);
    }
    const isMoved = isWhole || this.first === undefined || this.count !== count;
    // An element keeps its row while that is in sight: position in the pool is the row modulo its size.
    for (let at = 0; at < this.pool.length; at++) {
      const step = ((at - first) % this.pool.length + this.pool.length) % this.pool.length;
      const row = this.pool[at];
      if (step >= count) { if (row.dataset.at !== "") { row.hidden = true; row.dataset.at = ""; row.removeAttribute("id"); } continue; }
      const item = first + step;
      if (!isMoved && row.dataset.at === String(item)) continue;
      row.hidden = false;
      row.dataset.at = String(item);
      row.id = `${this.element.id}-${item}`;
      row.style.transform = `translateY(${item * ROW}px)`;
      this.draw(row, this.items[item], item === this.selected, item);
    }
    this.first = first;
    this.count = count;
    if (this.selected >= first && this.selected < first + count) this.element.setAttribute("aria-activedescendant", `${this.element.id}-${this.selected}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  move(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || !this.items.length) return false;
    event.preventDefault();
    this.choose(Math.max(0, Math.min(this.items.length - 1, this.selected + steps[event.key])), event);
    return true;
  }
}
