// The data of the page: columns at once, the details of a crossing when they are asked for. See viewing/shared_json.py.

const INDEX = JSON.parse(document.getElementById("index").textContent);
const MARK = "\u00a7";

/** A number that JSON.parse would change; it is shown as it was written. */
class ExactNumber {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

/** A part that the page has no room for. */
class LeftOut {
  constructor(size) { this.size = size; }
}

/** A part that lies too deep to be drawn; it is shown as its text. */
class DeepText {
  constructor(text) { this.text = text; }
}

/** The lines of all elements of a name. The elements come after the script, so they are read when first needed. */
class Lines {
  constructor(name) { this.name = name; this.known = null; }
  at(number) {
    if (this.known === null) {
      this.known = [];
      for (const element of document.querySelectorAll(`script[data-lines="${this.name}"]`)) {
        for (const line of element.textContent.split("\n")) this.known.push(line);
        element.remove(); // the text is kept once
      }
    }
    return this.known[number];
  }
  get length() { this.at(0); return this.known.length; }
}

const DETAILS = new Lines("details");
const VALUES = new Lines("values");
const resolvedValues = new Map();
const MOST_KEPT = 20000;

/** Return the part with a number. */
function sharedValue(number) {
  if (resolvedValues.has(number)) return resolvedValues.get(number);
  // A list may continue a list that continues another one, a thousand times: without recursion.
  const chain = [];
  let at = number;
  let base = null;
  while (base === null) {
    if (resolvedValues.has(at)) { base = resolvedValues.get(at); break; }
    const written = JSON.parse(VALUES.at(at));
    if (written !== null && typeof written === "object" && !Array.isArray(written) && MARK + "+" in written) {
      const [before, ...more] = written[MARK + "+"];
      chain.push([at, more]);
      at = before;
    } else {
      base = resolved(written);
      keepValue(at, base);
    }
  }
  for (const [key, more] of chain.reverse()) {
    base = base.concat(more.map(resolved));
    keepValue(key, base);
  }
  return base;
}

function keepValue(number, value) {
  if (resolvedValues.size > MOST_KEPT) resolvedValues.clear();
  resolvedValues.set(number, value);
}

/** Return parsed JSON with the shared parts in their places. */
function resolved(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(resolved);
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0].startsWith(MARK)) {
    const inner = value[keys[0]];
    if (keys[0] === MARK) return sharedValue(inner);
    if (keys[0] === MARK + "n") return new ExactNumber(inner);
    if (keys[0] === MARK + "cut") return new LeftOut(inner);
    if (keys[0] === MARK + "deep") return new DeepText(inner);
    if (keys[0] === MARK + MARK) return objectOf(inner.map(([key, item]) => [key, resolved(item)]));
  }
  return objectOf(keys.map((key) => [key, resolved(value[key])]));
}

/** An object without a prototype, since a trace may have any key, `__proto__` among them. */
function objectOf(pairs) {
  const object = Object.create(null);
  for (const [key, value] of pairs) object[key] = value;
  return object;
}

/** The crossings of one side. */
class SideData {
  constructor(side, offset) {
    this.run = side.run;
    this.columns = side.columns;
    this.size = side.size;
    this.offset = offset;
    this.lastAt = -1;
    const { started, duration } = side.columns;
    /** The microseconds in which the first crossing began and the last one ended. */
    this.begin = side.size ? started.reduce((least, time) => Math.min(least, time), Infinity) : 0;
    this.end = started.reduce((most, time, at) => Math.max(most, time + duration[at]), this.begin + 1);
  }
  name(at) { return INDEX.names[this.columns.name[at]]; }
  address(at) { return `${this.name(at)}[${this.columns.nth[at]}]`; }
  kind(at) { return INDEX.names[this.columns.kind[at]]; }
  lane(at) { return INDEX.names[this.columns.lane[at]]; }
  status(at) { return INDEX.names[this.columns.status[at]]; }
  mode(at) { return INDEX.names[this.columns.mode[at]]; }
  model(at) { return INDEX.names[this.columns.model[at]]; }
  line(at) { return DETAILS.at(this.offset + at); }
  details(at) {
    if (this.lastAt !== at) {
      this.last = resolved(JSON.parse(this.line(at)));
      this.lastAt = at;
    }
    return this.last;
  }
}

const SIDES = [];
for (const side of INDEX.sides) SIDES.push(new SideData(side, SIDES.reduce((sum, each) => sum + each.size, 0)));

const OWN_NAMES = ["site", "seq", "form", "input", "types", "outcome", "returned", "raised", "ended", "items", "argument", "exchanges", "method", "url",
  "status", "attempts", "complete", "headers", "request", "body", "error", "changed", "meta", "masked", "opaque"];

/** Return a function that tells whether a crossing's details have a text, in any case of letters. */
function textSearch(words) {
  const escapes = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" }; // as the elements have them
  const wanted = JSON.stringify(words).slice(1, -1).replace(/[<>&]/g, (character) => escapes[character]).toLowerCase();
  const isOwnName = OWN_NAMES.some((name) => name.includes(wanted));
  const ownNames = new RegExp(`"(?:${OWN_NAMES.join("|")})":`, "g");
  const found = new Set();
  const reference = new RegExp(`"${MARK}":(\\d+)|"${MARK}\\+":\\[(\\d+)`, "g");
  const refers = (line) => {
    for (const match of line.matchAll(reference)) if (found.has(Number(match[1] ?? match[2]))) return true;
    return false;
  };
  // A part comes after the parts in it, so one pass finds all.
  for (let number = 0; number < VALUES.length; number++) {
    const line = VALUES.at(number) ?? "";
    if (line.toLowerCase().includes(wanted) || refers(line)) found.add(number);
  }
  return (side, at) => {
    const line = isOwnName ? side.line(at).replace(ownNames, "") : side.line(at);
    return line.toLowerCase().includes(wanted) || refers(line);
  };
}
