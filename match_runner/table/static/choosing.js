// Lets a person choose a move: on the board, by clicking or dragging, or with buttons; if there are
// too many buttons, one part of the move at a time.

import { makeDraggable } from "./drag.js";
import { counted, el, fill, name } from "./dom.js";
import { both } from "./words.js";

const UNSURE = "This move is legal, but you cannot know that from what you saw.";

/**
 * The chooser of a seat.
 *
 * @param stage element that holds the board.
 * @param actions element for the buttons.
 * @param onMove called with the chosen move.
 * @param redraw called when the board must be drawn again.
 */
export function chooser(stage, actions, { onMove, redraw }) {
  let moves = [];
  let onBoard = false;
  let alias = new Map();
  let picked = [];
  let path = [];
  const dialog = el("div", { class: "choice", role: "dialog", "aria-label": "Which move?", hidden: true });
  stage.after(dialog);
  dialog.addEventListener("keydown", (event) => { if (event.key === "Escape") unpick(); });
  makeDraggable(stage,
    (from) => moves.filter(({ cells }) => cells.length > 1 && cells[0] === from).map(({ cells }) => cells[1]),
    (from, to) => {
      picked = [from];
      if (to === null) redraw();
      else pick(to);
    });

  const candidates = () => moves.filter(({ cells }) => picked.every((cell, i) => cells[i] === cell));

  /** Begins with the moves of a question; null if there is no question. */
  function ask(asked, picture) {
    moves = (asked ?? []).toSorted((a, b) => a.move.localeCompare(b.move, "en", { numeric: true }));
    picked = [];
    path = [];
    alias = new Map();
    dialog.hidden = true;
    onBoard = (picture?.boards ?? []).some((board) => board.rows.length > 1 || board.rows[0] !== "");
    // For a move that drops a piece, every cell of the column stands for the top cell.
    for (const { cells, drops } of moves) {
      if (!drops || !cells.length) continue;
      for (const board of picture?.boards ?? []) {
        const top = board.cells.find(({ id }) => id === cells[0]);
        if (top) for (const cell of board.cells) if (cell.column === top.column) alias.set(cell.id, cells[0]);
      }
    }
  }

  /** Options for drawing the board. */
  function onStage() {
    const next = candidates().filter(({ cells }) => cells.length > picked.length);
    const targets = next.map(({ cells }) => cells[picked.length]);
    const others = [...alias].filter(([, top]) => targets.includes(top)).map(([cell]) => cell);
    const first = picked.length ? moves.map(({ cells }) => cells[0]).filter(Boolean) : [];
    const isLast = next.every(({ cells }) => cells.length === picked.length + 1);
    return {
      onCell: pick,
      playable: new Set([...targets, ...others, ...picked, ...first]),
      targets: new Set(isLast || picked.length ? targets : []),
      selected: picked.at(-1) ?? null,
    };
  }

  function pick(chosen) {
    const cell = alias.get(chosen) ?? chosen;
    if (picked.includes(cell)) picked = picked.slice(0, picked.indexOf(cell));
    else picked = [...picked, cell];
    if (!candidates().length) picked = [cell].filter((each) => moves.some(({ cells }) => cells[0] === each));
    const fitting = candidates();
    const exact = fitting.filter(({ cells }) => cells.length === picked.length);
    if (picked.length && exact.length === 1 && fitting.length === 1) {
      onMove(exact[0].move);
      return;
    }
    redraw();
    if (picked.length && exact.length) askWhich(fitting);
  }

  /** Asks for one of several moves that name the same cells, such as promotions. */
  function askWhich(fitting) {
    fill(dialog, el("p", {}, "Which move?"), el("div", { class: "move-buttons" }, ...fitting.map(button)),
      el("button", { type: "button", class: "quiet-button", onClick: unpick }, "Cancel"));
    dialog.hidden = false;
    dialog.querySelector("button").focus();
  }

  function unpick() {
    picked = [];
    dialog.hidden = true;
    redraw();
    stage.focus({ preventScroll: true });
  }

  function button({ move, words, sure }) {
    return el("button", {
      type: "button", class: sure ? "move" : "move unsure", "data-move": move,
      // The second click of a double click is not meant for the button that has come into its place.
      onClick: (event) => { if (event.detail < 2) onMove(move); },
      "aria-description": sure ? null : UNSURE,
    }, both(words, move, 120));
  }

  /** Draws the buttons of moves that are not on the board. */
  function draw() {
    const beside = onBoard ? moves.filter(({ cells }) => !cells.length) : moves;
    dialog.hidden = dialog.hidden || !picked.length;
    fill(actions, hint(beside), beside.length ? el("div", { class: "move-buttons" }, ...beside.map(button)) : null);
    if (beside.length > 1 && overflows(actions)) drawParts(beside);
    const unsure = beside.some(({ sure }) => !sure);
    if (unsure) actions.append(el("p", { class: "quiet footnote" }, "Dashed: legal, but you cannot know that from what you saw."));
  }

  function hint(beside) {
    if (!onBoard || moves.length === beside.length) return null;
    const from = picked.length ? candidates().length : 0;
    const first = moves.some(({ cells }) => cells.length > 1) ? "Choose a piece, then where it goes." : "Choose a cell.";
    return el("p", { class: "quiet hint" }, from ? `${counted(from, "move")} from there.` : first);
  }

  /** Buttons for one part of the moves: the first part in which they differ. */
  function drawParts(beside) {
    const rest = beside.filter(({ move }) => path.every((part, i) => parts(move)[i] === part));
    let at = path.length;
    while (rest.length > 1 && new Set(rest.map(({ move }) => parts(move)[at])).size < 2) at += 1;
    const groups = Map.groupBy(rest, ({ move }) => parts(move)[at]);
    const buttons = [...groups].map(([part, those]) => (those.length === 1 ? button(those[0])
      : el("button", { type: "button", class: "move part", onClick: () => {
        path = parts(those[0].move).slice(0, at + 1);
        drawParts(beside);
        actions.querySelector("button.move")?.focus({ preventScroll: true });
      } }, name((at ? "" : common(those)) || part.replaceAll("_", " "), 60), " …")));
    const back = el("button", { type: "button", class: "quiet-button", onClick: () => { path = []; drawParts(beside); } }, "Start over");
    fill(actions,
      at ? el("p", { class: "chosen-parts" }, name(`${parts(rest[0].move).slice(0, at).join(" ").replaceAll("_", " ")} …`, 80), " ",
        path.length ? back : null) : null,
      el("div", { class: "move-buttons" }, ...buttons));
    // In a narrow place, the remaining parts of the moves are enough.
    if (overflows(actions)) for (const [number, [part, those]] of [...groups].entries()) {
      if (those.length > 1) continue;
      buttons[number].setAttribute("aria-label", those[0].words);
      fill(buttons[number], name(part.replaceAll("_", " "), 60));
    }
  }

  /** All moves as buttons, for those who like lists. */
  const list = () => el("div", { class: "move-buttons" }, ...moves.map(button));

  return { ask, onStage, draw, list, many: () => moves.length };
}

const parts = (move) => move.replace(/[()]/g, " ").trim().split(/\s+/);

/** The words with which the texts of some moves begin. */
function common(moves) {
  const [first, ...others] = moves.map(({ words }) => words.split(" "));
  const at = first.findIndex((word, i) => others.some((other) => other[i] !== word));
  return first.slice(0, Math.max(0, at)).join(" ");
}

const overflows = (element) => element.scrollHeight > element.clientHeight + 1;
