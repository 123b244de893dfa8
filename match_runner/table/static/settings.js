// A person's settings, kept in this browser: for the page, and for the next match.

import { el } from "./dom.js";

const PLACE = "ggp-table-settings";
const AT_FIRST = { forced: true, kif: false, sound: false, flipped: [], begin: null };

function allSettings() {
  try {
    return { ...AT_FIRST, ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") };
  } catch {
    return { ...AT_FIRST };
  }
}

/** The value of a setting: `forced`, `kif`, `sound`, `flipped` or `begin`. */
export const setting = (name) => allSettings()[name];

/** Keeps a setting, at least for this page if the browser keeps nothing. */
export function set(name, value) {
  try {
    localStorage.setItem(PLACE, JSON.stringify({ ...allSettings(), [name]: value }));
  } catch {
    AT_FIRST[name] = value;
  }
  apply();
}

/** Shows terms as words or as KIF. */
function apply() {
  document.documentElement.toggleAttribute("data-kif", setting("kif"));
}

apply();

/**
 * A button that turns the boards of a page round; the next match of that game at that place begins so.
 *
 * @param place the game, and the role if somebody plays.
 * @param flip called with whether boards are turned, at once and at each press.
 * @param redraw called after a press.
 */
export function flipButton(place, flip, redraw) {
  const isFlipped = () => setting("flipped").includes(place);
  const button = el("button", { type: "button", class: "flip", "aria-pressed": `${isFlipped()}`, onClick: () => {
    const others = setting("flipped").filter((each) => each !== place);
    set("flipped", isFlipped() ? others : [...others, place]);
    button.setAttribute("aria-pressed", `${isFlipped()}`);
    flip(isFlipped());
    redraw();
  } }, "Flip the board");
  flip(isFlipped());
  return button;
}
