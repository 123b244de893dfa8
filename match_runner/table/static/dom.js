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
export function name(text, maxLength = 200) {
  const shortened = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return el("bdi", text.length > maxLength ? { title: text.slice(0, 2000) } : {}, shortened);
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
    throw new Error("the server does not answer; has it been stopped?");
  }
  const reply = await answer.json().catch(() => ({ error: `the server said ${answer.status}` }));
  if (!answer.ok) throw new Error(reply.error ?? `the server said ${answer.status}`);
  return reply;
}

/** Time for which a hidden page keeps its connection: browsers have six for one server. */
const HIDDEN_MS = 10_000;

/** Time of three heartbeats of a stream: after such a silence the server is gone. */
const SILENT_MS = 4_500;

/** Time in which a server must answer, and time until the next try. */
const ANSWER_MS = 2_000;
const AGAIN_MS = 1_000;

/** Most requests for a stream that a running server refuses. */
const MAX_TRIES = 5;

const GONE = "The table does not answer. This page will continue when it does.";
const CLOSED = "The table has restarted and needs a new link: open the link that it printed, or the link of your seat.";
const MISSING = "The table answers, but this page no longer exists there.";

/** Shows a problem with the connection; hides it if the text is empty. */
function notice(text) {
  const place = document.getElementById("gone");
  place.hidden = !text;
  if (place.textContent !== text) place.textContent = text;
}

/** Checks that the server answers; returns the problem, or an empty text. */
async function connectionProblem() {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch("/static/icon.svg", { method: "HEAD", cache: "no-store", signal });
    return answer.status === 403 ? CLOSED : "";
  } catch {
    return GONE;
  }
}

/**
 * Follows a stream of events. If the connection breaks, the page says so, reconnects, and requests
 * the events that it missed; a hidden page gives up its connection until it is shown again.
 *
 * @param path path of the stream.
 * @param listeners functions by kind of event. `reset` is called when everything must be reloaded.
 * @returns an object with `close()`.
 */
export function follow(path, listeners) {
  let stream = null;
  let lastId = null;
  let isOver = false;
  let tries = 0;
  const timers = {};

  function later(name, work, after_ms) {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(work, after_ms);
  }

  function open() {
    const address = new URL(path, location.href);
    if (lastId !== null) address.searchParams.set("after", lastId);
    stream = new EventSource(address);
    stream.addEventListener("open", () => {
      tries = 0;
      notice("");
    });
    // After a heartbeat another one must follow.
    stream.addEventListener("beat", () => later("silence", () => { notice(GONE); reconnect(); }, SILENT_MS));
    stream.addEventListener("error", reconnect);
    for (const [kind, listener] of Object.entries(listeners)) {
      stream.addEventListener(kind, (event) => {
        if (event.lastEventId) lastId = event.lastEventId;
        listener(JSON.parse(event.data));
      });
    }
  }

  function close() {
    clearTimeout(timers.silence);
    stream?.close();
    stream = null;
  }

  /** Requests the stream again as soon as the server answers; browsers alone may give up. */
  async function reconnect() {
    close();
    const problem = await connectionProblem();
    if (isOver || stream !== null || document.hidden) return;
    if (problem) {
      notice(problem);
      later("reconnect", reconnect, AGAIN_MS);
    } else if (tries++ < MAX_TRIES) later("reconnect", adjust, tries > 1 ? AGAIN_MS : 0);
    else notice(MISSING);
  }

  function adjust() {
    clearTimeout(timers.hidden);
    if (isOver) return;
    if (document.hidden) later("hidden", close, HIDDEN_MS);
    else if (stream === null) open();
  }

  open();
  document.addEventListener("visibilitychange", adjust);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", adjust);
  return {
    close() {
      isOver = true;
      clearTimeout(timers.reconnect);
      document.removeEventListener("visibilitychange", adjust);
      close();
    },
  };
}

/** Watches for a server that is gone, on pages that need no other events. */
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

/** Links of the matches that this browser began. */
export const ownLinks = {
  all() {
    try {
      return JSON.parse(localStorage.getItem("ggp-table") ?? "{}");
    } catch {
      return {};
    }
  },
  of: (id) => ownLinks.all()[id] ?? null,
  keep(matches) {
    const stored = ownLinks.all();
    for (const { id, links, key } of matches) stored[id] = { links, key };
    const latest = Object.entries(stored).slice(-200);
    localStorage.setItem("ggp-table", JSON.stringify(Object.fromEntries(latest)));
  },
};

/** Scores as elements, such as `alice 100, bob 0`; without `random`, which has no goal. */
export function scores(goals) {
  return Object.entries(goals).filter(([role]) => role !== "random").map(([role, goal]) =>
    el("span", { class: "score" }, name(role, 40), " ", el("b", {}, goal === null ? "–" : `${goal}`)));
}

/** A number with a noun in the singular or plural. */
export const counted = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : /(s|x|ch|sh)$/.test(noun) ? "es" : "s"}`;

/** A box with an error. */
export const trouble = (text) => el("p", { class: "trouble", role: "alert" }, name(text, 2000));

/** Explains a picture of somebody's knowledge. `reply` is `known` of a frame, `who` is "you" or "it". */
export function knownText(reply, who) {
  const states = counted(reply.states, reply.exact ? "state" : "sampled state");
  if (!reply.states) return `No picture: no state was found that fits what ${who} saw.`;
  if (reply.states === 1 && reply.exact) return `This is the only state that fits what ${who} saw.`;
  return `${states} ${reply.states === 1 ? "fits" : "fit"} what ${who} saw. The picture shows what they have in common, and fog where they differ.`;
}
