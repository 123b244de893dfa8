// Lets a person choose a move: on the board, by clicking or dragging, or with buttons; if there are
// too many buttons, one part of the move at a time.

import { makeDraggable } from "./drag.js";
import { counted, el, fill, name } from "./dom.js";
import { wordsAndKif } from "./words.js";

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
  function ask(legalMoves, picture) {
    moves = (legalMoves ?? []).toSorted((a, b) => a.move.localeCompare(b.move, "en", { numeric: true }));
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
    const aliases = [...alias].filter(([, top]) => targets.includes(top)).map(([cell]) => cell);
    const first = picked.length ? moves.map(({ cells }) => cells[0]).filter(Boolean) : [];
    const isLast = next.every(({ cells }) => cells.length === picked.length + 1);
    return {
      onCell: pick,
      playable: new Set([...targets, ...aliases, ...picked, ...first]),
      targets: new Set(isLast || picked.length ? targets : []),
      selected: picked.at(-1) ?? null,
    };
  }

  function pick(clicked) {
    const cell = alias.get(clicked) ?? clicked;
    if (picked.includes(cell)) picked = picked.slice(0, picked.indexOf(cell));
    else picked = [...picked, cell];
    if (!candidates().length) picked = [cell].filter((candidate) => moves.some(({ cells }) => cells[0] === candidate));
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
    }, wordsAndKif(words, move, 120));
  }

  /** Draws the buttons of moves that are not on the board. */
  function draw() {
    const offBoard = onBoard ? moves.filter(({ cells }) => !cells.length) : moves;
    dialog.hidden = dialog.hidden || !picked.length;
    fill(actions, hint(offBoard), offBoard.length ? el("div", { class: "move-buttons" }, ...offBoard.map(button)) : null);
    if (offBoard.length > 1 && overflows(actions)) drawParts(offBoard);
    const unsure = offBoard.some(({ sure }) => !sure);
    if (unsure) actions.append(el("p", { class: "quiet footnote" }, "Dashed: legal, but you cannot know that from what you saw."));
  }

  function hint(offBoard) {
    if (!onBoard || moves.length === offBoard.length) return null;
    const numCandidates = picked.length ? candidates().length : 0;
    const first = moves.some(({ cells }) => cells.length > 1) ? "Choose a piece, then where it goes." : "Choose a cell.";
    return el("p", { class: "quiet hint" }, numCandidates ? `${counted(numCandidates, "move")} from there.` : first);
  }

  /** Buttons for one part of the moves: the first part in which they differ. */
  function drawParts(offBoard) {
    const remaining = offBoard.filter(({ move }) => path.every((part, i) => parts(move)[i] === part));
    let depth = path.length;
    while (remaining.length > 1 && new Set(remaining.map(({ move }) => parts(move)[depth])).size < 2) depth += 1;
    const groups = Map.groupBy(remaining, ({ move }) => parts(move)[depth]);
    const buttons = [...groups].map(([part, group]) => (group.length === 1 ? button(group[0])
      : el("button", { type: "button", class: "move part", onClick: () => {
        path = parts(group[0].move).slice(0, depth + 1);
        drawParts(offBoard);
        actions.querySelector("button.move")?.focus({ preventScroll: true });
      } }, name((depth ? "" : common(group)) || part.replaceAll("_", " "), 60), " …")));
    const back = el("button", { type: "button", class: "quiet-button", onClick: () => { path = []; drawParts(offBoard); } }, "Start over");
    fill(actions,
      depth ? el("p", { class: "chosen-parts" }, name(`${parts(remaining[0].move).slice(0, depth).join(" ").replaceAll("_", " ")} …`, 80), " ",
        path.length ? back : null) : null,
      el("div", { class: "move-buttons" }, ...buttons));
    // In a narrow place, the remaining parts of the moves are enough.
    if (overflows(actions)) for (const [number, [part, group]] of [...groups].entries()) {
      if (group.length > 1) continue;
      buttons[number].setAttribute("aria-label", group[0].words);
      fill(buttons[number], name(part.replaceAll("_", " "), 60));
    }
  }

  /** All moves as buttons, for those who like lists. */
  const list = () => el("div", { class: "move-buttons" }, ...moves.map(button));

  return { ask, onStage, draw, list, numMoves: () => moves.length };
}

const parts = (move) => move.replace(/[()]/g, " ").trim().split(/\s+/);

/** The words with which the texts of some moves begin. */
function common(moves) {
  const [first, ...following] = moves.map(({ words }) => words.split(" "));
  const length = first.findIndex((word, i) => following.some((text) => text[i] !== word));
  return first.slice(0, Math.max(0, length)).join(" ");
}

const overflows = (element) => element.scrollHeight > element.clientHeight + 1;
