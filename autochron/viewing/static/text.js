// Text of a trace as people may read it safely, and numbers in units.

// Control characters, and characters that change the direction of text or can't be seen.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u115f\u1160\u3164\uffa0\u034f\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/** Return a text with what can't be seen as an escape. Line feeds and tabs stay. */
function visible(text) {
  return text.replace(HIDDEN, (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`);
}

/** Return a part of a trace as text, whatever it is. */
function plainText(value) {
  return typeof value === "string" ? value : value === undefined ? "(none)" : jsonText(value);
}

/** Return a text on one line, cut to a length. */
function oneLine(text, most = 200) {
  const line = visible(text.slice(0, most * 2).replace(/[\n\t ]+/g, " "));
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

function durationText(microseconds) {
  if (microseconds >= 1e6) return `${(microseconds / 1e6).toFixed(microseconds < 1e7 ? 1 : 0)} s`;
  if (microseconds >= 1000) return `${(microseconds / 1000).toFixed(microseconds < 1e4 ? 1 : 0)} ms`;
  return `${microseconds} µs`;
}

function sizeText(bytes) {
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return bytes >= 1000 ? `${(bytes / 1000).toFixed(1)} KB` : `${bytes} bytes`;
}

function countText(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
