// A player's mind: a role's belief, its values of its moves, and lines of play after them.

import { drawPicture } from "./board.js";
import { counted, el, fill, follow, name, shape, trouble } from "./dom.js";
import { fluent, inWords, learn, move as moveWords } from "./words.js";

const MAX_MOVES = 10;
/** Whether the user wants all moves, in every table that is redrawn while a player thinks. */
let isWide = false;

const TITLES = { hyperplay: "HyperPlay", hyperplay2: "HyperPlay-II" };

/**
 * Values of moves, best first, for one player or several side by side.
 *
 * @param thoughts a list of {player, decision}.
 * @param onLines called with a move to show its lines of play; null if there are none.
 */
export function decisionTable(thoughts, onLines = null) {
  const moves = new Map();
  for (const { player, decision } of thoughts) {
    for (const value of decision.values) {
      if (!moves.has(value.move)) moves.set(value.move, {});
      moves.get(value.move)[player] = value;
    }
  }
  const maxRows = isWide ? Infinity : MAX_MOVES;
  const best = ([, values]) => Math.max(...thoughts.map(({ player }) => values[player]?.value ?? -1));
  const rows = [...moves].sort((a, b) => best(b) - best(a));
  const isChosen = (player, move) => thoughts.find((thought) => thought.player === player).decision.move === move;
  const hidden = rows.length - maxRows;
  const showAll = (event) => {
    isWide = true;
    event.target.previousElementSibling.querySelectorAll("tr[hidden]").forEach((row) => { row.hidden = false; });
    event.target.remove();
  };
  return el("div", { class: "scrolls" },
    el("table", { class: "values" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "move"),
        ...thoughts.map(({ player }) => el("th", { scope: "col" }, TITLES[player] ?? "value")),
        onLines ? el("th", { scope: "col" }, el("span", { class: "unseen" }, "lines of play")) : null)),
      el("tbody", {}, ...rows.map(([move, values], number) => el("tr", { hidden: number >= maxRows },
        el("th", { scope: "row" }, moveWords(move)),
        ...thoughts.map(({ player }) => el("td", { class: isChosen(player, move) ? "chosen" : "" },
          bar(values[player]), valueText(values[player], isChosen(player, move)))),
        onLines ? el("td", {}, el("button", { type: "button", class: "quiet-button", "aria-label": `Lines of play after ${inWords("moves", move)}`, onClick: () => onLines(move) }, "lines")) : null)))),
    hidden > 0 ? el("button", { type: "button", class: "quiet-button", onClick: showAll }, `${counted(hidden, "move")} of lower value`) : null);
}

function valueText(value, isChosen) {
  if (!value || value.value === null) return el("span", { class: "number" }, isChosen ? "chosen" : "–");
  const error = value.stderr === null ? "" : ` ± ${value.stderr.toFixed(1)}`;
  return el("span", { class: "number", title: counted(value.visits, "trial") }, `${value.value.toFixed(1)}${error}`,
    isChosen ? el("span", { class: "unseen" }, " chosen") : null);
}

/** A bar from 0 to 100 with a whisker of one standard error. */
function bar(value) {
  if (!value || value.value === null) return null;
  const svg = shape("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" });
  const rect = (x, y, width, height, kind) => svg.append(shape("rect", { x, y, width: Math.max(0, width), height, class: kind }));
  const clamped = (x) => Math.min(100, Math.max(0, x));
  rect(0, 0, 100, 10, "bar-ground");
  rect(0, 1, clamped(value.value), 8, "bar-value");
  if (value.stderr) {
    const low = clamped(value.value - value.stderr);
    const high = clamped(value.value + value.stderr);
    rect(low, 4, high - low, 2, "bar-error");
  }
  return svg;
}

/** A panel that asks the server when it opens. */
export function mindPanel(role, pathOf) {
  const belief = el("div", { class: "stack" });
  const values = el("div", { class: "stack" });
  const lines = el("div", { class: "stack", "aria-live": "polite" });
  const problem = el("div");
  let thoughts = {};
  let stream = null;
  const element = el("details", { class: "mind", onToggle: () => (element.open ? look() : stop()) },
    el("summary", {}, "Look into the mind of ", name(role, 40)),
    el("div", { class: "mind-parts" }, belief, el("div", { class: "stack" }, values, lines, problem)));

  function stop() {
    stream?.close();
    stream = null;
  }

  /** @param line seed of the first line of play after a move. */
  function look(move = null, line = 0) {
    stop();
    fill(problem);
    if (move === null) {
      thoughts = {};
      fill(values);
      fill(lines);
      fill(belief, el("p", { class: "quiet" }, "Thinking …"));
    } else fill(lines, el("p", { class: "quiet" }, "Playing on …"));
    stream = follow(pathOf(move, line), {
      belief: (reply) => fill(belief, ...drawBelief(reply)),
      values: (reply) => {
        learn(reply.words);
        thoughts[reply.player] = reply.decision;
        const thoughtList = Object.entries(thoughts).map(([player, decision]) => ({ player, decision }));
        fill(values, el("h4", {}, "Its values of the next move"), decisionTable(thoughtList, (candidate) => look(candidate)));
      },
      lines: (reply) => {
        learn(reply.words);
        fill(lines, ...drawLines(reply, role, (next) => look(reply.move, next)));
        stop();
      },
      done: stop,
      failed: (reply) => {
        stop();
        fill(problem, trouble(reply.text));
      },
    });
  }

  return { element, stop, isOpen: () => element.open, open: () => { element.open = true; } };
}

/** Least estimated size to show as a power of ten. */
const LARGE = 10_000;

/** How good a bag is, in the words of `ggp.belief.in_words`; empty if a record lacks these numbers. */
export function bagWords({ how, sound, entries, distinct, ess, log_size: size, inexact_turns: turnsAgo }) {
  if (![entries, distinct, ess].every(Number.isFinite)) return "";
  const isExact = how === "exact";
  if (!entries) return `${how}: no state ${isExact ? "fits" : "was found"}`;
  const states = counted(distinct, "state");
  const amount = entries === distinct ? states : `${entries.toLocaleString("en")} entries, ${states}`;
  const effective = `effective ${Math.round(ess).toLocaleString("en")}`;
  const relation = distinct === 1 ? "which is" : "which are";
  if (isExact) return `exact: ${amount}, ${relation} all there can be${Math.round(ess) < entries ? `; ${effective}` : ""}`;
  const ofAll = !Number.isFinite(size) ? "" : `, of about ${sizeWords(size)}`;
  const sinceExact = !Number.isFinite(turnsAgo) ? "" : `, exact ${counted(turnsAgo, "turn")} ago`;
  return `${how}: ${amount}${ofAll}, ${effective}${sinceExact}; ${sound ? "sound" : "not sound: some may not fit the percepts"}`;
}

function sizeWords(logSize) {
  const size = Math.exp(logSize);
  return size < LARGE ? Number(size.toPrecision(2)).toLocaleString("en") : `10^${(logSize / Math.LN10).toFixed(1)}`;
}

function drawBelief({ quality, picture, last }) {
  if (!picture) {
    return [el("p", {}, quality.how === "exact" ? "No state fits its moves and percepts: the match is over for it."
      : "No particle was found that fits its moves and percepts.")];
  }
  return [el("h4", {}, last ? "What it last believed, before the last turn" : "Its belief"), el("p", {}, `${bagWords(quality)}.`), drawPicture(picture, {})];
}

/** Simulations of HyperPlay-II after a move; `onMore` is called with the seed of the next line. */
function drawLines(reply, role, onMore) {
  const title = el("h4", {}, "Lines of play after ", moveWords(reply.move));
  if (!reply.lines.length) return [title, el("p", {}, "It is not legal in any particle.")];
  const last = reply.lines.at(-1).seed;
  return [
    title,
    el("p", { class: "quiet" }, "Simulations of HyperPlay-II: each assumes that one particle is the truth. There every role "
      + "plays on by HyperPlay, knowing only its own moves and percepts."),
    el("ol", { class: "lines" }, ...reply.lines.map((line) => drawLine(line, role))),
    el("button", { type: "button", class: "quiet-button", onClick: () => onMore(last + 1) }, "More lines"),
  ];
}

function drawLine(line, role) {
  // A chance move without alternatives is not worth a line.
  const isIdle = line.turns.every((turn) => turn.random === line.turns[0].random);
  const movers = (turn) => Object.entries(turn).filter(([mover]) => mover !== "random" || !isIdle);
  const supposed = line.supposed.flatMap((fact, number) => [number ? ", " : null, fluent(fact)]);
  return el("li", {},
    el("p", {},
      el("b", {}, line.goal === null ? "did not end in time" : counted(line.goal, "point")), " for ", name(role, 40),
      el("span", { class: "quiet" }, ` · seed ${line.seed}`,
        supposed.length ? [" · if ", ...supposed, line.more_supposed ? ` and ${line.more_supposed} more` : null] : null)),
    el("ol", { class: "line-turns" }, ...line.turns.map((turn) => el("li", {},
      ...movers(turn).map(([mover, move]) => el("span", { class: "line-move" },
        el("span", { class: "quiet" }, name(mover, 20)), " ", moveWords(move)))))),
    line.more_turns ? el("p", { class: "quiet" }, `and ${counted(line.more_turns, "more turn")}`) : null);
}
