// Code that all parts of the page share: elements, requests to the server, streams of events.
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

/** A shape of SVG; empty attributes are left out. */
export function shape(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== "") element.setAttribute(key, value);
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

/** A text that cannot change the direction of the text beside it, shortened if it is very long. */
export function name(text, most = 200) {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return el("bdi", text.length > most ? { title: text.slice(0, 2000) } : {}, shown);
}

/** Sends a request to the server; throws an Error with the server's message. */
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

/** Time for which a hidden page keeps its connection: browsers have six for one server. */
const HIDDEN_MS = 10_000;

/** Time of three heartbeats of a stream: a server that is silent for so long is gone. */
const SILENT_MS = 4_500;

/** Time that a server may take to show that it is there, and time until it is asked again. */
const ANSWER_MS = 2_000;
const AGAIN_MS = 1_000;

/** Most requests for a stream that a server refuses although it is there. */
const MOST_TRIES = 5;

const GONE = "The table does not answer. This page goes on by itself when it does.";
const CLOSED = "The table was started anew and asks for its link: open the one that it printed, or your seat's.";
const MISSING = "The table answers, but has nothing here any more.";

/** Shows what is wrong with the connection; nothing if the text is empty. */
function notice(text) {
  const place = document.getElementById("gone");
  place.hidden = !text;
  if (place.textContent !== text) place.textContent = text;
}

/** Asks whether the server is there; returns what is wrong, or an empty text. */
async function reached() {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch("/static/icon.svg", { method: "HEAD", cache: "no-store", signal });
    return answer.status === 403 ? CLOSED : "";
  } catch {
    return GONE;
  }
}

/**
 * Follows a stream of events. If the connection breaks, the page says so, tries again, and asks for
 * what it missed; a hidden page gives up its connection, and asks again when it is shown.
 *
 * @param path path of the stream.
 * @param hear functions by kind of event. `reset` is called when everything must be read again.
 * @returns an object with `close()`.
 */
export function follow(path, hear) {
  let stream = null;
  let last = null;
  let isOver = false;
  let tries = 0;
  const timers = {};

  function later(name, work, after_ms) {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(work, after_ms);
  }

  function open() {
    const address = new URL(path, location.href);
    if (last !== null) address.searchParams.set("after", last);
    stream = new EventSource(address);
    stream.addEventListener("open", () => {
      tries = 0;
      notice("");
    });
    // After a heartbeat another one must follow.
    stream.addEventListener("beat", () => later("silence", () => { notice(GONE); again(); }, SILENT_MS));
    stream.addEventListener("error", again);
    for (const [kind, listener] of Object.entries(hear)) {
      stream.addEventListener(kind, (event) => {
        if (event.lastEventId) last = event.lastEventId;
        listener(JSON.parse(event.data));
      });
    }
  }

  function close() {
    clearTimeout(timers.silence);
    stream?.close();
    stream = null;
  }

  /** Asks for the stream anew as soon as the server answers; browsers would give up at some answers. */
  async function again() {
    close();
    const wrong = await reached();
    if (isOver || stream !== null || document.hidden) return;
    if (wrong) {
      notice(wrong);
      later("again", again, AGAIN_MS);
    } else if (tries++ < MOST_TRIES) later("again", look, tries > 1 ? AGAIN_MS : 0);
    else notice(MISSING);
  }

  function look() {
    clearTimeout(timers.hidden);
    if (isOver) return;
    if (document.hidden) later("hidden", close, HIDDEN_MS);
    else if (stream === null) open();
  }

  open();
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", look);
  return {
    close() {
      isOver = true;
      clearTimeout(timers.again);
      document.removeEventListener("visibilitychange", look);
      close();
    },
  };
}

/** Says if the server is gone, on pages that need no other events. */
export const stay = () => follow("/api/alive", {});

/** Announces a text to users of screen readers. */
export function say(text) {
  document.getElementById("news").textContent = text;
}

/** Assembles a page: its title, which stands beside the brand, and its parts. */
export function show(title, ...parts) {
  document.title = `${title} · The table`;
  document.getElementById("where").replaceChildren(name(title, 80));
  fill(document.getElementById("main"), ...parts);
}

/** Links of the matches that were begun in this browser. */
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
    for (const { id, links, key } of matches) every[id] = { links, key };
    const kept = Object.entries(every).slice(-200);
    localStorage.setItem("ggp-table", JSON.stringify(Object.fromEntries(kept)));
  },
};

/** Scores as elements, such as `alice 100, bob 0`; without `random`, which has no goal. */
export function scores(goals) {
  return Object.entries(goals).filter(([role]) => role !== "random").map(([role, goal]) =>
    el("span", { class: "score" }, name(role, 40), " ", el("b", {}, goal === null ? "–" : `${goal}`)));
}

/** A number with the thing counted, in the singular or plural. */
export const counted = (number, thing) =>
  `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : /(s|x|ch|sh)$/.test(thing) ? "es" : "s"}`;

/** A box that says what went wrong. */
export const trouble = (text) => el("p", { class: "trouble", role: "alert" }, name(text, 2000));

/** Explains a board of what somebody knows. `told` is `known` of a frame, `who` is "you" or "it". */
export function knownText(told, who) {
  const states = counted(told.states, told.exact ? "state" : "sampled state");
  if (!told.states) return `Nothing is shown: no state was found that fits what ${who} saw.`;
  if (told.states === 1 && told.exact) return `This is the only state that fits what ${who} saw.`;
  return `${states} ${told.states === 1 ? "fits" : "fit"} what ${who} saw. You see what is the same in all of them, and ? where they differ.`;
}
