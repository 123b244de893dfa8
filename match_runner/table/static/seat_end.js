// The end of a match at a seat: the truth beside the role's knowledge, turn by turn, and buttons for
// another match.

import { drawPicture } from "./board.js";
import { ask, el, fill, knownText, name, scores } from "./dom.js";
import { goTo } from "./links.js";
import { stronger, swapped, weaker } from "./strength.js";
import { isWaiting, learn, move as moveWords } from "./words.js";

/**
 * @param snapshot the state of the seat, from the server.
 * @param path path of the seat's answers.
 * @param stage, actions elements to draw in.
 */
export function ending({ snapshot, path, stage, actions }) {
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
    fill(stage, el("div", { class: "halves" },
      seatFrame && seatFrame.known ? half("What you knew", seatFrame.state, seatFrame.marks, knownText(seatFrame.known, "you")) : null,
      truth ? half("The truth", truth.state, truth.marks, ...moves(truth)) : el("p", {}, "The record of this match cannot be replayed.")));
  }

  const half = (title, picture, marked, ...words) => el("section", { class: "half", "aria-label": title },
    el("h2", {}, title), el("div", { class: "half-place" }, drawPicture(picture, { marked })), el("p", { class: "quiet" }, ...words));

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

  function nextMatchButtons() {
    const { match, clocks } = snapshot;
    const current = { players: match.players, play_clock_s: clocks.play_s };
    const change = (offer) => el("button", { type: "button", onClick: () => begin(offer.request) }, offer.text);
    return el("div", { class: "move-buttons" },
      el("button", { type: "button", class: "primary", onClick: () => begin(current) }, "Play again"),
      ...[swapped(current, match.roles), stronger(current), weaker(current)].filter(Boolean).map(change));
  }

  /** Where there is room for one board only. */
  const halfButton = el("button", { type: "button", class: "which-half", onClick: () => {
    fill(halfButton, stage.classList.toggle("shows-knew") ? "Show the truth" : "Show what you knew");
  } }, "Show what you knew");

  function draw() {
    const hidden = !snapshot.rules.is_told;
    fill(actions,
      snapshot.match.goals && !snapshot.match.error ? el("p", { class: "goals" }, ...scores(snapshot.match.goals)) : null,
      el("div", { class: "controls small", role: "group", "aria-label": "Turns" }, step("Previous turn", "◀", -1),
        el("label", { for: "turn", class: "unseen" }, "Turn"), slider, step("Next turn", "▶", 1), number),
      hidden ? halfButton : null, snapshot.more ? nextMatchButtons() : null, links, problem);
    go(turn < 0 ? last() : turn);
  }

  return { draw };
}
