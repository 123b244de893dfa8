// A person's seat: the board, the umpire's words, the clock; and in a panel beside or below, the
// turns, the rules and the settings.

import { boardsOf, drawPicture, flip, hasBoard } from "./board.js";
import { chooser } from "./choosing.js";
import { ask, counted, el, fill, follow, knownText, name, say, scores, show, stay } from "./dom.js";
import { redrawn } from "./motion.js";
import { aboutGame, drawState, progress } from "./panels.js";
import { ending, outcomeOf, resignedBy } from "./seat_end.js";
import { flipButton, set, setting } from "./settings.js";
import { play } from "./sound.js";
import { inWords, isWaiting, learn, move as moveWords, percept, sayings, wordsAndKif } from "./words.js";

/** Time after which the seat is reloaded if the server refused a forced move. */
const AGAIN_MS = 1_000;

/** The percepts that say more than moves and board show. */
const news = (percepts) => sayings(percepts).filter((kif) => !/^\(did /.test(kif));

export async function seat(id) {
  const path = `/api/seats/${id}`;
  let snapshot = await ask(path);
  let possibilities = null;
  let endView = null;
  snapshot.turns.forEach((turn) => learn(turn.words));

  const status = el("p", { class: "status" });
  const clock = el("p", { class: "clock", role: "timer" });
  const goals = el("p", { class: "goals" });
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
  const backButton = el("button", { type: "button", hidden: true, onClick: takeBack }, "Take back");
  const resignButton = el("button", { type: "button", onClick: () => resignDialog.showModal() }, "Resign");
  const flipper = flipButton(`${snapshot.match.game}/${snapshot.role}`, flip, () => draw());
  const tools = el("div", { class: "match-buttons" }, flipper, resignButton);
  const others = el("section", { class: "others", "aria-label": "Another match" });
  const resignDialog = el("dialog", { class: "card", "aria-label": "Resign?" },
    el("p", {}, "If you resign, the match ends here."),
    el("form", { method: "dialog", class: "move-buttons" },
      el("button", { class: "primary", onClick: () => ask(`${path}/resign`, {}).catch(showProblem) }, "Resign"),
      el("button", {}, "Play on")));
  const moreButton = el("button", { type: "button", class: "more-button", "aria-expanded": "false", "aria-controls": "more", onClick: toggleMore }, "More");
  const links = el("p", { class: "links" });
  const morePanel = el("aside", { class: "more stack", id: "more", "aria-label": "Turns, rules and settings" },
    others, tools, about, state, everyMove,
    el("section", { "aria-labelledby": "turns" }, el("h2", { id: "turns" }, "Your turns"), turns),
    aboutGame(snapshot.about), settingsPanel(), links);
  if (snapshot.open_minds) links.append(el("a", { href: `/match/${snapshot.match.id}` }, "Watch everything, players' minds included"));
  // A visitor with only this seat's link gets no further.
  if (snapshot.more) links.append(el("a", { href: "/" }, "To the lobby"));
  else document.querySelector(".brand").removeAttribute("href");
  const page = el("div", { class: "seat-page" },
    el("section", { class: "turnbar", "aria-label": "The turn" }, el("div", { class: "turn-line" }, status, clock, goals), waitBar.element, umpire),
    el("section", { class: "stage-place", "aria-label": "What you know" }, stage),
    el("section", { class: "moves" }, el("h2", { id: "moves-title", class: "unseen" }, "Your moves"), actions),
    el("div", { class: "tools" }, possibilitiesButton, backButton, moreButton), morePanel, resignDialog);
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
      endView ??= ending({ snapshot, path, stage, actions, others });
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
      const { kind, words } = outcomeOf(snapshot);
      status.dataset.outcome = kind;
      fill(status, name(words));
      if (resignedBy(match)) fill(goals, el("span", { class: "quiet" }, "no scores: it was not played out"));
      else fill(goals, ...(["won", "lost", "drew"].includes(kind) && !match.error ? scores(match.goals) : []));
    } else if (snapshot.ask?.moves.length === 1 && setting("forced")) {
      const onlyMove = snapshot.ask.moves[0];
      fill(status, isWaiting(onlyMove.move) ? "You wait." : ["Your only move: ", wordsAndKif(onlyMove.words, onlyMove.move)]);
    } else if (snapshot.ask) fill(status, `Turn ${snapshot.ask.turn + 1}: it is your move.`);
    else if (snapshot.waiting?.length) fill(status, "Waiting for ", name(snapshot.waiting.join(", "), 80), " …");
    else fill(status, snapshot.frame ? "The others are thinking …" : "Preparing the match …");
    const step = match.status === "over" ? null : snapshot.preparing;
    waitBar.show(step && (!snapshot.frame || step.share < 1 || step.note) ? step : null);
    fill(umpire, ...toldSinceChoice());
  }

  /**
   * Moves of the others and percepts since this role last had a choice, or made the move that ended the match;
   * repetitions in a row are counted.
   */
  function toldSinceChoice() {
    const turns = snapshot.turns.filter((turn) => turn.turn);
    const moved = (turn) => !isWaiting(turn.move);
    const ended = snapshot.match.status === "over" ? turns.at(-1) : null;
    const choice = turns.findLastIndex((turn) => (turn.chose ?? moved(turn)) || (turn === ended && moved(turn)));
    const lines = turns.slice(Math.max(0, choice)).flatMap((turn) => [
      ...othersMoves(turn).map(([role, move]) => el("span", {}, name(role, 40), ": ", moveWords(move))),
      ...news(turn.percepts).map((kif) => percept(kif, turn.words)),
    ]);
    if (!lines.length && choice >= 0) return turns[choice].chose === false ? [] : [el("span", { class: "quiet" }, "Since your last choice you were told nothing.")];
    const different = lines.filter((line, number) => line.textContent !== lines[number - 1]?.textContent);
    return different.flatMap((line, number) => {
      const end = number + 1 < different.length ? lines.indexOf(different[number + 1]) : lines.length;
      const times = end - lines.indexOf(line);
      return [number ? " " : null, line, times > 1 ? ` (${times} times)` : null];
    });
  }

  /** Known moves of the other roles in a turn, without those that waited. */
  const othersMoves = (turn) => Object.entries(turn.moves ?? {}).filter(([role, move]) => role !== snapshot.role && !isWaiting(move));

  function drawBoard() {
    if (!snapshot.frame) return;
    const focused = document.activeElement?.dataset?.cell;
    const picture = possibilities ?? snapshot.frame.state;
    const isBoard = hasBoard(picture);
    page.classList.toggle("has-board", isBoard);
    redrawn(stage, () => fill(stage, drawPicture(isBoard ? boardsOf(picture) : picture, { ...choice.onStage(), at: lastCell, marked: snapshot.frame.marks })));
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
    const isOver = snapshot.match.status === "over";
    possibilitiesButton.hidden = !known?.states || known.states === 1 || isOver;
    backButton.hidden = !snapshot.can_take_back || isOver || !snapshot.turns.some((turn) => turn.chose);
    backButton.disabled = !snapshot.ask;
    resignButton.hidden = isOver;
    flipper.hidden = !picture || !hasBoard(picture);
    about.hidden = isOver;
    fill(about, known ? knownText(known, "you") : snapshot.frame ? "Everybody sees everything." : "");
    fill(state, ...(picture && !isOver ? drawState(picture, view) : []));
    fill(turns, ...snapshot.turns.filter((turn) => turn.turn).reverse().map(turnLine));
  }

  /** A turn: the own move, known moves of other roles, and percepts. */
  function turnLine(turn) {
    const ownMove = isWaiting(turn.move) ? ["you wait"] : ["you: ", moveWords(turn.move)];
    const moves = othersMoves(turn).map(([role, move]) => [name(role, 40), ": ", moveWords(move)]);
    const told = news(turn.percepts);
    const lines = isWaiting(turn.move) && moves.length ? moves : [ownMove, ...moves];
    return el("li", { value: `${turn.turn}` },
      ...lines.map((move) => el("span", {}, ...move)),
      told.length ? el("span", { class: "seen" }, ...told.flatMap((kif, number) => [number ? " · " : null, percept(kif, turn.words)])) : null,
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
      box("kif", "Show KIF instead of words"),
      box("sound", "Sound", () => play("turn")));
  }

  // ---------------------------------------------------------------- moves

  /** Plays a forced move, if the setting says so. */
  function playForced() {
    if (snapshot.ask?.moves.length !== 1 || !setting("forced")) return;
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

  /** Asks for another course of the match; the server then has this page reload the seat. */
  async function takeBack() {
    await ask(`${path}/back`, {}).catch(showProblem);
  }

  const showProblem = (error) => fill(status, error.message);

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
      play("move");
      if (possibilities) showPossibilities(true);
      if (frame.turn) say(`Turn ${frame.turn}: you saw ${sayings(frame.percepts).map((kif) => inWords("percepts", kif)).join(" ") || "nothing"}`);
    },
    ask: (question) => {
      snapshot.ask = question;
      newQuestion();
      draw();
      tick();
      playForced();
      if (snapshot.ask) play("turn");
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
      play("end");
      say(status.textContent);
      stay();
    },
  });
}
