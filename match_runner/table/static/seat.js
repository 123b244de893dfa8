// A person's seat: the board, the umpire's words, the clock; and in a panel beside or below, the
// turns, the rules and the settings.

import { boardsOf, drawPicture, hasBoard } from "./board.js";
import { chooser } from "./choosing.js";
import { ask, counted, el, fill, follow, knownText, name, say, show, stay } from "./dom.js";
import { aboutGame, drawState, progress } from "./panels.js";
import { ending } from "./seat_end.js";
import { set, setting } from "./settings.js";
import { inWords, isWaiting, learn, move as moveWords, percept, wordsAndKif } from "./words.js";

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
  let possibilities = null;
  let endView = null;
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
  const possibilitiesButton = el("button", { type: "button", "aria-pressed": "false", hidden: true, onClick: () => showPossibilities(!possibilities) }, "Show possibilities");
  const moreButton = el("button", { type: "button", class: "more-button", "aria-expanded": "false", "aria-controls": "more", onClick: toggleMore }, "More");
  const links = el("p", { class: "links" });
  const morePanel = el("aside", { class: "more stack", id: "more", "aria-label": "Turns, rules and settings" },
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
    el("div", { class: "tools" }, possibilitiesButton, moreButton), morePanel);
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
      if (!endView && snapshot.more) links.prepend(el("a", { href: `/match/${snapshot.match.id}` }, "Replay, with all minds"));
      endView ??= ending({ snapshot, path, stage, actions });
      endView.draw();
    } else {
      drawBoard();
      drawMoves();
    }
    drawPanel();
  }

  function drawStatus() {
    const { match } = snapshot;
    if (match.status === "over") {
      const score = match.goals?.[snapshot.role];
      fill(status, match.error ? `The match ended early: ${match.error}` : `The match is over: you scored ${score ?? "no"} points.`);
    } else if (snapshot.ask?.moves.length === 1 && setting("forced")) {
      const onlyMove = snapshot.ask.moves[0];
      fill(status, isWaiting(onlyMove.move) ? "You wait." : ["Your only move: ", wordsAndKif(onlyMove.words, onlyMove.move)]);
    } else if (snapshot.ask) fill(status, `Turn ${snapshot.ask.turn + 1}: it is your move.`);
    else if (snapshot.waiting?.length) fill(status, "Waiting for ", name(snapshot.waiting.join(", "), 80), " …");
    else fill(status, snapshot.frame ? "The others are thinking …" : "Preparing the match …");
    const step = match.status === "over" ? null : snapshot.preparing;
    waitBar.show(step && (!snapshot.frame || step.share < 1 || step.note) ? step : null);
    fill(umpire, ...lastSeen());
  }

  /** Moves and percepts since this role last had a choice, without repetitions in a row. */
  function lastSeen() {
    const events = newTurns().flatMap((turn) => [
      ...Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== snapshot.role && !isWaiting(move)),
      ...turn.percepts.filter((kif) => !isMove(kif)),
    ]);
    return events.filter((event, number) => event !== events[number - 1]).flatMap((event, number) => [
      number ? " " : null,
      typeof event === "string" ? percept(event) : el("span", {}, name(event[0], 40), ": ", moveWords(event[1])),
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
    const included = [];
    let index = turns.length - 1;
    if (isOwn(turns[index])) {
      while (isOwn(turns[index - 1]) && `${turns[index - 1].percepts}` === `${turns[index].percepts}`) index -= 1;
      included.unshift(turns[index]);
      index = isOwn(turns[index - 1]) ? -1 : index - 1;
    }
    for (; index >= 0; index -= 1) {
      included.unshift(turns[index]);
      if (isOwn(turns[index])) break;
    }
    return included;
  }

  function drawBoard() {
    if (!snapshot.frame) return;
    const focused = document.activeElement?.dataset?.cell;
    const picture = possibilities ?? snapshot.frame.state;
    const isBoard = hasBoard(picture);
    page.classList.toggle("has-board", isBoard);
    fill(stage, drawPicture(isBoard ? boardsOf(picture) : picture, { ...choice.onStage(), at: lastCell, marked: snapshot.frame.marks }));
    if (focused) [...stage.querySelectorAll("[data-cell]")].find((cell) => cell.dataset.cell === focused)?.focus();
  }

  function drawMoves() {
    const isIdle = !snapshot.ask || (snapshot.ask.moves.length === 1 && setting("forced"));
    if (isIdle) fill(actions);
    else choice.draw();
    drawList();
  }

  function drawList() {
    everyMove.hidden = !snapshot.ask || choice.numMoves() < 2;
    fill(list, everyMove.open && snapshot.ask ? choice.list() : null);
  }

  function drawPanel() {
    const { known, state: picture, view } = snapshot.frame ?? {};
    possibilitiesButton.hidden = !known?.states || known.states === 1 || snapshot.match.status === "over";
    fill(about, known ? knownText(known, "you") : snapshot.frame ? "Everybody sees everything." : "");
    fill(state, ...(picture ? drawState(picture, view) : []));
    fill(turns, ...snapshot.turns.filter((turn) => turn.turn).reverse().map(turnLine));
  }

  /** A turn: the own move, known moves of other roles, and percepts. */
  function turnLine(turn) {
    const otherMoves = Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== snapshot.role && !isWaiting(move));
    const ownMove = isWaiting(turn.move) ? ["you wait"] : ["you: ", moveWords(turn.move)];
    const moves = otherMoves.map(([role, move]) => [name(role, 40), ": ", moveWords(move)]);
    const news = turn.percepts.filter((kif) => !isMove(kif));
    const lines = isWaiting(turn.move) && moves.length ? moves : [ownMove, ...moves];
    return el("li", { value: `${turn.turn}` },
      ...lines.map((move) => el("span", {}, ...move)),
      news.length ? el("span", { class: "seen" }, ...news.flatMap((kif, number) => [number ? " · " : null, percept(kif)])) : null,
      ...turn.faults.map((fault) => el("span", { class: "fault" }, name(fault))));
  }

  // ---------------------------------------------------------------- possibilities

  async function showPossibilities(isShown) {
    possibilities = isShown ? await ask(`${path}/may/${snapshot.frame.turn}`).catch(() => null) : null;
    possibilitiesButton.setAttribute("aria-pressed", `${possibilities !== null}`);
    page.classList.toggle("shows-may", possibilities !== null);
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
    const question = snapshot.ask;
    if (!question) return;
    const hadFocus = stage.contains(document.activeElement) ? stage : actions;
    const isChosen = !isForced && page.contains(document.activeElement) && !morePanel.contains(document.activeElement);
    snapshot.ask = null;
    newQuestion();
    if (isForced) snapshot.ask = { ...question, moves: question.moves };
    draw();
    snapshot.ask = null;
    // No button of the next turn gets the focus: a second press of the key must not play it.
    if (isChosen) hadFocus.focus({ preventScroll: true });
    try {
      await ask(`${path}/move`, { turn: question.turn, move });
    } catch (error) {
      if (isForced) { // another window of this seat was faster, or the move never arrived
        reloadLater();
        return;
      }
      snapshot.ask = question;
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
  const reloadLater = () => setTimeout(() => reload().catch(reloadLater), AGAIN_MS);

  async function reload() {
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
    reset: reload,
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
      if (possibilities) showPossibilities(true);
      if (frame.turn) say(`Turn ${frame.turn}: you saw ${frame.percepts.map((kif) => inWords("percepts", kif)).join(" ") || "nothing"}`);
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
    end: (outcome) => {
      stream.close();
      snapshot.match = { ...snapshot.match, ...outcome, status: "over" };
      snapshot.ask = null;
      newQuestion();
      draw();
      say(status.textContent);
      stay();
    },
  });
}
