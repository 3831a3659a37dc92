// The panel of one crossing, or of a row with two sides.

function section(title, ...children) {
  return h("section", {}, h("h3", {}, title), ...children);
}

function facts(pairs) {
  const list = h("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(h("dt", {}, name), h("dd", {}, typeof value === "string" ? visible(value) : value));
  }
  return list;
}

/** Draw one crossing of one side; `open` leads to another crossing of that side. */
function crossingView(side, at, open) {
  const details = side.details(at);
  const columns = side.columns;
  const meta = details.meta || {};
  const mode = side.mode(at);
  const box = h("div", {}, facts([
    ["kind", side.kind(at)], ["where", details.site], ["lane", side.lane(at)],
    ["started", `${durationText(columns.started[at])} after the run began`], ["took", durationText(columns.duration[at])],
    ["ended", columns.marks[at]], ["in the replay", mode === "recorded" ? "" : mode],
    ["model", isContainer(meta) && meta.model ? plainText(meta.model) : ""], ["tokens", tokensText(side, [at])], ["cost", costText(meta.usage)],
  ]));
  const conversation = side.kind(at) === "model" ? conversationOf(details) : null;
  if (conversation) append(box, failureSections(details));
  if (conversation) box.append(section("Conversation", conversationView(conversation, (call) => callLink(side, at, call, open))));
  const raw = [section("Input", jsonView(details.input, "input")), ...outcomeSections(details), paceSection(side, at, meta)];
  if (conversation) append(box, [h("details", { class: "raw" }, h("summary", {}, "input and outcome as JSON"), raw)]);
  else append(box, raw);
  append(box, moreSections(details, meta));
  return box;
}

/** Draw what kept a model's call from an answer. */
function failureSections(details) {
  const exchange = details.exchanges ? details.exchanges[details.exchanges.length - 1] : null;
  const sections = [];
  if (details.outcome && "raised" in details.outcome) sections.push(section("Raised", errorView(details.outcome.raised)));
  if (exchange && exchange.status >= 400) sections.push(section(`Answered with status ${exchange.status}`, jsonView(exchange.body, "response")));
  if (exchange && exchange.error !== undefined) sections.push(section("Not answered", errorView(exchange.error)));
  return sections;
}

/** Return a link to the crossing of a tool that an answer asked for; null where it isn't clear which one that is. */
function callLink(side, at, call, open) {
  const named = [];
  for (let each = at + 1; each < side.size; each++) {
    if (side.kind(each) === "model" && side.columns.parent[each] === side.columns.parent[at] && side.columns.lane[each] === side.columns.lane[at]) break;
    if (side.kind(each) === "tool" && side.name(each) === call.name) named.push(each);
  }
  const fitting = named.length > 1 ? named.filter((each) => sameJson(side.details(each).input, call.input)) : named;
  return fitting.length === 1 ? linkTo(side, fitting[0], open) : null;
}

function linkTo(side, at, open) {
  const button = h("button", { type: "button", class: "link" }, `→ ${oneLine(side.address(at), 60)}`);
  button.addEventListener("click", () => open(at));
  return button;
}

function outcomeSections(details) {
  const outcome = details.outcome;
  if (!outcome) return [];
  if ("items" in outcome) {
    return [section(`Stream of ${countText(outcome.items.length, "item")}, ${endText(outcome.end)}`, jsonView(outcome.items, "items"),
      "returned" in outcome.end && outcome.end.returned !== null && jsonView(outcome.end.returned, "return value"),
      "raised" in outcome.end && errorView(outcome.end.raised))];
  }
  if ("raised" in outcome) return [section("Raised", errorView(outcome.raised))];
  if ("argument" in outcome) return [section("Returned", h("p", {}, "its argument ", h("code", {}, outcome.argument)))];
  return "returned" in outcome ? [section("Returned", jsonView(outcome.returned, "outcome"))] : [];
}

/** Draw when the items of a stream came, where the trace has their times: of dialogs, such as a session with a model. */
function paceSection(side, at, meta) {
  const moments = isContainer(meta) && Array.isArray(meta.moments) ? meta.moments.map((each) => Number(isContainer(each) ? NaN : each) / 1000 - side.columns.started[at]) : [];
  if (!moments.length || moments.some(Number.isNaN)) return null;
  const waits = moments.map((moment, number) => moment - (number ? moments[number - 1] : 0));
  const longest = waits.reduce((most, wait) => Math.max(most, wait), 0);
  const rows = waits.slice(0, STEP).map((wait, number) => {
    const bar = h("span", { class: "wait" });
    bar.style.width = `${(wait / Math.max(1, longest)) * 100}%`;
    return h("li", {}, h("span", { class: "took" }, durationText(Math.round(moments[number]))), h("span", { class: "waits" }, bar));
  });
  return section("Pace", h("p", {}, `The first item came after ${durationText(Math.round(moments[0]))}, the last after ${durationText(Math.round(moments.at(-1)))}; the longest wait was ${durationText(Math.round(longest))}.`),
    h("details", { class: "raw" }, h("summary", {}, "each item"), h("ol", { class: "pace" }, rows), moments.length > STEP && h("p", {}, `and ${countText(moments.length - STEP, "more item")}`)));
}

function endText(end) {
  if ("returned" in end) return "read to its end";
  return "raised" in end ? "ended by an exception" : end.ended;
}

function errorView(error) {
  if (!isContainer(error) || !("$error" in error)) return jsonView(error, "exception");
  const lines = listOf(error.traceback).filter(Array.isArray).map((frame) => `  ${frame.slice(0, 3).map(plainText).join(":").replace(/:([^:]*)$/, " in $1")}`);
  return h("div", {}, h("p", { class: "raised" }, visible(`${plainText(error.$error)}: ${listOf(error.args).map(plainText).join(", ")}`)),
    lines.length > 0 && h("pre", {}, visible(lines.join("\n"))), jsonView(error, "exception"));
}

function moreSections(details, meta) {
  const sections = [];
  if (details.changed !== undefined) sections.push(section("Arguments that it changed", jsonView(details.changed, "changed arguments")));
  for (const exchange of details.exchanges || []) {
    sections.push(h("details", { class: "raw" },
      h("summary", {}, `${exchange.method} ${oneLine(exchange.url, 120)}, status ${exchange.status || "none"}${exchange.attempts > 1 ? `, attempt ${exchange.attempts}` : ""}`),
      exchange.request !== null && section("Request", jsonView(exchange.request, "request")),
      exchange.error !== undefined ? section("Error", errorView(exchange.error)) : section("Response", streamNote(exchange), jsonView(exchange.body, "response")),
      section("Headers", jsonView(exchange.headers, "headers"))));
  }
  if (details.masked) sections.push(section("Masked", h("p", {}, "These values are secrets. The trace has a mask in their place."), pathList(details.masked)));
  if (details.opaque) sections.push(section("Not rebuilt", h("p", {}, "These values can't be rebuilt on replay."), pathList(details.opaque)));
  if (isContainer(meta) && Object.keys(meta).length) sections.push(h("details", { class: "raw" }, h("summary", {}, "meta"), jsonView(meta, "meta")));
  if (details.types) sections.push(h("details", { class: "raw" }, h("summary", {}, "types of the input"), jsonView(details.types, "types")));
  return sections;
}

function streamNote(exchange) {
  const events = isContainer(exchange.body) && (exchange.body.events || exchange.body.lines || exchange.body.frames);
  if (!Array.isArray(events)) return exchange.complete ? null : h("p", {}, "The response was not read to its end.");
  return h("p", {}, `A stream of ${countText(events.length, "event")}${exchange.complete ? "" : ", not read to its end"}.`);
}

function pathList(paths) {
  return h("ul", { class: "paths" }, paths.map((path) => h("li", {}, h("code", {}, oneLine(String(path), 300)))));
}

/** The tokens of some crossings, as far as their answers tell. */
function tokensText(side, crossings) {
  const sum = (column) => crossings.map((at) => side.columns[column][at]).filter((count) => count >= 0);
  const parts = [];
  for (const [column, name] of [["tokens_in", "in"], ["tokens_out", "out"]]) {
    const counts = sum(column);
    if (counts.length) parts.push(`${counts.reduce((total, count) => total + count, 0).toLocaleString("en")} ${name}`);
  }
  return parts.join(", ");
}

/** The cost, where the provider told it. It is never guessed from a list of prices. */
function costText(usage) {
  return isContainer(usage) && (typeof usage.cost === "number" || usage.cost instanceof ExactNumber) ? `${usage.cost} (as the provider said)` : "";
}

/** Return whether a recorded crossing did not run because it is inside of one that was served. */
function isNotRun(row) {
  return (row[2] || []).some((difference) => difference.kind === "not-run");
}

// --- two sides -----------------------------------------------------------------------------------------------------

const SEVERITIES = { error: "differs", warning: "warning", consequence: "consequence", notice: "note" };

function differenceView(difference) {
  const sides = difference.first !== undefined || difference.second !== undefined;
  const titles = SIDES.map((side) => side.run.title);
  return h("div", { class: `difference ${difference.severity}` },
    h("p", {}, h("span", { class: "tag" }, SEVERITIES[difference.severity] || difference.severity), " ", visible(difference.message)),
    sides && facts([["at", difference.path], [titles[0], difference.first], [titles[1], difference.second]]));
}

function pairView(row, openers) {
  const [first, second] = row;
  const box = h("div", {}, (row[2] || []).map(differenceView));
  if (first < 0 && second < 0) return box;
  if (first < 0 || second < 0) {
    const side = first < 0 ? 1 : 0;
    append(box, [!isNotRun(row) && h("p", { class: "only" }, `Only the ${SIDES[side].run.title} has this crossing.`), crossingView(SIDES[side], first < 0 ? second : first, openers[side])]);
    return box;
  }
  const [before, after] = [SIDES[0].details(first), SIDES[1].details(second)];
  const both = (title, one, other) => section(title, h("div", { class: "beside" },
    h("div", {}, h("h4", {}, SIDES[0].run.title), jsonView(one, `${title}, ${SIDES[0].run.title}`, other)),
    h("div", {}, h("h4", {}, SIDES[1].run.title), jsonView(other, `${title}, ${SIDES[1].run.title}`, one))));
  append(box, [
    facts([["kind", SIDES[0].kind(first)], ["where", before.site], ["in the replay", SIDES[1].mode(second) === "recorded" ? "" : SIDES[1].mode(second)]]),
    both("Input", before.input, after.input), both("Outcome", before.outcome, after.outcome),
    (before.changed !== undefined || after.changed !== undefined) && both("Arguments that it changed", before.changed ?? null, after.changed ?? null),
    (before.exchanges || after.exchanges) && both("Exchanges", before.exchanges ?? null, after.exchanges ?? null),
    ...[0, 1].map((at) => lazyDetails(`all of the ${SIDES[at].run.title}`, () => crossingView(SIDES[at], row[at], openers[at]))),
  ]);
  return box;
}

/** Details that are drawn when they are opened. */
function lazyDetails(title, draw) {
  const box = h("div", {});
  const details = h("details", { class: "raw" }, h("summary", {}, title), box);
  details.addEventListener("toggle", () => { if (details.open && !box.hasChildNodes()) fill(box, draw()); });
  return details;
}

// --- the run -------------------------------------------------------------------------------------------------------

/** Draw the facts of a run; `find` shows the crossings of a source line. */
function runView(side, find) {
  const run = side.run;
  const box = h("div", { class: "run" });
  const calls = [];
  const models = new Set();
  for (let at = 0; at < side.size; at++) {
    if (side.kind(at) === "model") { calls.push(at); if (side.model(at)) models.add(side.model(at)); }
  }
  append(box, [facts([
    ["trace", run.id], ["name", run.name], ["command", run.command], ["folder", run.folder], ["recorded", run.created],
    ["ended", run.complete ? (run.error ? `by ${run.error}` : run.status === undefined || run.status === null ? "" : `with exit status ${run.status}`) : "cut off before its end"],
    ["took", side.size && run.title !== "replay" ? `${durationText(side.end - side.begin)} from the first crossing to the last` : ""], ["crossings", side.size.toLocaleString("en")], ["models", [...models].join(", ")],
    ["tokens", tokensText(side, calls)], ["Python", run.python], ["autochron", run.autochron],
    ["lost", run.lost ? `${run.lost} crossings could not be written` : ""],
  ])]);
  const places = (title, entries, draw) => entries && section(title, h("ul", { class: "places" }, entries.map((entry) => h("li", {}, placeButton(entry.at, find), " ", draw(entry)))));
  const lines = (title, entries) => entries && section(title, h("ul", {}, entries.map((entry) => h("li", {}, visible(entry)))));
  append(box, [
    places("Calls that escape the record", run.findings, (entry) => `${visible(entry.call)} (${entry.category})${entry.count > 1 ? ` ×${entry.count}` : ""}${entry.via ? `, through ${visible(entry.via)}` : ""}${entry.impact ? `: ${visible(entry.impact)}` : ""}, in ${visible(entry.in)}`),
    places("Effects outside every boundary", run.effects, (entry) => visible(`${entry.does}${entry.in ? `, in ${entry.in}` : ""}`)),
    places("Connections outside every boundary", run.connections, (entry) => visible(entry.does)),
    lines("Tools without a boundary", run.unwoven), lines("Tools that were never called", run.declined), lines("Tools that were found", run.found),
    lines("Not woven", run.ledger), lines("Libraries", run.versions), lines("Environment", run.environment),
    ...["stdin", "stdout", "stderr"].map((name) => run[name] !== undefined && section({ stdin: "Standard input", stdout: "Standard output", stderr: "Standard error" }[name],
      typeof run[name] === "string" ? h("div", { class: "tools" }, copyButton(() => run[name], name)) : null,
      typeof run[name] === "string" ? longText(run[name], (text) => h("pre", { tabindex: "0" }, text)) : jsonView(run[name], name))),
  ]);
  return box;
}

function placeButton(place, find) {
  const button = h("button", { type: "button", class: "link", title: "show the crossings of this file" }, visible(String(place)));
  button.addEventListener("click", () => find(String(place).split(":")[0]));
  return button;
}
