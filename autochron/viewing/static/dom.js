// Elements, without any markup in text: what a trace says is always the text of a node.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element. Attributes that begin with "on" are listeners; false, null and undefined ones are left out. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child);
  }
}

/** Replace all that is in an element. */
function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** A button that copies a text, and says that it did. */
function copyButton(text, label) {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${label}`, title: `Copy ${label}` }, "copy");
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    button.textContent = (await copied(text())) ? "copied" : "not copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page from disk may have no clipboard; the older way works there.
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
