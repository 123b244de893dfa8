// Shows moves as motion: pieces glide from where they were, and new ones appear. Nothing moves for
// people who prefer less motion.

const MOTION_MS = 220;
/** Most pieces that move at a time; with more, the board has simply changed. */
const MAX_MOVING = 8;
const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Motions that have begun, by stage: a board that is redrawn meanwhile continues them. */
const begun = new WeakMap();

/** Redraws the boards of an element, and moves the pieces that have changed their places. */
export function redrawn(stage, redraw) {
  if (STILL.matches) {
    redraw();
    return;
  }
  const before = piecesOf(stage);
  redraw();
  const after = piecesOf(stage);
  const motions = (begun.get(stage) ?? []).filter(({ began_ms }) => performance.now() - began_ms < MOTION_MS);
  const isIn = (pieces, { cell, key }) => pieces.some((piece) => piece.cell === cell && piece.key === key);
  const fresh = after.filter((piece) => !isIn(before, piece));
  const gone = before.filter((piece) => !isIn(after, piece));
  if (before.length && fresh.length <= MAX_MOVING) {
    for (const { cell, key, box } of fresh) {
      const from = gone.find((piece) => piece.key === key)?.box;
      const offset = from ? [from.x - box.x, from.y - box.y] : null;
      motions.push({ cell, key, offset, began_ms: performance.now() });
    }
  }
  begun.set(stage, motions);
  for (const { cell, key, offset, began_ms } of motions) {
    const piece = after.find((candidate) => candidate.cell === cell && candidate.key === key);
    if (piece) glide(piece, offset, performance.now() - began_ms);
  }
}

/** The certain pieces on all boards: cell, a key for their kind, element, and box of the cell. */
const piecesOf = (stage) => [...stage.querySelectorAll(".cell:not(.uncertain) .item:not(.unknown)")].map((element) => {
  const place = element.closest(".cell");
  const { owner = "", colour = "", mark = "" } = element.dataset;
  return { cell: place.dataset.cell, key: `${element.textContent} ${owner} ${colour} ${mark}`, element, box: place.getBoundingClientRect() };
});

function glide({ element }, offset, elapsed_ms) {
  const start = offset ? { transform: `translate(${offset[0]}px, ${offset[1]}px)` } : { opacity: 0, transform: "scale(0.6)" };
  const place = element.closest(".cell");
  place.classList.add("moving");
  const motion = element.animate([start, { opacity: 1, transform: "none" }], { duration: MOTION_MS, easing: "ease-out" });
  motion.currentTime = elapsed_ms;
  motion.finished.then(() => place.classList.remove("moving")).catch(() => {});
}
