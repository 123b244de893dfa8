// Parts of panels beside the board: facts that are not on it, and the game's description.

import { besideBoards, drawPicture } from "./board.js";
import { el, fill, name } from "./dom.js";

/** Facts that are not on the boards of a state, and the picture of the percepts, if there is one. */
export function drawState(picture, view) {
  const rest = picture.boards.length ? besideBoards(picture) : null;
  return [
    rest ? el("section", { "aria-label": "Facts beside the board" }, drawPicture(rest, {})) : null,
    view ? el("section", { "aria-labelledby": "you-saw" }, el("h2", { id: "you-saw" }, "You saw"), drawPicture(view, {})) : null,
  ];
}

/** The game in the words of its rulesheet: description, moves, percepts and scores. */
export function aboutGame(about) {
  if (!about?.text && !Object.keys(about?.sections ?? {}).length) return null;
  const paragraphs = (about.text ?? "").split("\n").filter(Boolean);
  const sections = Object.entries(about.sections).filter(([title]) => title !== "Source");
  return el("details", { class: "about-game" },
    el("summary", {}, "Rules, and the meaning of percepts"),
    el("div", { class: "about" },
      ...paragraphs.map((text) => el("p", {}, name(text, 3000))),
      el("dl", {}, ...sections.flatMap(([title, lines]) => [el("dt", {}, name(title)), el("dd", {}, name(lines.join("\n"), 3000))]))));
}

const STEP_MS = 500;
/** Seconds in which the bar moves two thirds of the way to the end of a step: a guess. */
const GUESS_S = 8;

/** A progress bar for the steps before a match; `show` takes the server's report, or null. */
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
    show(reply) {
      element.hidden = !reply;
      if (reply && reply.text !== step?.text) began_ms = Date.now();
      step = reply;
      clearInterval(timer);
      if (!reply) return;
      fill(words, `${reply.text} …`, reply.note ? ` (${reply.note})` : "");
      tick();
      timer = setInterval(tick, STEP_MS);
    },
  };
}
