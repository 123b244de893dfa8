// A person's seat: the knowledge of its role, its moves as buttons and on the board, the clock.

import { drawPicture } from "./board.js";
import { ask, counted, el, fill, follow, knownText, name, saw, say, scores, show, stay, term } from "./dom.js";

const MANY_MOVES = 24;

export async function seat(id) {
  const path = `/api/seats/${id}`;
  let told = await ask(path);
  let picked = [];
  let wanted = "";

  const status = el("p", { class: "status" });
  const clock = el("p", { class: "clock", role: "timer" });
  const board = el("div", { class: "picture-place" });
  const moves = el("div", { class: "moves", tabindex: "-1", "aria-labelledby": "moves-title" });
  const movesTitle = el("h2", { id: "moves-title" }, "Your moves");
  const about = el("p", { class: "quiet" });
  const history = el("ol", { class: "history", reversed: true });
  const end = el("div");
  const minds = told.open_minds
    ? [el("p", { class: "links" }, el("a", { href: `/match/${told.match.id}` }, "Everything, and every mind"))]
    : [];
  // Whoever has only this seat's link gets no further.
  if (!told.more) document.querySelector(".brand").removeAttribute("href");
  show(`${told.match.game}: you play ${told.role}`,
    el("div", { class: "seat-page" },
      el("section", { class: "stack", "aria-label": "What you know" }, status, clock, end, board, about, ...minds),
      el("div", { class: "stack" },
        el("section", {}, movesTitle, moves),
        el("section", { "aria-labelledby": "history" }, el("h2", { id: "history" }, "Your turns"), history))));

  function draw() {
    drawStatus();
    drawBoard();
    drawMoves();
    drawHistory();
  }

  function drawStatus() {
    const { match } = told;
    if (match.status === "over") {
      const mine = match.goals?.[told.role];
      fill(status, match.error ? `The match ended early: ${match.error}` : `The match is over: you got ${mine ?? "no"} points.`);
      fill(end, match.goals && !match.error ? el("p", {}, ...scores(match.goals)) : null,
        told.more ? el("p", { class: "links" }, el("a", { href: `/match/${match.id}` }, "Replay, with everything that was hidden"),
          el("a", { href: "/" }, "To the lobby")) : null);
    } else if (told.ask) fill(status, `Turn ${told.ask.turn + 1}: it is your move.`);
    else if (told.waiting?.length) fill(status, "Waiting for ", name(told.waiting.join(", "), 80), " …");
    else fill(status, told.frame ? "The others are thinking …" : "The match is being prepared …");
  }

  function candidates() {
    const every = told.ask?.moves ?? [];
    return every.filter((move) => picked.every((cell, i) => move.cells[i] === cell));
  }

  function drawBoard() {
    if (!told.frame) return;
    const focused = document.activeElement?.dataset?.cell;
    const next = candidates().filter((move) => move.cells.length > picked.length).map((move) => move.cells[picked.length]);
    const picture = drawPicture(told.frame.state, {
      onCell: pick,
      playable: new Set([...next, ...picked]),
      selected: picked.at(-1) ?? null,
      marked: told.frame.marks,
    });
    const seen = told.frame.view
      ? el("section", { "aria-label": "What you saw of the last turn" }, el("h2", {}, "You saw"), drawPicture(told.frame.view, {}))
      : null;
    fill(board, picture, seen);
    if (focused) cellOf(focused)?.focus();
    const { known } = told.frame;
    fill(about, known ? knownText(known, "you") : "Everybody sees this.");
  }

  const cellOf = (id) => [...board.querySelectorAll("[data-cell]")].find((each) => each.dataset.cell === id);

  function pick(cell) {
    if (picked.includes(cell)) picked = picked.slice(0, picked.indexOf(cell));
    else picked = [...picked, cell];
    const fitting = candidates();
    if (!fitting.length) picked = [cell].filter((c) => told.ask?.moves.some((move) => move.cells[0] === c));
    const exact = candidates().filter((move) => move.cells.length === picked.length);
    if (picked.length && exact.length === 1 && candidates().length === 1) {
      send(exact[0].move);
      return;
    }
    drawBoard();
    drawMoves();
  }

  function drawMoves() {
    const hadFocus = moves.contains(document.activeElement) || document.activeElement === document.body;
    const isFilter = document.activeElement?.id === "filter";
    if (!told.ask) {
      fill(moves, el("p", { class: "quiet" }, told.match.status === "over" ? "None: the match is over." : "None at the moment."));
      if (hadFocus && !isFilter) moves.focus({ preventScroll: true });
      return;
    }
    const every = candidates();
    const fitting = every.filter(({ move }) => move.toLowerCase().includes(wanted));
    const filter = told.ask.moves.length > MANY_MOVES
      ? el("div", { class: "field" }, el("label", { for: "filter" }, "Find"),
        el("input", { id: "filter", type: "search", value: wanted, onInput: (event) => {
          wanted = event.target.value.toLowerCase();
          drawMoves();
          const field = document.getElementById("filter");
          field.focus();
          field.setSelectionRange(wanted.length, wanted.length);
        } }))
      : null;
    const chosen = picked.length
      ? el("p", { class: "quiet" }, `${counted(every.length, "move")} from there. `,
        el("button", { type: "button", onClick: () => { picked = []; drawBoard(); drawMoves(); } }, "All moves"))
      : null;
    fill(moves, filter, chosen, el("div", { class: "move-buttons" }, ...fitting.map(({ move, sure }) =>
      el("button", { type: "button", class: sure ? "move" : "move unsure", onClick: () => send(move),
        title: sure ? null : "You cannot know from what you saw that this is legal; it is." }, name(move, 120)))),
      fitting.some(({ sure }) => !sure) ? el("p", { class: "quiet" }, "Dashed: that it is legal does not follow from what you saw.") : null);
    if (hadFocus && !isFilter) moves.querySelector("button.move")?.focus({ preventScroll: true });
  }

  function drawHistory() {
    fill(history, ...told.turns.filter((turn) => turn.turn).reverse().map((turn) => el("li", { value: `${turn.turn}` },
      el("span", {}, "you: ", term(turn.move)),
      turn.moves ? el("span", {}, ...Object.entries(turn.moves).filter(([role]) => role !== told.role).flatMap(
        ([role, move]) => [" ", name(role, 40), ": ", term(move)])) : null,
      el("span", { class: "seen" }, ...saw(turn.percepts, turn.moves ?? {})),
      ...turn.faults.map((fault) => el("span", { class: "fault" }, name(fault))))));
  }

  async function send(move) {
    const asked = told.ask;
    if (!asked) return;
    told.ask = null;
    picked = [];
    wanted = "";
    draw();
    try {
      await ask(`${path}/move`, { turn: asked.turn, move });
    } catch (error) {
      told.ask = asked;
      draw();
      fill(status, error.message);
    }
  }

  function tick() {
    const until_s = told.ask?.until_s;
    if (!until_s) {
      fill(clock);
      return;
    }
    const left_s = Math.max(0, until_s - Date.now() / 1000);
    fill(clock, `${Math.floor(left_s / 60)}:${`${Math.floor(left_s % 60)}`.padStart(2, "0")}`);
    clock.classList.toggle("short", left_s < 10);
  }

  async function again() {
    told = await ask(path);
    picked = [];
    draw();
  }

  draw();
  setInterval(tick, 250);
  if (told.match.status === "over") {
    stay();
    return;
  }
  const stream = follow(`${path}/events?after=${told.last}`, {
    reset: again,
    frame: (frame) => {
      told.frame = frame;
      told.ask = null;
      picked = [];
      wanted = "";
      told.turns.push(frame);
      draw();
      if (frame.turn) say(`Turn ${frame.turn}: you saw ${frame.percepts.join(", ") || "nothing"}`);
    },
    ask: (question) => {
      told.ask = question;
      draw();
      tick();
      say(`Turn ${question.turn + 1}: it is your move; ${counted(question.moves.length, "legal move")}`);
    },
    moved: () => {
      told.ask = null;
      draw();
    },
    waiting: (waiting) => {
      told.waiting = waiting.for.filter((role) => role !== told.role);
      drawStatus();
    },
    end: (result) => {
      stream.close();
      told.match = { ...told.match, ...result, status: "over" };
      told.ask = null;
      draw();
      say(status.textContent);
      stay();
    },
  });
}
