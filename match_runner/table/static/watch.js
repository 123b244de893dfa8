// A match for visitors who may see all of it: the state and every role's view, turn by turn.

import { besideBoards, boardsOf, drawPicture, flip, hasBoard } from "./board.js";
import { ask, counted, el, fill, follow, knownText, name, ownLinks, say, scores, show, stay } from "./dom.js";
import { bagWords, decisionTable, mindPanel } from "./mind.js";
import { aboutGame, progress } from "./panels.js";
import { redrawn } from "./motion.js";
import { moveList, player, valueChart } from "./replay.js";
import { flipButton } from "./settings.js";
import { inWords, isWaiting, learn, move as moveWords, saw } from "./words.js";

export async function watch(path, id, key) {
  const query = key ? `?key=${encodeURIComponent(key)}` : "";
  const snapshot = await ask(path + query);
  const isRecord = path.startsWith("/api/records");
  const frames = new Map();
  const thoughts = new Map();
  const minds = new Map();
  let currentTurn = 0;
  let isLive = true;
  if (snapshot.frame) frames.set(snapshot.frame.turn, snapshot.frame);
  snapshot.turns.forEach((turn) => learn(turn.words));

  const last = () => Math.max(0, snapshot.turns.length - 1);
  const slider = el("input", { type: "range", id: "turn", min: "0", step: "1", onInput: () => go(Number(slider.value)) });
  const number = el("output", { for: "turn" });
  const step = (title, sign, to) => el("button", { type: "button", "aria-label": title, title, onClick: () => go(to()) }, sign);
  const playing = player(async () => {
    await go(currentTurn + 1);
    return currentTurn < last();
  });
  const flipper = flipButton(snapshot.match.game, flip, () => draw());
  const controls = el("div", { class: "controls", role: "group", "aria-label": "Turns" },
    step("First turn", "|◀", () => 0), step("Previous turn", "◀", () => currentTurn - 1),
    el("label", { for: "turn", class: "unseen" }, "Turn"), slider,
    step("Next turn", "▶", () => currentTurn + 1), step("Last turn", "▶|", last), number, ...playing.elements);
  const status = el("p", { class: "status" });
  const waitBar = progress();
  const state = el("div", { class: "picture-place" });
  const besideBoard = el("div");
  const about = el("p", { class: "quiet" });
  const title = el("h2", { id: "state" }, "The state");
  const faults = el("ul", { class: "faults" });
  const takenBack = (snapshot.match.taken_back ?? []).map(({ role, turn, move }) =>
    el("li", {}, name(role, 40), ` took back its move in turn ${turn + 1}: `, moveWords(move)));
  const cards = el("div", { class: "roles" });
  const list = el("div", { class: "scrolls-down" });
  const chart = el("div");
  const download = el("p", { class: "links" });
  const endButton = el("button", { type: "button", class: "quiet-button", onClick: endMatch }, "End the match");
  show(snapshot.match.game,
    controls,
    el("div", { class: "watch-page" },
      el("section", { class: "stack", "aria-labelledby": "state" },
        title, status, waitBar.element, state, besideBoard, about, faults, el("ul", { class: "faults quiet" }, ...takenBack),
        chart, el("div", { class: "row" }, flipper, download),
        isRecord || snapshot.match.status === "over" ? null : endButton, aboutGame(snapshot.about)),
      el("section", { class: "stack", "aria-labelledby": "roles" },
        el("h2", { id: "roles" }, "Every role's moves and percepts"), cards,
        el("details", { class: "all-moves", open: true }, el("summary", {}, "All moves"), list))));

  async function endMatch() {
    const ownMatch = ownLinks.of(id);
    try {
      await ask(`${path}/end`, { key: key ?? ownMatch?.key ?? "" });
    } catch (error) {
      fill(status, name(error.message));
    }
  }

  async function frameOf(turn) {
    if (!frames.has(turn)) frames.set(turn, await ask(`${path}/turns/${turn}${query}`));
    return frames.get(turn);
  }

  async function go(turn, fromAddress = false) {
    currentTurn = Math.min(Math.max(0, turn), last());
    isLive = currentTurn === last() && snapshot.match.status !== "over";
    if (!fromAddress) history.replaceState(null, "", isLive ? location.pathname + location.search : `#turn=${currentTurn}`);
    await draw();
  }

  async function draw() {
    slider.max = last();
    slider.value = currentTurn;
    slider.setAttribute("aria-valuetext", `turn ${currentTurn} of ${last()}`);
    fill(number, `turn ${currentTurn} of ${last()}`);
    drawStatus();
    drawCourse();
    if (!snapshot.turns.length) return;
    const requested = currentTurn;
    const frame = await frameOf(requested);
    if (requested !== currentTurn) return;
    const isBoard = hasBoard(frame.state);
    const rest = isBoard ? besideBoards(frame.state) : null;
    flipper.hidden = !isBoard;
    state.classList.toggle("half-place", isBoard);
    redrawn(state, () => fill(state, drawPicture(isBoard ? boardsOf(frame.state) : frame.state, { marked: frame.marks, ended: frame.ended })));
    fill(besideBoard, rest && drawPicture(rest, {}));
    // The log of a server has only one role's percepts, which may not determine the state.
    if (frame.known) fill(title, "What ", name(snapshot.match.roles[0], 40), " knew");
    fill(about, frame.known ? knownText(frame.known, "it") : "");
    fill(faults, ...frame.faults.map((fault) => el("li", { class: "fault" }, name(fault.role, 40), ": ", name(fault.text, 400))));
    fill(cards, ...snapshot.match.roles.map((role) => card(role, frame)));
  }

  function drawCourse() {
    fill(list, moveList(snapshot.turns, currentTurn, go));
    const current = list.querySelector("[aria-current]");
    if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
    fill(chart, valueChart(snapshot.turns, currentTurn, snapshot.match.goals, go));
    const isWhole = snapshot.match.status === "over" && snapshot.sees === "all";
    const file = isRecord ? `${path}/file` : `${path}/record`;
    fill(download, isWhole ? el("a", { href: file, download: "" }, "Download the record") : null,
      snapshot.match.status === "over" ? el("button", { type: "button", class: "quiet-button", onClick: copyLink }, "Copy a link to this turn") : null);
  }

  async function copyLink(event) {
    const link = `${location.origin}${location.pathname}#turn=${currentTurn}`;
    await navigator.clipboard?.writeText(link).catch(() => {});
    history.replaceState(null, "", `#turn=${currentTurn}`);
    fill(event.target, "Copied");
  }

  function drawStatus() {
    const { match } = snapshot;
    waitBar.show(snapshot.turns.length || match.status === "over" ? null : snapshot.preparing);
    if (currentTurn < last()) fill(status);
    else if (match.status === "over") {
      fill(status, match.error ? `The match ended early: ${match.error}` : "The match is over: ",
        match.goals && !match.error ? el("span", {}, ...scores(match.goals)) : "");
    } else if (snapshot.waiting?.length) fill(status, "Waiting for ", name(snapshot.waiting.join(", "), 80), " …");
    else fill(status, snapshot.turns.length ? "The players are thinking …" : "The match is waiting for a worker …");
  }

  function card(role, frame) {
    const player = snapshot.match.players[role];
    const decision = frame.decisions[role];
    const thought = isLive ? thoughts.get(role) : null;
    const move = frame.moves[role];
    const percepts = frame.percepts[role];
    const mind = player === undefined || snapshot.sees !== "all" ? null : mindOf(role);
    return el("article", { class: "card role", "aria-label": `Role ${role}` },
      el("h3", {}, name(role, 60), " ", el("span", { class: "quiet" }, name(player ?? (role === "random" ? "chance" : "played elsewhere"), 80))),
      move === undefined ? null : el("p", {}, ...(isWaiting(move) ? ["waited"] : [role === "random" ? null : "played ", moveWords(move)])),
      percepts && role !== "random" ? el("p", { class: "seen" }, ...saw(percepts, frame.moves)) : null,
      frame.views[role] ? drawPicture(frame.views[role], {}) : null,
      thought ? thinking("Thinking now", thought.decision) : decision && decision.values.some((value) => value.visits) ? thinking("What it thought", decision) : null,
      mind);
  }

  const thinking = (title, decision) => el("details", { open: true },
    el("summary", {}, title, particles(decision)), decisionTable([{ player: "", decision }]));

  /** The particles of a decision, in words; records of earlier versions have less about them. */
  function particles({ particles: number, exact, quality }) {
    if (!number) return null;
    const amount = (quality && bagWords(quality)) || `${counted(number, "particle")}${exact ? ", all there can be" : ""}`;
    return el("span", { class: "quiet" }, ` · ${amount}`);
  }

  /** The panel of a role's mind; it stays until another turn is shown. */
  function mindOf(role) {
    const earlier = minds.get(role);
    if (earlier && (earlier.turn === currentTurn || !earlier.panel.isOpen())) {
      earlier.turn = currentTurn;
      return earlier.panel.element;
    }
    const panel = mindPanel(role, (move, line) => {
      const parameters = new URLSearchParams({ role, turn: `${minds.get(role).turn}`, seed: "0" });
      if (key) parameters.set("key", key);
      if (move !== null) {
        parameters.set("move", move);
        parameters.set("line", `${line}`);
      }
      return `${path}/mind?${parameters}`;
    });
    minds.set(role, { panel, turn: currentTurn });
    earlier?.panel.stop();
    if (earlier) panel.open();
    return panel.element;
  }

  const fromAddress = () => {
    const turnInAddress = /^#turn=(\d+)$/.exec(location.hash);
    return turnInAddress ? Number(turnInAddress[1]) : null;
  };
  window.addEventListener("hashchange", () => { if (fromAddress() !== null) go(fromAddress(), true); });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.closest("input, select, textarea, [data-cell]")) return;
    if (event.key === " " && !event.target.closest("button, a, summary")) {
      event.preventDefault();
      playing.toggle();
      return;
    }
    const to = { ArrowLeft: currentTurn - 1, ArrowRight: currentTurn + 1, Home: 0, End: last() }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  });
  // A replay begins at the beginning.
  await go(fromAddress() ?? (snapshot.match.status === "over" ? 0 : last()), true);
  if (snapshot.match.status === "over") {
    stay();
    return;
  }

  let isDue = false;
  const soon = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(async () => { isDue = false; await draw(); });
  };
  const stream = follow(`${path}/events?after=${snapshot.last}${key ? `&key=${encodeURIComponent(key)}` : ""}`, {
    reset: () => location.reload(),
    frame: (frame) => {
      learn(frame.words);
      frames.set(frame.turn, frame);
      snapshot.turns.push(frame);
      thoughts.clear();
      snapshot.waiting = [];
      if (isLive) {
        currentTurn = last();
        say(`Turn ${frame.turn}: ${Object.entries(frame.moves).map(([role, move]) => `${role} ${inWords("moves", move)}`).join(", ")}`);
      }
      soon();
    },
    thought: (thought) => {
      thoughts.set(thought.role, thought);
      if (isLive && thought.turn === last()) soon();
    },
    preparing: (preparing) => {
      snapshot.preparing = preparing;
      drawStatus();
    },
    waiting: (waiting) => {
      snapshot.waiting = waiting.for;
      drawStatus();
    },
    end: (outcome) => {
      stream.close();
      snapshot.match = { ...snapshot.match, ...outcome, status: "over" };
      endButton.remove();
      isLive = false;
      soon();
      say("The match is over");
      stay();
    },
  });
}
