// A person's seat: the board, the umpire's words, the clock; and in a panel beside or below, the
// turns, the rules and the settings.

import { boardsOf, drawPicture, hasBoard } from "./board.js";
import { chooser } from "./choosing.js";
import { ask, counted, el, fill, follow, knownText, name, say, show, stay } from "./dom.js";
import { aboutGame, drawState, progress } from "./panels.js";
import { ending } from "./seat_end.js";
import { set, setting } from "./settings.js";
import { both, inWords, isWaiting, learn, move as moveWords, percept } from "./words.js";

/** Time after which the seat is reloaded if the server refused a forced move. */
const AGAIN_MS = 1_000;
/** Most turns in the umpire's words where no board shows what is known. */
const MAX_SEEN = 3;

/** Whether a percept only repeats a move that is shown. */
const isMove = (percept) => /^\(did /.test(percept);

/** Whether a turn has percepts besides moves that are shown. */
const hasNews = (turn) => !turn.percepts.every(isMove);

export async function seat(id) {
  const path = `/api/seats/${id}`;
  let snapshot = await ask(path);
  let may = null;
  let end = null;
  /** Turns with a forced move. */
  const forced = new Set();
  snapshot.turns.forEach((turn) => learn(turn.words));

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
  const mayButton = el("button", { type: "button", "aria-pressed": "false", hidden: true, onClick: () => showMay(!may) }, "Show possibilities");
  const moreButton = el("button", { type: "button", class: "more-button", "aria-expanded": "false", "aria-controls": "more", onClick: toggleMore }, "More");
  const links = el("p", { class: "links" });
  const more = el("aside", { class: "more stack", id: "more", "aria-label": "Turns, rules and settings" },
    about, state, everyMove,
    el("section", { "aria-labelledby": "turns" }, el("h2", { id: "turns" }, "Your turns"), turns),
    aboutGame(snapshot.about), settingsPanel(), links);
  if (snapshot.open_minds) links.append(el("a", { href: `/match/${snapshot.match.id}` }, "Watch everything, players' minds included"));
  // A visitor with only this seat's link gets no further.
  if (snapshot.more) links.append(el("a", { href: "/" }, "To the lobby"));
  else document.querySelector(".brand").removeAttribute("href");
  const page = el("div", { class: "seat-page" },
    el("section", { class: "turnbar", "aria-label": "The turn" }, el("div", { class: "turn-line" }, status, clock), waitBar.element, umpire),
    el("section", { class: "stage-place", "aria-label": "What you know" }, stage),
    el("section", { class: "moves" }, el("h2", { id: "moves-title", class: "unseen" }, "Your moves"), actions),
    el("div", { class: "tools" }, mayButton, moreButton), more);
  document.body.classList.add("at-seat");
  show(`${snapshot.match.game}: you play ${snapshot.role}`, page);

  // Arrow keys continue from the last cell.
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
    choice.ask(snapshot.ask?.moves, snapshot.frame?.state);
    learn({ moves: Object.fromEntries((snapshot.ask?.moves ?? []).map(({ move, words }) => [move, words])) });
  }

  function draw() {
    const isOver = snapshot.match.status === "over";
    page.classList.toggle("over", isOver);
    drawStatus();
    if (isOver) {
      if (!end && snapshot.more) links.prepend(el("a", { href: `/match/${snapshot.match.id}` }, "Replay, with all minds"));
      end ??= ending({ snapshot, path, stage, actions });
      end.draw();
    } else {
      drawBoard();
      drawMoves();
    }
    drawPanel();
  }

  function drawStatus() {
    const { match } = snapshot;
    if (match.status === "over") {
      const mine = match.goals?.[snapshot.role];
      fill(status, match.error ? `The match ended early: ${match.error}` : `The match is over: you scored ${mine ?? "no"} points.`);
    } else if (snapshot.ask?.moves.length === 1 && setting("forced")) {
      const only = snapshot.ask.moves[0];
      fill(status, isWaiting(only.move) ? "You wait." : ["Your only move: ", both(only.words, only.move)]);
    } else if (snapshot.ask) fill(status, `Turn ${snapshot.ask.turn + 1}: it is your move.`);
    else if (snapshot.waiting?.length) fill(status, "Waiting for ", name(snapshot.waiting.join(", "), 80), " …");
    else fill(status, snapshot.frame ? "The others are thinking …" : "Preparing the match …");
    waitBar.show(snapshot.frame || match.status === "over" ? null : snapshot.preparing);
    fill(umpire, ...lastSeen());
  }

  /** Moves and percepts since this role last had a choice, without repetitions in a row. */
  function lastSeen() {
    const said = newTurns().flatMap((turn) => [
      ...Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== snapshot.role && !isWaiting(move)),
      ...turn.percepts.filter((each) => !isMove(each)),
    ]);
    return said.filter((each, number) => each !== said[number - 1]).flatMap((each, number) => [
      number ? " " : null,
      typeof each === "string" ? percept(each) : el("span", {}, name(each[0], 40), ": ", moveWords(each[1])),
    ]);
  }

  /**
   * The turns in the umpire's words: the last turn in which the role had a choice, and all turns
   * since. Two such turns in a row mean that the umpire refused a move: then earlier turns still count,
   * and equal refusals appear once. Where no board shows what is known, the last turns with percepts
   * count.
   */
  function newTurns() {
    const turns = snapshot.turns.filter((turn) => turn.turn);
    if (snapshot.frame && !snapshot.frame.state.boards.length) return turns.filter(hasNews).slice(snapshot.match.status === "over" ? -1 : -MAX_SEEN);
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
    if (!snapshot.frame) return;
    const focused = document.activeElement?.dataset?.cell;
    const picture = may ?? snapshot.frame.state;
    const isBoard = hasBoard(picture);
    page.classList.toggle("has-board", isBoard);
    fill(stage, drawPicture(isBoard ? boardsOf(picture) : picture, { ...choice.onStage(), at: lastCell, marked: snapshot.frame.marks }));
    if (focused) [...stage.querySelectorAll("[data-cell]")].find((each) => each.dataset.cell === focused)?.focus();
  }

  function drawMoves() {
    const isIdle = !snapshot.ask || (snapshot.ask.moves.length === 1 && setting("forced"));
    if (isIdle) fill(actions);
    else choice.draw();
    drawList();
  }

  function drawList() {
    everyMove.hidden = !snapshot.ask || choice.many() < 2;
    fill(list, everyMove.open && snapshot.ask ? choice.list() : null);
  }

  function drawPanel() {
    const { known, state: picture, view } = snapshot.frame ?? {};
    mayButton.hidden = !known?.states || known.states === 1 || snapshot.match.status === "over";
    fill(about, known ? knownText(known, "you") : snapshot.frame ? "Everybody sees everything." : "");
    fill(state, ...(picture ? drawState(picture, view) : []));
    fill(turns, ...snapshot.turns.filter((turn) => turn.turn).reverse().map(turnLine));
  }

  /** A turn: the own move, known moves of other roles, and percepts. */
  function turnLine(turn) {
    const others = Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== snapshot.role && !isWaiting(move));
    const mine = isWaiting(turn.move) ? ["you wait"] : ["you: ", moveWords(turn.move)];
    const moves = others.map(([role, move]) => [name(role, 40), ": ", moveWords(move)]);
    const news = turn.percepts.filter((each) => !isMove(each));
    const said = isWaiting(turn.move) && moves.length ? moves : [mine, ...moves];
    return el("li", { value: `${turn.turn}` },
      ...said.map((move) => el("span", {}, ...move)),
      news.length ? el("span", { class: "seen" }, ...news.flatMap((each, number) => [number ? " · " : null, percept(each)])) : null,
      ...turn.faults.map((fault) => el("span", { class: "fault" }, name(fault))));
  }

  // ---------------------------------------------------------------- possibilities

  async function showMay(isShown) {
    may = isShown ? await ask(`${path}/may/${snapshot.frame.turn}`).catch(() => null) : null;
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
      box("forced", "Play forced moves", () => { playForced(); draw(); }),
      box("kif", "Show KIF instead of words"));
  }

  // ---------------------------------------------------------------- moves

  /** Plays a forced move, if the setting says so. */
  function playForced() {
    if (snapshot.ask?.moves.length !== 1 || !setting("forced")) return;
    forced.add(snapshot.ask.turn);
    send(snapshot.ask.moves[0].move, true);
  }

  async function send(move, isForced = false) {
    const asked = snapshot.ask;
    if (!asked) return;
    const hadFocus = stage.contains(document.activeElement) ? stage : actions;
    const isChosen = !isForced && page.contains(document.activeElement) && !more.contains(document.activeElement);
    snapshot.ask = null;
    newQuestion();
    if (isForced) snapshot.ask = { ...asked, moves: asked.moves };
    draw();
    snapshot.ask = null;
    // No button of the next turn gets the focus: a second press of the key must not play it.
    if (isChosen) hadFocus.focus({ preventScroll: true });
    try {
      await ask(`${path}/move`, { turn: asked.turn, move });
    } catch (error) {
      if (isForced) { // another window of this seat was faster, or the move never arrived
        later();
        return;
      }
      snapshot.ask = asked;
      newQuestion();
      draw();
      fill(status, error.message);
    }
  }

  // ---------------------------------------------------------------- time

  function tick() {
    const until_s = snapshot.ask?.until_s;
    if (!until_s) {
      fill(clock);
      return;
    }
    const left_s = Math.max(0, until_s - Date.now() / 1000);
    fill(clock, `${Math.floor(left_s / 60)}:${`${Math.floor(left_s % 60)}`.padStart(2, "0")}`);
    clock.classList.toggle("short", left_s < 10);
  }

  /** Reloads the seat as soon as the server answers. */
  const later = () => setTimeout(() => again().catch(later), AGAIN_MS);

  async function again() {
    snapshot = await ask(path);
    snapshot.turns.forEach((turn) => learn(turn.words));
    newQuestion();
    draw();
    playForced();
  }

  draw();
  playForced();
  setInterval(tick, 250);
  window.addEventListener("resize", () => { if (snapshot.match.status !== "over") drawMoves(); });
  if (snapshot.match.status === "over") {
    stay();
    return;
  }
  const stream = follow(`${path}/events?after=${snapshot.last}`, {
    reset: again,
    preparing: (preparing) => {
      snapshot.preparing = preparing;
      drawStatus();
    },
    frame: (frame) => {
      learn(frame.words);
      snapshot.frame = frame;
      snapshot.ask = null;
      snapshot.turns.push(frame);
      newQuestion();
      draw();
      if (may) showMay(true);
      if (frame.turn) say(`Turn ${frame.turn}: you saw ${frame.percepts.map((each) => inWords("percepts", each)).join(" ") || "nothing"}`);
    },
    ask: (question) => {
      snapshot.ask = question;
      newQuestion();
      draw();
      tick();
      playForced();
      if (snapshot.ask) say(`Turn ${question.turn + 1}: it is your move; ${counted(question.moves.length, "legal move")}`);
    },
    moved: () => {
      snapshot.ask = null;
      newQuestion();
      draw();
    },
    waiting: (waiting) => {
      snapshot.waiting = waiting.for.filter((role) => role !== snapshot.role);
      if (!snapshot.ask) drawStatus();
    },
    end: (result) => {
      stream.close();
      snapshot.match = { ...snapshot.match, ...result, status: "over" };
      snapshot.ask = null;
      newQuestion();
      draw();
      say(status.textContent);
      stay();
    },
  });
}
