// A person's seat: the board that it plays on, what the umpire says, the clock; and in a panel beside
// or below, its turns, the rules and the settings.

import { boardsOf, drawPicture, hasBoard } from "./board.js";
import { chooser } from "./choosing.js";
import { ask, counted, el, fill, follow, knownText, name, say, show, stay } from "./dom.js";
import { aboutGame, drawState, progress } from "./panels.js";
import { ending } from "./seat_end.js";
import { set, setting } from "./settings.js";
import { both, inWords, isWaiting, learn, move as moveWords, percept } from "./words.js";

/** Time until a move without a choice that was not taken is looked at again. */
const AGAIN_MS = 1_000;
/** So many turns are spoken of where no board shows what is known. */
const MOST_SEEN = 3;

/** Whether a percept only repeats a move that is shown. */
const isMove = (percept) => /^\(did /.test(percept);

/** Whether something was seen in a turn besides moves that are shown. */
const hasNews = (turn) => !turn.percepts.every(isMove);

export async function seat(id) {
  const path = `/api/seats/${id}`;
  let told = await ask(path);
  let may = null;
  let end = null;
  /** Turns in which there was one move only. */
  const forced = new Set();
  told.turns.forEach((turn) => learn(turn.words));

  const status = el("p", { class: "status" });
  const clock = el("p", { class: "clock", role: "timer" });
  const waitBar = progress();
  const umpire = el("p", { class: "umpire", "aria-label": "What you saw" });
  const stage = el("div", { class: "stage", tabindex: "-1" });
  const actions = el("div", { class: "actions", tabindex: "-1", "aria-labelledby": "moves-title" });
  const turns = el("ol", { class: "history", reversed: true });
  const state = el("div", { class: "stack" });
  const list = el("div");
  const about = el("p", { class: "quiet" });
  const everyMove = el("details", { onToggle: () => drawList() }, el("summary", {}, "All moves as a list"), list);
  const mayButton = el("button", { type: "button", "aria-pressed": "false", hidden: true, onClick: () => showMay(!may) }, "What may it be?");
  const moreButton = el("button", { type: "button", class: "more-button", "aria-expanded": "false", "aria-controls": "more", onClick: toggleMore }, "More");
  const links = el("p", { class: "links" });
  const more = el("aside", { class: "more stack", id: "more", "aria-label": "Turns, rules and settings" },
    about, state, everyMove,
    el("section", { "aria-labelledby": "turns" }, el("h2", { id: "turns" }, "Your turns"), turns),
    aboutGame(told.about), settingsPanel(), links);
  if (told.open_minds) links.append(el("a", { href: `/match/${told.match.id}` }, "Everything, and every mind"));
  // Whoever has only this seat's link gets no further.
  if (told.more) links.append(el("a", { href: "/" }, "To the lobby"));
  else document.querySelector(".brand").removeAttribute("href");
  const page = el("div", { class: "seat-page" },
    el("section", { class: "turnbar", "aria-label": "The turn" }, el("div", { class: "turn-line" }, status, clock), waitBar.element, umpire),
    el("section", { class: "stage-place", "aria-label": "What you know" }, stage),
    el("section", { class: "moves" }, el("h2", { id: "moves-title", class: "unseen" }, "Your moves"), actions),
    el("div", { class: "tools" }, mayButton, moreButton), more);
  document.body.classList.add("at-seat");
  show(`${told.match.game}: you play ${told.role}`, page);

  // Keys go on where they were, but begin anew in every turn.
  let lastCell = null;
  stage.addEventListener("focusin", ({ target }) => { lastCell = target.dataset.cell ?? lastCell; });
  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    stage.querySelector("[data-cell][tabindex='0']")?.focus();
  });
  const choice = chooser(stage, actions, { onMove: (move) => send(move), redraw: drawBoard });
  newQuestion();

  function newQuestion() {
    choice.ask(told.ask?.moves, told.frame?.state);
    learn({ moves: Object.fromEntries((told.ask?.moves ?? []).map(({ move, words }) => [move, words])) });
  }

  function draw() {
    const isOver = told.match.status === "over";
    page.classList.toggle("over", isOver);
    drawStatus();
    if (isOver) {
      if (!end && told.more) links.prepend(el("a", { href: `/match/${told.match.id}` }, "Replay, with every mind"));
      end ??= ending({ told, path, stage, actions });
      end.draw();
    } else {
      drawBoard();
      drawMoves();
    }
    drawPanel();
  }

  function drawStatus() {
    const { match } = told;
    if (match.status === "over") {
      const mine = match.goals?.[told.role];
      fill(status, match.error ? `The match ended early: ${match.error}` : `The match is over: you got ${mine ?? "no"} points.`);
    } else if (told.ask?.moves.length === 1 && setting("forced")) {
      const only = told.ask.moves[0];
      fill(status, isWaiting(only.move) ? "You wait." : ["You can only: ", both(only.words, only.move)]);
    } else if (told.ask) fill(status, `Turn ${told.ask.turn + 1}: it is your move.`);
    else if (told.waiting?.length) fill(status, "Waiting for ", name(told.waiting.join(", "), 80), " …");
    else fill(status, told.frame ? "The others are thinking …" : "The match is being prepared …");
    waitBar.show(told.frame || match.status === "over" ? null : told.preparing);
    fill(umpire, ...lastSeen());
  }

  /** What was seen since this role last had a choice; what is said twice in a row is said once. */
  function lastSeen() {
    const said = newTurns().flatMap((turn) => [
      ...Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== told.role && !isWaiting(move)),
      ...turn.percepts.filter((each) => !isMove(each)),
    ]);
    return said.filter((each, number) => each !== said[number - 1]).flatMap((each, number) => [
      number ? " " : null,
      typeof each === "string" ? percept(each) : el("span", {}, name(each[0], 40), ": ", moveWords(each[1])),
    ]);
  }

  /**
   * The turns that the umpire still speaks of: those since the last own choice, and that itself. A
   * move that is answered at once was refused: what went before still counts, and the same refusal is
   * said once. Where no board shows what is known, the last turns in which something was seen count.
   */
  function newTurns() {
    const turns = told.turns.filter((turn) => turn.turn);
    if (told.frame && !told.frame.state.boards.length) return turns.filter(hasNews).slice(told.match.status === "over" ? -1 : -MOST_SEEN);
    const isOwn = (turn) => turn && !forced.has(turn.turn - 1) && !isWaiting(turn.move);
    const found = [];
    let at = turns.length - 1;
    if (isOwn(turns[at])) {
      while (isOwn(turns[at - 1]) && `${turns[at - 1].percepts}` === `${turns[at].percepts}`) at -= 1;
      found.unshift(turns[at]);
      at = isOwn(turns[at - 1]) ? -1 : at - 1;
    }
    for (; at >= 0; at -= 1) {
      found.unshift(turns[at]);
      if (isOwn(turns[at])) break;
    }
    return found;
  }

  function drawBoard() {
    if (!told.frame) return;
    const focused = document.activeElement?.dataset?.cell;
    const picture = may ?? told.frame.state;
    const isBoard = hasBoard(picture);
    page.classList.toggle("has-board", isBoard);
    fill(stage, drawPicture(isBoard ? boardsOf(picture) : picture, { ...choice.onStage(), at: lastCell, marked: told.frame.marks }));
    if (focused) [...stage.querySelectorAll("[data-cell]")].find((each) => each.dataset.cell === focused)?.focus();
  }

  function drawMoves() {
    const isIdle = !told.ask || (told.ask.moves.length === 1 && setting("forced"));
    if (isIdle) fill(actions);
    else choice.draw();
    drawList();
  }

  function drawList() {
    everyMove.hidden = !told.ask || choice.many() < 2;
    fill(list, everyMove.open && told.ask ? choice.list() : null);
  }

  function drawPanel() {
    const { known, state: picture, view } = told.frame ?? {};
    mayButton.hidden = !known?.states || known.states === 1 || told.match.status === "over";
    fill(about, known ? knownText(known, "you") : told.frame ? "Everybody sees everything." : "");
    fill(state, ...(picture ? drawState(picture, view) : []));
    fill(turns, ...told.turns.filter((turn) => turn.turn).reverse().map(turnLine));
  }

  /** What a turn told: the own move, those of others that are known, and percepts. */
  function turnLine(turn) {
    const others = Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== told.role && !isWaiting(move));
    const mine = isWaiting(turn.move) ? ["you wait"] : ["you: ", moveWords(turn.move)];
    const moves = others.map(([role, move]) => [name(role, 40), ": ", moveWords(move)]);
    const news = turn.percepts.filter((each) => !isMove(each));
    const said = isWaiting(turn.move) && moves.length ? moves : [mine, ...moves];
    return el("li", { value: `${turn.turn}` },
      ...said.map((move) => el("span", {}, ...move)),
      news.length ? el("span", { class: "seen" }, ...news.flatMap((each, number) => [number ? " · " : null, percept(each)])) : null,
      ...turn.faults.map((fault) => el("span", { class: "fault" }, name(fault))));
  }

  // ---------------------------------------------------------------- what may be where

  async function showMay(isShown) {
    may = isShown ? await ask(`${path}/may/${told.frame.turn}`).catch(() => null) : null;
    mayButton.setAttribute("aria-pressed", `${may !== null}`);
    page.classList.toggle("shows-may", may !== null);
    drawBoard();
  }

  // ---------------------------------------------------------------- panel and settings

  function toggleMore() {
    const isOpen = page.classList.toggle("shows-more");
    moreButton.setAttribute("aria-expanded", `${isOpen}`);
    fill(moreButton, isOpen ? "Back to the board" : "More");
  }

  function settingsPanel() {
    const box = (id, text, onSet) => el("label", { class: "switch" },
      el("input", { type: "checkbox", id: `set-${id}`, checked: setting(id), onChange: (event) => {
        set(id, event.target.checked);
        onSet?.();
      } }), ` ${text}`);
    return el("section", { "aria-labelledby": "settings" }, el("h2", { id: "settings" }, "Settings"),
      box("forced", "Play moves without a choice by themselves", () => { playForced(); draw(); }),
      box("kif", "Show terms of the rules (KIF)"));
  }

  // ---------------------------------------------------------------- moves

  /** Plays the only move there is, if the person likes that. */
  function playForced() {
    if (told.ask?.moves.length !== 1 || !setting("forced")) return;
    forced.add(told.ask.turn);
    send(told.ask.moves[0].move, true);
  }

  async function send(move, isForced = false) {
    const asked = told.ask;
    if (!asked) return;
    const hadFocus = stage.contains(document.activeElement) ? stage : actions;
    const isChosen = !isForced && page.contains(document.activeElement) && !more.contains(document.activeElement);
    told.ask = null;
    newQuestion();
    if (isForced) told.ask = { ...asked, moves: asked.moves };
    draw();
    told.ask = null;
    // Not a button of the next turn: a key that is pressed again must not play that.
    if (isChosen) hadFocus.focus({ preventScroll: true });
    try {
      await ask(`${path}/move`, { turn: asked.turn, move });
    } catch (error) {
      if (isForced) { // another window of this seat was faster, or the move never arrived
        later();
        return;
      }
      told.ask = asked;
      newQuestion();
      draw();
      fill(status, error.message);
    }
  }

  // ---------------------------------------------------------------- time

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

  /** Reads the seat again, as soon as the server answers. */
  const later = () => setTimeout(() => again().catch(later), AGAIN_MS);

  async function again() {
    told = await ask(path);
    told.turns.forEach((turn) => learn(turn.words));
    newQuestion();
    draw();
    playForced();
  }

  draw();
  playForced();
  setInterval(tick, 250);
  window.addEventListener("resize", () => { if (told.match.status !== "over") drawMoves(); });
  if (told.match.status === "over") {
    stay();
    return;
  }
  const stream = follow(`${path}/events?after=${told.last}`, {
    reset: again,
    preparing: (preparing) => {
      told.preparing = preparing;
      drawStatus();
    },
    frame: (frame) => {
      learn(frame.words);
      told.frame = frame;
      told.ask = null;
      told.turns.push(frame);
      newQuestion();
      draw();
      if (may) showMay(true);
      if (frame.turn) say(`Turn ${frame.turn}: you saw ${frame.percepts.map((each) => inWords("percepts", each)).join(" ") || "nothing"}`);
    },
    ask: (question) => {
      told.ask = question;
      newQuestion();
      draw();
      tick();
      playForced();
      if (told.ask) say(`Turn ${question.turn + 1}: it is your move; ${counted(question.moves.length, "legal move")}`);
    },
    moved: () => {
      told.ask = null;
      newQuestion();
      draw();
    },
    waiting: (waiting) => {
      told.waiting = waiting.for.filter((role) => role !== told.role);
      if (!told.ask) drawStatus();
    },
    end: (result) => {
      stream.close();
      told.match = { ...told.match, ...result, status: "over" };
      told.ask = null;
      newQuestion();
      draw();
      say(status.textContent);
      stay();
    },
  });
}
