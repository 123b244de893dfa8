// Dragging pieces over a board, with a mouse, a pen or a finger. Clicking does the same without it.

const FAR_PX = 8;

/**
 * Lets pieces be dragged on an element that holds boards.
 *
 * @param stage the element; its cells may be drawn anew at any time.
 * @param targetsOf ids of the cells to which what is in a cell may go; empty if it cannot be moved.
 * @param drop called with the ids of two cells.
 */
export function makeDraggable(stage, targetsOf, drop) {
  let held = null;
  let wasDragged = false;

  const cellAt = (x, y) => document.elementFromPoint(x, y)?.closest("[data-cell]")?.dataset.cell;

  function lift(event) {
    const box = held.cell.getBoundingClientRect();
    held.ghost = document.createElement("div");
    held.ghost.className = "ghost cell";
    held.ghost.style.width = `${box.width}px`;
    held.ghost.style.height = `${box.height}px`;
    held.ghost.append(held.cell.querySelector(".items").cloneNode(true));
    stage.append(held.ghost);
    held.cell.classList.add("lifted");
    for (const cell of stage.querySelectorAll("[data-cell]")) {
      cell.classList.toggle("target", held.targets.has(cell.dataset.cell));
    }
    move(event);
  }

  function move(event) {
    const box = held.ghost.getBoundingClientRect();
    held.ghost.style.left = `${event.clientX - box.width / 2}px`;
    held.ghost.style.top = `${event.clientY - box.height / 2}px`;
  }

  function letGo() {
    if (!held) return;
    held.ghost?.remove();
    held.cell.classList.remove("lifted");
    held = null;
  }

  stage.addEventListener("pointerdown", (event) => {
    wasDragged = false;
    const cell = event.target.closest("[data-cell]");
    if (!cell || event.button || held) return;
    const targets = new Set(targetsOf(cell.dataset.cell));
    if (targets.size) held = { cell, targets, id: event.pointerId, x: event.clientX, y: event.clientY };
  });
  window.addEventListener("pointermove", (event) => {
    if (!held || event.pointerId !== held.id) return;
    if (held.ghost) move(event);
    else if (Math.hypot(event.clientX - held.x, event.clientY - held.y) > FAR_PX) lift(event);
  });
  window.addEventListener("pointerup", (event) => {
    if (!held || event.pointerId !== held.id) return;
    const { ghost, cell, targets } = held;
    letGo();
    if (!ghost) return;
    wasDragged = true;
    const to = cellAt(event.clientX, event.clientY);
    drop(cell.dataset.cell, targets.has(to) ? to : null);
  });
  window.addEventListener("pointercancel", letGo);
  // A click that ends a drag is none.
  stage.addEventListener("click", (event) => {
    if (wasDragged) event.stopPropagation();
    wasDragged = false;
  }, true);
}
