// The lobby's games: a card for each, with a small picture of its first choice, what is hidden, and
// how many turns a match takes. The server finds these out card by card, as cards come into sight.

import { boardsOf, drawPicture } from "./board.js";
import { ask, counted, el, fill, name, say } from "./dom.js";

/** Distance from the window at which a card's picture is requested. */
const NEAR = "200px";
const MAX_LINES = 4;

/**
 * The cards of all games, with a field to find one.
 *
 * @param games `{name, title}` of each game.
 * @param own name that stands for a person's own rules.
 * @param onChoose called with the name of a game.
 */
export function gameCards(games, own, onChoose) {
  const pictures = whenSeen(({ game, thumb, facts }) => describe(game, thumb, facts));
  const buttons = new Map();
  const offers = [...games, { name: own, title: "Your own rules" }];
  const cards = offers.map((offer) => {
    const thumb = el("div", { class: "thumb half-place", "aria-hidden": "true" });
    const facts = el("p", { class: "quiet game-facts" }, "Trying it out …");
    const button = el("button", {
      type: "button", class: "game-button", "data-game": offer.name, "aria-pressed": "false", tabindex: "-1",
      onClick: () => onChoose(offer.name),
    }, name(titleOf(offer), 60));
    buttons.set(offer.name, button);
    const card = el("li", { class: "card game" }, thumb, button, facts);
    if (offer.name === own) {
      fill(thumb, el("span", { class: "own-sign" }, "( )"));
      fill(facts, "Paste GDL or GDL-II, or drop a file.");
    } else pictures.watch(card, { game: offer.name, thumb, facts });
    return card;
  });
  const none = el("p", { class: "quiet", hidden: true }, "No game has that name.");
  const field = el("input", { id: "find", type: "search", placeholder: "Find a game", autocomplete: "off", "aria-label": "Find a game", onInput: find });

  function find() {
    const words = field.value.trim().toLowerCase().split(/\s+/);
    const matches = ({ name: text, title }) => words.every((word) => `${text.replaceAll("_", " ")} ${text} ${title}`.toLowerCase().includes(word));
    offers.forEach((offer, number) => { cards[number].hidden = !matches(offer); });
    const found = cards.filter((card) => !card.hidden);
    none.hidden = found.length > 0;
    if (field.value) say(counted(found.length, "game"));
    rove(found[0]?.querySelector("button"));
  }

  /** Puts one card into the tab order; arrow keys go to the others. */
  function rove(button) {
    const chosen = [...buttons.values()].find((each) => each.getAttribute("aria-pressed") === "true");
    const stop = button ?? chosen;
    for (const each of buttons.values()) each.tabIndex = each === stop ? 0 : -1;
  }

  const list = el("ul", { class: "games", onKeydown: (event) => {
    const shown = [...buttons.values()].filter((each) => each.checkVisibility());
    const at = shown.indexOf(event.target);
    const perRow = shown.filter((each) => each.closest("li").offsetTop === shown[0].closest("li").offsetTop).length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow, Home: -at, End: shown.length - 1 - at };
    if (at < 0 || !(event.key in steps)) return;
    event.preventDefault();
    const next = shown[at + steps[event.key]];
    if (!next) return;
    rove(next);
    next.focus();
  } }, ...cards);

  return {
    element: el("section", { class: "games-place", "aria-labelledby": "games" },
      el("div", { class: "lobby-head" }, el("h2", { id: "games" }, "Games"), field), none, list),
    title: (game) => titleOf(offers.find((offer) => offer.name === game) ?? { name: game, title: "" }),
    choose(game) {
      for (const [each, button] of buttons) button.setAttribute("aria-pressed", `${each === game}`);
      rove(buttons.get(game));
    },
  };
}

/** The title of a game, or its name without its folder and underscores. */
export function titleOf({ name: text, title }) {
  const plain = text.split("/").at(-1).replace(/\.(gdl|kif)$/, "").replaceAll("_", " ");
  return title && title.length <= 60 ? title : plain;
}

async function describe(game, thumb, facts) {
  try {
    const reply = await ask(`/api/preview?game=${encodeURIComponent(game)}`);
    fill(thumb, small(reply.picture, reply.moves));
    fill(facts, ...factsOf(reply).map((text) => el("span", {}, name(text, 80))));
  } catch (error) {
    fill(facts, "No picture: ", name(error.message, 80));
    facts.title = error.message;
  }
}

function factsOf({ roles, has_chance: hasChance, hidden, turns }) {
  const length = turns.least === turns.most ? counted(turns.most, "turn") : `${turns.least} to ${turns.most} turns`;
  return [
    hidden?.length ? `Hidden: ${hidden.join(", ")}` : hidden && "Nothing hidden",
    `${counted(roles.length, "player")}${hasChance ? ", chance" : ""}`,
    turns.ends ? length : `more than ${counted(turns.most, "turn")}`,
  ].filter(Boolean);
}

/**
 * The part of a picture for which there is room: its boards or cards, or else counters and facts.
 *
 * @param moves first moves in words, for games without boards and cards.
 */
export function small(picture, moves = []) {
  if (picture.boards?.length) return drawPicture(boardsOf(picture));
  const { cards = [], counters = [], facts = [], owners = [] } = picture;
  if (cards.length) return drawPicture({ cards: cards.slice(0, MAX_LINES), owners });
  const room = moves.length ? MAX_LINES - 2 : MAX_LINES;
  const lines = counters.length ? [] : facts.filter(({ words }) => words).slice(0, room);
  const drawn = drawPicture({ counters: counters.slice(0, room), facts: lines, owners });
  if (moves.length) drawn.append(el("ul", { class: "first-moves" }, ...moves.slice(0, MAX_LINES - 1).map((words) => el("li", {}, name(words, 60)))));
  return drawn;
}

/** Does work for elements once they are in sight, one after the other. */
export function whenSeen(work) {
  const tasks = new Map();
  const waiting = new Set();
  let isBusy = false;

  async function go() {
    if (isBusy) return;
    isBusy = true;
    try {
      for (const element of waiting) {
        waiting.delete(element);
        observer.unobserve(element);
        await work(tasks.get(element));
      }
    } finally {
      isBusy = false;
    }
  }

  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) waiting.add(target);
      else waiting.delete(target);
    }
    go();
  }, { rootMargin: NEAR });

  return {
    watch(element, task) {
      tasks.set(element, task);
      observer.observe(element);
    },
    end() {
      observer.disconnect();
      waiting.clear();
    },
  };
}
