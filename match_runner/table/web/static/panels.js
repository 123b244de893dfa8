// Parts of panels beside the board: what is not on it, and what the game is about.

import { drawPicture } from "./board.js";
import { el, name } from "./dom.js";

/** What is not on the boards of a state, and the picture of what was seen, if there is one. */
export function drawState(picture, view) {
  const hasRest = picture.boards.length && (picture.facts.length || picture.tables.length);
  return [
    hasRest ? el("section", { "aria-label": "What is not on the board" }, drawPicture({ ...picture, boards: [] }, {})) : null,
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
