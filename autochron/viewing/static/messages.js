// The messages of a model's call, from the formats that providers have. What has none of them is shown as JSON.
//
// A message is { role, parts }, a part one of { type: "text" | "reasoning" | "refusal", text }, { type: "call", id, name, input },
// { type: "result", id, name, output, error }, { type: "image", mime, data | url }, { type: "other", value }.

/** Return the messages of a call: those that were sent, and the answer. Null where none are known. */
function conversationOf(details) {
  const exchange = details.exchanges ? details.exchanges[details.exchanges.length - 1] : null;
  const requests = [exchange && bodyOf(exchange.request), details.input && details.input.body, details.input,
    details.input && details.input.kwargs];
  let sent = null;
  let tools = null;
  for (const request of requests) {
    if (!isContainer(request) || Array.isArray(request)) continue;
    sent = sentMessages(request);
    if (sent) { tools = request.tools || null; break; }
  }
  const answers = exchange ? [exchange.body] : [];
  const outcome = details.outcome;
  if (outcome && "returned" in outcome) answers.push({ json: outcome.returned });
  if (outcome && "items" in outcome) answers.push({ events: outcome.items.map((data) => ({ data })) });
  let answer = null;
  for (const body of answers) {
    answer = isContainer(body) ? answerMessages(body) : null;
    if (answer && answer.length) break;
  }
  return sent || (answer && answer.length) ? { sent: sent || [], answer: answer || [], tools: toolList(tools) } : null;
}

/** The JSON of a stored body; see envelope/bodies.py. */
function bodyOf(body) {
  if (!isContainer(body)) return null;
  return "json" in body ? body.json : null;
}

function listOf(value) {
  return Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
}

function toolList(tools) {
  const names = [];
  for (const tool of listOf(tools)) {
    if (!isContainer(tool)) continue;
    const inner = tool.function || tool.toolSpec || tool;
    if (typeof inner.name === "string") names.push({ name: inner.name, value: tool });
    for (const each of listOf(tool.functionDeclarations || tool.function_declarations)) {
      if (isContainer(each) && typeof each.name === "string") names.push({ name: each.name, value: each });
    }
  }
  return names;
}

// --- what was sent -------------------------------------------------------------------------------------------------

function sentMessages(request) {
  const messages = [];
  for (const key of ["system", "instructions", "systemInstruction", "system_instruction"]) {
    const parts = partsOf(request[key]);
    if (parts.length) messages.push({ role: "system", parts });
  }
  const config = request.config || request.generationConfig;
  if (isContainer(config) && config.system_instruction) messages.push({ role: "system", parts: partsOf(config.system_instruction) });
  if (Array.isArray(request.messages)) return [...messages, ...request.messages.map(messageOf)];
  if (request.contents !== undefined) return [...messages, ...listOf(request.contents).map(messageOf)];
  if (typeof request.input === "string" || Array.isArray(request.input)) return [...messages, ...listOf(request.input).map(messageOf)];
  if (typeof request.prompt === "string") return [...messages, { role: "user", parts: partsOf(request.prompt) }];
  return messages.length ? messages : null;
}

function messageOf(message) {
  if (typeof message === "string") return { role: "user", parts: [{ type: "text", text: message }] };
  if (!isContainer(message)) return { role: "user", parts: [{ type: "other", value: message }] };
  if (message.type === "function_call_output") {
    return { role: "tool", parts: [{ type: "result", id: message.call_id, output: parsedText(message.output) }] };
  }
  if (message.type === "function_call" || message.type === "reasoning") return { role: "assistant", parts: [partOf(message)] };
  if (message.role === "tool" || message.role === "function") {
    const output = message.content !== undefined ? message.content : message;
    return { role: "tool", parts: [{ type: "result", id: message.tool_call_id, name: message.name || message.tool_name, output: parsedText(output) }] };
  }
  if (message.type === "custom_tool_call") {
    return { role: "assistant", parts: [{ type: "call", id: message.call_id, name: message.name, input: message.input }] };
  }
  if (message.type === "custom_tool_call_output") {
    return { role: "tool", parts: [{ type: "result", id: message.call_id, output: parsedText(message.output) }] };
  }
  if (message.role === undefined && typeof message.type === "string" && message.type !== "message") {
    return { role: "assistant", parts: [{ type: "other", value: message }] }; // an item of a kind that isn't known here
  }
  const role = message.role === "model" || message.role === "ai" ? "assistant" : message.role || "user";
  const parts = [];
  for (const key of ["reasoning_content", "reasoning", "thinking"]) {
    if (typeof message[key] === "string" && message[key]) parts.push({ type: "reasoning", text: message[key] });
  }
  parts.push(...partsOf(message.content !== undefined ? message.content : message.parts));
  if (typeof message.refusal === "string") parts.push({ type: "refusal", text: message.refusal });
  for (const call of listOf(message.tool_calls)) parts.push(callOf(call));
  if (isContainer(message.function_call)) parts.push(callOf(message.function_call));
  // What isn't known here, such as an audio answer, is shown as JSON, and never left out.
  const unknown = Object.keys(message).filter((key) => !KNOWN.has(key) && message[key] !== null);
  if (unknown.length && (!parts.length || unknown.includes("audio"))) parts.push({ type: "other", value: message });
  return { role: plainText(role), parts };
}

const KNOWN = new Set(["role", "content", "parts", "reasoning_content", "reasoning", "thinking", "refusal", "tool_calls", "function_call", "name", "type", "id", "status",
  "model", "stop_reason", "stop_sequence", "usage", "annotations", "phase"]);

function partsOf(content) {
  if (typeof content === "string") return content ? [{ type: "text", text: content }] : [];
  if (Array.isArray(content)) return content.map(partOf);
  if (isContainer(content)) return Array.isArray(content.parts) ? content.parts.map(partOf) : [partOf(content)];
  return content === null || content === undefined ? [] : [{ type: "other", value: content }];
}

function partOf(part) {
  if (typeof part === "string") return { type: "text", text: part };
  if (!isContainer(part)) return { type: "other", value: part };
  if (part.type === "reasoning") return { type: "reasoning", text: listOf(part.summary || part.content).map(textOf).join("\n") };
  if (typeof part.thinking === "string") return { type: "reasoning", text: part.thinking };
  if (isContainer(part.reasoningContent)) return { type: "reasoning", text: textOf(part.reasoningContent.reasoningText || "") };
  if (part.type === "function_call") return callOf(part);
  if ((typeof part.type === "string" && part.type.endsWith("tool_use")) || isContainer(part.toolUse)) {
    const use = part.toolUse || part;
    return { type: "call", id: use.id || use.toolUseId, name: use.name, input: use.input };
  }
  if (part.type === "tool_result" || isContainer(part.toolResult)) {
    const result = part.toolResult || part;
    const error = result.is_error === true || result.status === "error";
    return { type: "result", id: result.tool_use_id || result.toolUseId, output: resultOf(result.content), error };
  }
  const call = part.functionCall || part.function_call;
  if (isContainer(call)) return { type: "call", id: call.id, name: call.name, input: call.args };
  const response = part.functionResponse || part.function_response;
  if (isContainer(response)) return { type: "result", id: response.id, name: response.name, output: response.response };
  const image = imageOf(part);
  if (image) return image;
  if (typeof part.refusal === "string") return { type: "refusal", text: part.refusal };
  if (part.thought === true && typeof part.text === "string") return { type: "reasoning", text: part.text };
  return typeof part.text === "string" ? { type: "text", text: part.text } : { type: "other", value: part };
}

function textOf(value) {
  if (typeof value === "string") return value;
  return isContainer(value) && typeof value.text === "string" ? value.text : jsonText(value);
}

function callOf(call) {
  if (!isContainer(call)) return { type: "other", value: call };
  const inner = isContainer(call.function) ? call.function : isContainer(call.custom) ? call.custom : call;
  return { type: "call", id: call.call_id || call.id, name: inner.name, input: parsedText(inner.arguments !== undefined ? inner.arguments : inner.input) };
}

function resultOf(content) {
  if (!Array.isArray(content) || !content.every((part) => isContainer(part) && typeof part.text === "string")) return content;
  return parsedText(content.map((part) => part.text).join("\n"));
}

/** Return what a text of JSON holds, if it is an object or a list without numbers that JavaScript would change. */
function parsedText(text) {
  if (typeof text !== "string" || !/^\s*[{[]/.test(text) || /\d{16}|\.\d*0\b|\d[eE]|-0/.test(text)) return text;
  try {
    let keys = 0;
    const value = JSON.parse(text, (key, each) => {
      if (!isContainer(each) || Array.isArray(each)) return each;
      keys += Object.keys(each).length;
      return objectOf(Object.entries(each));
    });
    // A key that occurs twice, or a number as a key, would be lost or moved.
    const written = [...text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:/g)];
    return written.length === keys && !written.some((match) => /^\d+$/.test(match[1])) ? value : text;
  } catch {
    return text;
  }
}

const IMAGES = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]*)$/;

function imageOf(part) {
  const source = part.source || part.inlineData || part.inline_data || part.image;
  if (isContainer(source) && typeof source.data === "string" && part.type !== "document") {
    return { type: "image", mime: plainText(source.media_type || source.mimeType || source.mime_type || ""), data: source.data };
  }
  let url = part.image_url;
  if (isContainer(url)) url = url.url;
  if (url === undefined && isContainer(source) && part.type !== "document") url = source.url;
  if (typeof url !== "string") return null;
  const match = IMAGES.exec(url);
  return match ? { type: "image", mime: match[1], data: match[2] } : { type: "image", mime: "", url };
}

// --- the answer ----------------------------------------------------------------------------------------------------

function answerMessages(body) {
  if ("json" in body) return wholeAnswer(body.json);
  if (Array.isArray(body.events)) return streamedAnswer(body.events.map((event) => (isContainer(event) && "data" in event ? event.data : event)));
  if (Array.isArray(body.lines)) return streamedAnswer(body.lines);
  if (Array.isArray(body.messages)) return streamedAnswer(body.messages);
  if (Array.isArray(body.frames)) return streamedAnswer(body.frames.map((frame) => frame && frame.payload));
  return [];
}

function wholeAnswer(answer) {
  if (!isContainer(answer) || Array.isArray(answer)) return [];
  if (Array.isArray(answer.choices)) {
    return answer.choices.filter(isContainer).map((choice) => (isContainer(choice.message) ? messageOf(choice.message)
      : { role: "assistant", parts: partsOf(choice.text) }));
  }
  if (Array.isArray(answer.output)) return answer.output.map(messageOf);
  if (isContainer(answer.output) && isContainer(answer.output.message)) return [messageOf(answer.output.message)];
  if (Array.isArray(answer.candidates)) {
    return answer.candidates.filter((each) => isContainer(each) && isContainer(each.content)).map((each) => messageOf(each.content));
  }
  if (isContainer(answer.message)) return [messageOf(answer.message)];
  if (answer.role !== undefined && answer.content !== undefined) return [messageOf(answer)];
  return [];
}

/** Put the pieces of a stream together. */
function streamedAnswer(items) {
  const parts = new Map();
  const piece = (key, part, text) => {
    if (!parts.has(key)) parts.set(key, { ...part, text: "" });
    const known = parts.get(key);
    for (const field of ["id", "name"]) if (part[field]) known[field] = part[field];
    if (typeof text === "string") known.text += text;
  };
  let whole = null;
  for (const item of items) {
    if (!isContainer(item)) continue;
    if (isContainer(item.response) && Array.isArray(item.response.output)) whole = item.response;
    if (item.type === "error" || isContainer(item.error)) parts.set(`error.${parts.size}`, { type: "other", value: item });
    for (const choice of listOf(item.choices)) if (isContainer(choice)) chatPiece(choice, piece);
    blockPiece(item, piece);
    for (const candidate of listOf(item.candidates)) {
      for (const [at, part] of listOf(isContainer(candidate) && isContainer(candidate.content) ? candidate.content.parts : null).entries()) {
        const known = partOf(part);
        if (known.type === "text" || known.type === "reasoning") piece(known.type, { type: known.type }, known.text);
        else parts.set(`${parts.size}.${at}`, known);
      }
    }
    if (isContainer(item.message) && !Array.isArray(item.choices) && typeof item.message.content === "string") {
      piece("text", { type: "text" }, item.message.content);
      for (const call of listOf(item.message.tool_calls)) parts.set(`call.${parts.size}`, callOf(call));
    }
  }
  if (whole && whole.output.length) return wholeAnswer(whole);
  const known = [...parts.values()].map((part) => (part.type === "call" && "text" in part ? { ...part, input: parsedText(part.text) } : part));
  return known.length ? [{ role: "assistant", parts: known }] : [];
}

function chatPiece(choice, piece) {
  const delta = isContainer(choice.delta) ? choice.delta : {};
  const of = plainText(choice.index || 0);
  piece(`${of}.reasoning`, { type: "reasoning" }, delta.reasoning_content || delta.reasoning);
  piece(`${of}.text`, { type: "text" }, typeof delta.content === "string" ? delta.content : choice.text);
  piece(`${of}.refusal`, { type: "refusal" }, delta.refusal);
  for (const call of listOf(delta.tool_calls)) {
    if (!isContainer(call)) continue;
    const inner = call.function || {};
    piece(`${of}.call.${plainText(call.index ?? call.id)}`, { type: "call", id: call.id, name: inner.name }, inner.arguments);
  }
}

/** A piece of Anthropic's, Amazon's or OpenAI's stream of blocks. */
function blockPiece(item, piece) {
  const at = plainText(item.index ?? item.contentBlockIndex ?? item.output_index ?? 0);
  const start = item.content_block || (isContainer(item.start) ? item.start : null);
  if (isContainer(start)) {
    const use = start.toolUse || (typeof start.type === "string" && start.type.endsWith("tool_use") ? start : null);
    if (use) piece(`block.${at}`, { type: "call", id: use.id || use.toolUseId, name: use.name });
    else if (typeof start.text === "string" && start.text) piece(`block.${at}`, { type: "text" }, start.text);
  }
  const delta = item.delta;
  if (isContainer(delta)) {
    if (typeof delta.partial_json === "string") piece(`block.${at}`, { type: "call" }, delta.partial_json);
    else if (isContainer(delta.toolUse)) piece(`block.${at}`, { type: "call" }, delta.toolUse.input);
    else if (typeof delta.thinking === "string") piece(`block.${at}`, { type: "reasoning" }, delta.thinking);
    else if (typeof delta.text === "string") piece(`block.${at}`, { type: "text" }, delta.text);
  } else if (typeof delta === "string" && item.type === "response.output_text.delta") {
    piece(`block.${at}`, { type: "text" }, delta);
  }
}

// --- drawing -------------------------------------------------------------------------------------------------------

/** Return the result of each call: the next one with its id, or of its name where there is no id. */
function pairedResults(messages) {
  const waiting = new Map();
  const results = new Map();
  for (const part of messages.flatMap((message) => message.parts)) {
    const key = part.id !== undefined && part.id !== null ? `id ${plainText(part.id)}` : `name ${plainText(part.name)}`;
    if (part.type === "call") waiting.set(key, [...(waiting.get(key) || []), part]);
    else if (part.type === "result" && waiting.has(key) && waiting.get(key).length) results.set(waiting.get(key).shift(), part);
  }
  return results;
}

/**
 * Draw a conversation. A tool's result stands below the call that it answers.
 * @param conversation what `conversationOf` returned
 * @param link returns an element that leads to the crossing of a call, or null
 */
function conversationView(conversation, link) {
  const { sent, answer, tools } = conversation;
  const results = pairedResults(sent);
  const shown = new Set();
  const draw = (message, isAnswer) => {
    const parts = message.parts.filter((part) => !(part.type === "result" && shown.has(part)) && !(part.text === "" && part.type !== "call"));
    if (!parts.length) return null;
    const drawn = parts.map((part) => {
      const result = part.type === "call" && !isAnswer ? results.get(part) : undefined;
      if (result) shown.add(result);
      return partView(part, result, isAnswer ? link : null);
    });
    const kind = ["system", "developer", "user", "assistant", "tool"].includes(message.role) ? message.role : "other";
    return h("li", { class: `message ${kind}${isAnswer ? " answer" : ""}` },
      h("h4", {}, oneLine(message.role, 40), isAnswer && h("span", { class: "tag" }, "the answer")), drawn);
  };
  const list = h("ol", { class: "conversation", "aria-label": "messages" });
  const fold = sent.length > 40 ? sent.length - 20 : 0;
  if (fold) {
    const button = h("button", { type: "button", class: "more" }, `show ${countText(fold, "earlier message")}`);
    const place = h("li", { class: "message" }, button);
    button.addEventListener("click", () => { place.replaceWith(...sent.slice(0, fold).map((each) => draw(each, false)).filter(Boolean)); });
    list.append(place);
  }
  append(list, sent.slice(fold).map((message) => draw(message, false)));
  append(list, answer.map((message) => draw(message, true)));
  const offered = tools.length > 0 && h("details", { class: "offered" }, h("summary", {}, `${countText(tools.length, "tool")} offered: ${oneLine(tools.map((tool) => tool.name).join(", "), 120)}`),
    tools.map((tool) => jsonView(tool.value, `tool ${tool.name}`)));
  return h("div", {}, offered, list);
}

function partView(part, result, link) {
  if (part.type === "text") return h("div", { class: "say" }, longText(part.text, (text) => h("span", {}, text)));
  if (part.type === "refusal") return h("div", { class: "say refusal" }, longText(part.text, (text) => h("span", {}, text)));
  if (part.type === "reasoning") {
    return h("details", { class: "reasoning" }, h("summary", {}, "reasoning"), longText(part.text, (text) => h("div", { class: "say" }, text)));
  }
  if (part.type === "image") return imageView(part);
  if (part.type === "call") {
    return h("div", { class: "call" }, h("div", { class: "call-name" }, "calls ", h("code", {}, oneLine(plainText(part.name), 80)), link && link(part)),
      jsonView(part.input === undefined ? null : part.input, `arguments of ${oneLine(plainText(part.name), 80)}`),
      result && h("div", { class: result.error ? "result failed" : "result" }, h("h5", {}, result.error ? "its error" : "its result"), valueView(result.output, `result of ${oneLine(plainText(part.name), 80)}`)));
  }
  if (part.type === "result") {
    return h("div", { class: part.error ? "result failed" : "result" }, h("h5", {}, part.name ? `result of ${oneLine(plainText(part.name), 80)}` : "result of a tool"), valueView(part.output, "result"));
  }
  return jsonView(part.value, "part of a message");
}

function valueView(value, label) {
  return typeof value === "string" ? h("div", { class: "say" }, longText(value, (text) => h("span", {}, text))) : jsonView(value === undefined ? null : value, label);
}

function imageView(part) {
  if (part.url !== undefined) return h("div", { class: "say" }, "image at ", h("code", {}, oneLine(part.url, 200)), " (not loaded)");
  if (typeof part.data !== "string" || !/^image\/(png|jpeg|gif|webp)$/.test(part.mime) || !/^[A-Za-z0-9+/=\s]*$/.test(part.data)) {
    return h("div", { class: "say" }, `an image that can't be shown (${oneLine(part.mime || "no type", 60)})`);
  }
  return h("img", { src: `data:${part.mime};base64,${part.data.replace(/\s/g, "")}`, alt: `image of a message, ${part.mime}` });
}
