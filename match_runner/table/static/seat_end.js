// The end of a match at a seat: who won, the truth beside the role's knowledge, turn by turn, and
// another match.

import { boardsOf, drawPicture, hasBoard } from "./board.js";
import { ask, counted, el, fill, knownText, name } from "./dom.js";
import { goTo } from "./links.js";
import { redrawn } from "./motion.js";
import { stronger, swapped, weaker } from "./strength.js";
import { isWaiting, learn, move as moveWords } from "./words.js";

/** The role that resigned a match, if one did. */
export const resignedBy = (match) => /^(\S+) resigned$/.exec(match.error ?? "")?.[1];

/** How a match ended for a role: `{kind, words}`; kinds are `won`, `lost`, `drew`, `scored` and `none`. */
export function outcomeOf({ match, rules, role }) {
  const players = match.roles.filter((each) => each !== "random");
  const resigned = resignedBy(match);
  if (resigned === role) return { kind: "lost", words: "You resigned" };
  if (resigned && players.length === 2 && !rules.shares_goals) return { kind: "won", words: `You won: ${resigned} resigned` };
  if (match.error) return { kind: "none", words: `The match ended early: ${match.error}` };
  const own = match.goals?.[role] ?? null;
  if (own === null) return { kind: "none", words: "The match is over: the rules give no score" };
  if (players.length === 1) return { kind: "scored", words: `You scored ${counted(own, "point")}` };
  if (rules.shares_goals) return { kind: "scored", words: `Together you scored ${counted(own, "point")}` };
  const best = Math.max(...players.filter((each) => each !== role).map((each) => match.goals[each] ?? 0));
  if (own > best) return { kind: "won", words: "You won" };
  return own < best ? { kind: "lost", words: "You lost" } : { kind: "drew", words: "You drew" };
}

/**
 * @param snapshot the state of the seat, from the server.
 * @param path path of the seat's answers.
 * @param stage, actions, others elements to draw in; `others` is for what need not be in sight.
 */
export function ending({ snapshot, path, stage, actions, others }) {
  const truths = new Map();
  const seatFrames = new Map();
  let turn = -1;
  // The server keeps the truth, but the seat's frames only for a while.
  const last = () => Math.max(0, snapshot.played ?? snapshot.turns.length - 1);
  const slider = el("input", { type: "range", id: "turn", min: "0", step: "1", onInput: () => go(Number(slider.value)) });
  const number = el("output", { for: "turn" });
  const step = (title, sign, offset) => el("button", { type: "button", "aria-label": title, title, onClick: () => go(turn + offset) }, sign);
  const links = el("div");
  const problem = el("p", { class: "trouble", "aria-live": "polite" });

  const fetched = async (cache, index, kind) => {
    if (!cache.has(index)) cache.set(index, await ask(`${path}/${kind}/${index}`).catch(() => null));
    return cache.get(index);
  };

  async function go(to) {
    turn = Math.min(Math.max(0, to), last());
    const requested = turn;
    slider.max = last();
    slider.value = turn;
    fill(number, `turn ${turn}\u00a0of\u00a0${last()}`);
    const [truth, seatFrame] = await Promise.all([fetched(truths, requested, "truth"), fetched(seatFrames, requested, "turns")]);
    if (requested !== turn) return;
    learn(truth?.words);
    const when = seatFrame?.over ? "Before the last turn: " : "";
    const knew = seatFrame?.known ? half("What you knew", seatFrame, when, knownText(seatFrame.known, "you")) : null;
    redrawn(stage, () => fill(stage, el("div", { class: "halves" }, knew,
      truth ? half("The truth", truth, ...moves(truth)) : el("p", {}, "The record of this match cannot be replayed."))));
    halves.hidden = !knew || !truth;
  }

  function half(title, { state, marks, ended }, ...words) {
    const picture = hasBoard(state) ? boardsOf(state) : state;
    return el("section", { class: "half", "aria-label": title }, el("h2", {}, title), el("p", { class: "quiet" }, ...words),
      el("div", { class: hasBoard(state) ? "half-place" : "half-place scrolls-down" }, drawPicture(picture, { marked: marks, ended })));
  }

  const moves = (frame) => Object.entries(frame.moves).filter(([, move]) => !isWaiting(move)).flatMap(
    ([role, move], number) => [number ? "; " : null, name(role, 40), ": ", moveWords(move)]);

  async function begin(change) {
    fill(problem);
    try {
      const { matches } = await ask(`/api/matches/${snapshot.match.id}/again`, change);
      goTo(matches, links);
    } catch (error) {
      fill(problem, error.message);
    }
  }

  /** Which of the two boards is in sight, where there is room for one only. */
  const halves = el("div", { class: "which-half", role: "group", "aria-label": "Board", hidden: true }, ...["The truth", "What you knew"].map((words, number) =>
    el("button", { type: "button", "aria-pressed": `${!number}`, onClick: (event) => {
      stage.classList.toggle("shows-knew", number === 1);
      for (const button of halves.children) button.setAttribute("aria-pressed", `${button === event.target}`);
    } }, words)));

  function draw() {
    const { match, clocks } = snapshot;
    const current = { players: match.players, play_clock_s: clocks.play_s };
    const change = ({ text, request }) => el("button", { type: "button", onClick: () => begin(request) }, text);
    const offers = [swapped(current, match.roles), stronger(current), weaker(current)].filter(Boolean);
    fill(actions,
      halves,
      el("div", { class: "controls small", role: "group", "aria-label": "Turns" }, step("Previous turn", "◀", -1),
        el("label", { for: "turn", class: "unseen" }, "Turn"), slider, step("Next turn", "▶", 1), number),
      snapshot.more ? el("div", { class: "move-buttons" },
        el("button", { type: "button", class: "primary", onClick: () => begin(current) }, "Play again"),
        el("a", { class: "button", href: `/match/${match.id}#turn=0` }, "Replay")) : null,
      links, problem);
    fill(others, ...(snapshot.more && offers.length ? [el("h2", {}, "Another match"), el("div", { class: "move-buttons" }, ...offers.map(change))] : []));
    go(turn < 0 ? last() : turn);
  }

  return { draw };
}
