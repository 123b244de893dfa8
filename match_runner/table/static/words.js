// Moves, percepts and fluents in words. The server sends the words with its messages; this module
// looks them up, and shows them so that KIF can take their place.

import { el, name } from "./dom.js";

const dictionary = { moves: new Map(), percepts: new Map(), fluents: new Map() };

/** Takes in `words` of a frame, a question or a mind. */
export function learn(words) {
  for (const [kind, texts] of Object.entries(words ?? {})) {
    for (const [kif, text] of Object.entries(texts)) dictionary[kind].set(kif, text);
  }
}

/** The words for a move, a percept or a fluent, as text. */
export const inWords = (kind, kif) => dictionary[kind].get(kif) ?? kif;

/** Words and KIF; styles show one of them. */
export const wordsAndKif = (words, kif, maxLength = 200) => el("span", { class: "said", title: kif.slice(0, 2000) },
  el("span", { class: "words" }, name(words, maxLength)), el("code", { class: "kif" }, name(kif, maxLength)));

export const move = (kif) => wordsAndKif(inWords("moves", kif), kif);
/** A percept; the words of a turn, if they are given, know whose move it was. */
export const percept = (kif, words) => wordsAndKif(words?.percepts?.[kif] ?? inWords("percepts", kif), kif);
export const fluent = (kif) => wordsAndKif(inWords("fluents", kif), kif);

/** Whether a move means that its role waits. */
export const isWaiting = (kif) => ["noop", "no_op", "wait"].includes(kif) && inWords("moves", kif) === "wait";

/** Whether a percept has words: those that the board shows may have none. */
export const isSaid = (kif) => inWords("percepts", kif) !== "";

/** Percepts that say something, in order: a word alone tells what somebody did, a term what came of it. */
export const sayings = (percepts) => {
  const said = percepts.filter(isSaid);
  return [...said.filter((kif) => !kif.startsWith("(")), ...said.filter((kif) => kif.startsWith("("))];
};

/** The percepts of a turn as elements, without a list if they only repeat its moves. */
export function saw(percepts, moves) {
  const moveKifs = new Set(Object.entries(moves).map(([role, kif]) => `(did ${role} ${kif})`));
  if (!percepts.length) return ["saw nothing"];
  if (percepts.every((kif) => moveKifs.has(kif))) return ["saw every move"];
  return ["saw: ", ...sayings(percepts).flatMap((kif, number) => [number ? " · " : null, percept(kif)])];
}
