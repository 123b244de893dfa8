// The course of a match: a player for its turns, a list of its moves, and a chart of values.

import { el, fill, name, shape } from "./dom.js";
import { isWaiting, move as moveWords } from "./words.js";

const SPEEDS = [0.5, 1, 2, 5];
/** Whether the user prefers less motion. */
const SLOW = window.matchMedia("(prefers-reduced-motion: reduce)");
const MARKS = ["circle", "square", "triangle", "cross", "diamond", "bar"];

/**
 * Buttons that play the turns one after the other.
 *
 * @param next goes to the next turn; returns false if there is none.
 */
export function player(next) {
  let timer = null;
  const speed = el("select", { "aria-label": "Turns per second", title: "Turns per second", onChange: () => { if (timer) play(); } },
    ...SPEEDS.map((rate) => el("option", { value: `${rate}`, selected: rate === (SLOW.matches ? 0.5 : 1) }, `${rate} per second`)));
  const button = el("button", { type: "button", class: "play", onClick: () => (timer ? pause() : play()) }, "Play");

  function play() {
    clearInterval(timer);
    timer = setInterval(async () => { if (!await next()) pause(); }, 1000 / Number(speed.value));
    fill(button, "Pause");
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    fill(button, "Play");
  }

  return { elements: [button, speed], pause, toggle: () => (timer ? pause() : play()) };
}

/** The moves of all turns as links, without roles that wait. */
export function moveList(turns, currentTurn, go) {
  return el("ol", { class: "move-list", start: "0" }, ...turns.map((turn) => {
    const moves = Object.entries(turn.moves ?? {}).filter(([, kif]) => !isWaiting(kif));
    const words = turn.turn ? moves.flatMap(([role, kif], i) => [i ? ", " : null, name(role, 30), ": ", moveWords(kif)]) : ["initial state"];
    return el("li", {}, el("a", {
      href: `#turn=${turn.turn}`, "aria-current": turn.turn === currentTurn ? "step" : null,
      onClick: (event) => { event.preventDefault(); go(turn.turn); },
    }, ...(words.length ? words : ["everybody waits"])));
  }));
}

/** For each role the values of its moves, turn by turn, and the value furthest from its score. */
function courses(turns, goals) {
  const byRole = new Map();
  for (const turn of turns) {
    for (const [role, value] of Object.entries(turn.values ?? {})) {
      if (!byRole.has(role)) byRole.set(role, { role, points: [], worst: null });
      const course = byRole.get(role);
      const decisionTurn = turn.turn - 1;
      course.points.push({ turn: decisionTurn, value });
      const goal = goals?.[role];
      if (goal === null || goal === undefined) continue;
      const error = Math.abs(value - goal);
      if (!course.worst || error > course.worst.error) course.worst = { turn: decisionTurn, value, error, goal };
    }
  }
  return [...byRole.values()];
}

/** A chart of values over time; null if no player reported values. */
export function valueChart(turns, currentTurn, goals, go) {
  const curves = courses(turns, goals);
  if (!curves.length) return null;
  const last = Math.max(1, turns.length - 1);
  const [width, height] = [600, 160];
  const x = (turn) => 30 + (turn / last) * (width - 40);
  const y = (value) => height - 18 - (value / 100) * (height - 28);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": "Value of the chosen move, by turn" });
  for (const value of [0, 50, 100]) {
    svg.append(shape("line", { x1: x(0), x2: x(last), y1: y(value), y2: y(value), class: "chart-grid" }));
    svg.append(text(24, y(value) + 4, `${value}`, "end"));
  }
  svg.append(shape("line", { x1: x(currentTurn), x2: x(currentTurn), y1: y(0), y2: y(100), class: "chart-now" }));
  curves.forEach(({ points, worst }, number) => {
    const line = points.map(({ turn, value }) => `${x(turn).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    svg.append(shape("polyline", { points: line, class: "chart-line", "data-owner": number % 6, "stroke-dasharray": ["", "6 3", "2 3", "8 2 2 2"][number % 4] }));
    for (const { turn, value } of points) svg.append(mark(MARKS[number % MARKS.length], x(turn), y(value), number));
    if (worst) svg.append(shape("circle", { cx: x(worst.turn), cy: y(worst.value), r: 8, class: "chart-worst" }));
  });
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const clickX = ((event.clientX - box.left) / box.width) * width;
    go(Math.round(((clickX - 30) / (width - 40)) * last));
  });
  const keys = curves.map(({ role, worst }, number) => el("li", {}, key(number), " ", name(role, 40),
    worst && worst.error >= 1 ? [": furthest from its score in ", el("button", { type: "button", class: "link worst", onClick: () => go(worst.turn) }, `turn ${worst.turn}`),
      `, ${worst.value.toFixed(0)} against ${worst.goal}`] : null));
  return el("figure", { class: "values-over-time" }, el("figcaption", {}, "Each role's value of its move"), svg, el("ul", { class: "chart-keys" }, ...keys));
}

function key(number) {
  const svg = shape("svg", { viewBox: "0 0 12 12", class: "chart-key", "aria-hidden": "true" });
  svg.append(mark(MARKS[number % MARKS.length], 6, 6, number));
  return svg;
}

function mark(kind, x, y, number) {
  const paths = {
    circle: "M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0", square: "M-3,-3h6v6h-6z", triangle: "M0,-4l4,7h-8z",
    cross: "M-3,-3l6,6M3,-3l-6,6", diamond: "M0,-4l4,4l-4,4l-4,-4z", bar: "M0,-4v8",
  };
  return shape("path", { d: paths[kind], transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, class: "chart-mark", "data-owner": number % 6 });
}

function text(x, y, words, anchor) {
  const element = shape("text", { x, y, "text-anchor": anchor, class: "chart-text" });
  element.textContent = words;
  return element;
}
