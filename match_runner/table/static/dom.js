// What all parts of the page share: elements, questions to the server, news as it comes.
//
// Texts from rulesheets and players become text nodes; nothing here reads markup.

/** An element with properties, listeners (onClick: ...) and children (texts, elements, null). */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  fill(element, ...children);
  return element;
}

/** Gives an element other children. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

/** A text that cannot disturb the order of what stands beside it, shortened if it is very long. */
export function name(text, most = 200) {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return el("bdi", text.length > most ? { title: text.slice(0, 2000) } : {}, shown);
}

/** A term as code. */
export const term = (text) => el("code", {}, name(text));

/** Asks the server; raises an Error with what it said is wrong. */
export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("the server does not answer; was it ended?");
  }
  const told = await answer.json().catch(() => ({ error: `the server said ${answer.status}` }));
  if (!answer.ok) throw new Error(told.error ?? `the server said ${answer.status}`);
  return told;
}

/**
 * Follows what happens; the browser asks again for what it missed if the connection breaks.
 *
 * @param hear functions by kind of event. `reset` is called when everything is to be read again.
 * @returns the stream, which has `close()`.
 */
export function follow(path, hear) {
  const stream = new EventSource(path);
  for (const [kind, listener] of Object.entries(hear)) {
    stream.addEventListener(kind, (event) => listener(JSON.parse(event.data)));
  }
  window.addEventListener("pagehide", () => stream.close());
  return stream;
}

/** Says something to those who hear the page instead of seeing it. */
export function say(text) {
  document.getElementById("news").textContent = text;
}

/** Puts a page together: its title, the line beside the brand, and its parts. */
export function show(title, ...parts) {
  document.title = title ? `${title} · The table` : "The table";
  document.getElementById("where").replaceChildren(name(title, 80));
  fill(document.getElementById("main"), ...parts);
}

/** The links of matches that were begun in this browser. */
export const own = {
  all() {
    try {
      return JSON.parse(localStorage.getItem("ggp-table") ?? "{}");
    } catch {
      return {};
    }
  },
  of: (id) => own.all()[id] ?? null,
  keep(matches) {
    const every = own.all();
    for (const { id, seats, key } of matches) every[id] = { seats, key };
    const kept = Object.entries(every).slice(-200);
    localStorage.setItem("ggp-table", JSON.stringify(Object.fromEntries(kept)));
  },
};

/** `alice 100, bob 0`, as elements. */
export function scores(goals) {
  return Object.entries(goals).map(([role, goal]) =>
    el("span", { class: "score" }, name(role, 40), " ", el("b", {}, goal === null ? "–" : `${goal}`)));
}

/** A number of things, in words. */
export const counted = (number, thing) =>
  `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

/** A box that says what went wrong. */
export const trouble = (text) => el("p", { class: "trouble", role: "alert" }, name(text, 2000));
