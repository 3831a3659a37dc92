// A JSON value that folds. A part is drawn when it is opened, so that a large one costs nothing.

const OPEN_ITEMS = 12;
const STEP = 200;
const LONG_TEXT = 2000;
const MISSING = Symbol("missing");

/**
 * Draw a value.
 * @param value the value
 * @param other the value of the other side: what differs from it is marked; undefined for none
 * @param label what it is, for people who can't see it
 */
function jsonView(value, label, other = undefined) {
  const box = h("div", { class: "json", role: "group", "aria-label": label });
  box.append(h("div", { class: "tools" }, copyButton(() => jsonText(value), label)), jsonNode(value, null, other, 0));
  return box;
}

function isContainer(value) {
  return value !== null && typeof value === "object" && !(value instanceof ExactNumber) && !(value instanceof LeftOut) && !(value instanceof DeepText);
}

function jsonNode(value, key, other, depth) {
  const name = key === null ? null : h("span", { class: "key" }, `${oneLine(String(key))}: `);
  const differs = other !== undefined && !sameJson(value, other);
  if (!isContainer(value)) {
    return h("div", { class: differs ? "leaf differs" : "leaf" }, name, scalar(value), differs && !isContainer(other) && otherMark());
  }
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  if (keys.length === 0) return h("div", { class: differs ? "leaf differs" : "leaf" }, name, left + right);
  const body = h("div", { class: "inside" });
  const summary = h("summary", { class: differs ? "differs" : null }, name,
    h("span", { class: "count" }, `${left}${keys.length}${right} `), h("span", { class: "brief" }, briefJson(value)));
  const details = h("details", {}, summary, body);
  const draw = (from) => {
    for (const each of keys.slice(from, from + STEP)) {
      const inner = isContainer(other) ? (each in other ? other[each] : MISSING) : undefined;
      body.append(jsonNode(value[each], each, inner, depth + 1));
    }
    if (from + STEP < keys.length) {
      const more = h("button", { type: "button", class: "more" }, `show ${countText(keys.length - from - STEP, "more item")}`);
      more.addEventListener("click", () => { more.remove(); draw(from + STEP); });
      body.append(more);
    }
  };
  const drawOnce = () => { if (!body.hasChildNodes()) draw(0); };
  details.addEventListener("toggle", () => { if (details.open) drawOnce(); });
  if (depth === 0 || (depth < 3 && keys.length <= OPEN_ITEMS) || differs) { drawOnce(); details.open = true; }
  return details;
}

function otherMark() {
  return h("span", { class: "offscreen" }, " (differs)");
}

function scalar(value) {
  if (value instanceof LeftOut) {
    return h("span", { class: "left-out" }, `${sizeText(value.size)} left out: this page is full`);
  }
  if (value instanceof DeepText) {
    return h("span", { class: "left-out" }, "too deep to be drawn: ", longText(value.text, (text) => h("span", {}, text)));
  }
  if (typeof value !== "string") return h("span", { class: "literal" }, String(value));
  return longText(value, (text) => h("span", { class: text.includes("\n") ? "string block" : "string" }, `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`));
}

/** Draw a text; of a long one the beginning, and a button for the rest. */
function longText(text, draw) {
  if (text.length <= LONG_TEXT) return draw(visible(text));
  const box = h("span", {}, draw(`${visible(text.slice(0, LONG_TEXT))}…`));
  const button = h("button", { type: "button", class: "more" }, `show all ${countText(text.length, "character")}`);
  button.addEventListener("click", () => fill(box, draw(visible(text))));
  box.append(button);
  return box;
}

function briefJson(value) {
  const parts = [];
  for (const key of Object.keys(value).slice(0, 4)) {
    const item = value[key];
    const shown = isContainer(item) ? (Array.isArray(item) ? "[…]" : "{…}") : oneLine(item instanceof LeftOut || item instanceof DeepText ? "…" : String(item), 40);
    parts.push(Array.isArray(value) ? shown : `${oneLine(key, 30)}: ${shown}`);
  }
  return parts.join(", ");
}

/** Return a value as JSON text, with numbers as they were written. */
function jsonText(value, indent = "") {
  if (value instanceof ExactNumber) return value.text;
  if (value instanceof DeepText) return value.text;
  if (value instanceof LeftOut) return JSON.stringify(`(${sizeText(value.size)} left out)`);
  if (!isContainer(value)) return JSON.stringify(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (!value.length) return "[]";
    return `[\n${value.map((item) => deeper + jsonText(item, deeper)).join(",\n")}\n${indent}]`;
  }
  const keys = Object.keys(value);
  if (!keys.length) return "{}";
  return `{\n${keys.map((key) => `${deeper}${JSON.stringify(key)}: ${jsonText(value[key], deeper)}`).join(",\n")}\n${indent}}`;
}

function sameJson(first, second) {
  if (first === second) return true;
  if (first instanceof ExactNumber && second instanceof ExactNumber) return first.text === second.text;
  if (first instanceof DeepText && second instanceof DeepText) return first.text === second.text;
  // Of two parts that are both left out nothing is known; each says so itself.
  if (first instanceof LeftOut && second instanceof LeftOut) return first.size === second.size;
  if (first instanceof LeftOut || second instanceof LeftOut) return false;
  if (!isContainer(first) || !isContainer(second) || Array.isArray(first) !== Array.isArray(second)) return false;
  const keys = Object.keys(first);
  if (keys.length !== Object.keys(second).length) return false;
  return keys.every((key) => key in second && sameJson(first[key], second[key]));
}
