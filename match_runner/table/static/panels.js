// Parts of panels beside the board: what is not on it, and what the game is about.

import { besideBoards, drawPicture } from "./board.js";
import { el, fill, name } from "./dom.js";

/** What is not on the boards of a state, and the picture of what was seen, if there is one. */
export function drawState(picture, view) {
  const rest = picture.boards.length ? besideBoards(picture) : null;
  return [
    rest ? el("section", { "aria-label": "What is not on the board" }, drawPicture(rest, {})) : null,
    view ? el("section", { "aria-labelledby": "you-saw" }, el("h2", { id: "you-saw" }, "You saw"), drawPicture(view, {})) : null,
  ];
}

/** The game in the words of its rulesheet: what it is about, moves, percepts and scores. */
export function aboutGame(about) {
  if (!about?.text && !Object.keys(about?.sections ?? {}).length) return null;
  const paragraphs = (about.text ?? "").split("\n").filter(Boolean);
  const sections = Object.entries(about.sections).filter(([title]) => title !== "Source");
  return el("details", { class: "about-game" },
    el("summary", {}, "Rules, and what each percept means"),
    el("div", { class: "about" },
      ...paragraphs.map((text) => el("p", {}, name(text, 3000))),
      el("dl", {}, ...sections.flatMap(([title, lines]) => [el("dt", {}, name(title)), el("dd", {}, name(lines.join("\n"), 3000))]))));
}

const STEP_MS = 500;
/** Seconds in which a step gets two thirds of the way to its end, as far as one can guess. */
const GUESS_S = 8;

/** A bar that shows what is done before a match begins; `show` takes what the server says of it, or null. */
export function progress() {
  const bar = el("progress", { max: "1", "aria-label": "Preparing" });
  const words = el("span", { class: "quiet" });
  const element = el("div", { class: "progress", hidden: true }, bar, words);
  let began_ms = 0;
  let step = null;
  let timer = null;

  function tick() {
    const passed_s = (Date.now() - began_ms) / 1000;
    bar.value = step.share + (step.until - step.share) * (1 - Math.exp(-passed_s / GUESS_S));
  }

  return {
    element,
    show(told) {
      element.hidden = !told;
      if (told && told.text !== step?.text) began_ms = Date.now();
      step = told;
      clearInterval(timer);
      if (!told) return;
      fill(words, `${told.text} …`, told.note ? ` (${told.note})` : "");
      tick();
      timer = setInterval(tick, STEP_MS);
    },
  };
}
