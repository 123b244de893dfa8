// Lets people drag pieces over a board, with a mouse, a pen or a finger. Clicking works too.

const FAR_PX = 8;

/**
 * Makes pieces draggable on an element that contains boards.
 *
 * @param stage the element; its cells may be redrawn at any time.
 * @param targetsOf ids of the cells to which the piece in a cell may go; empty if it cannot move.
 * @param drop called with the ids of two cells.
 */
export function makeDraggable(stage, targetsOf, drop) {
  let dragged = null;
  let wasDragged = false;

  const cellAt = (x, y) => document.elementFromPoint(x, y)?.closest("[data-cell]")?.dataset.cell;

  function lift(event) {
    const box = dragged.cell.getBoundingClientRect();
    dragged.ghost = document.createElement("div");
    dragged.ghost.className = "ghost cell";
    dragged.ghost.style.width = `${box.width}px`;
    dragged.ghost.style.height = `${box.height}px`;
    dragged.ghost.append(dragged.cell.querySelector(".items").cloneNode(true));
    stage.append(dragged.ghost);
    dragged.cell.classList.add("lifted");
    for (const cell of stage.querySelectorAll("[data-cell]")) {
      cell.classList.toggle("target", dragged.targets.has(cell.dataset.cell));
    }
    move(event);
  }

  function move(event) {
    const box = dragged.ghost.getBoundingClientRect();
    dragged.ghost.style.left = `${event.clientX - box.width / 2}px`;
    dragged.ghost.style.top = `${event.clientY - box.height / 2}px`;
  }

  function letGo() {
    if (!dragged) return;
    dragged.ghost?.remove();
    dragged.cell.classList.remove("lifted");
    dragged = null;
  }

  stage.addEventListener("pointerdown", (event) => {
    wasDragged = false;
    const cell = event.target.closest("[data-cell]");
    if (!cell || event.button || dragged) return;
    const targets = new Set(targetsOf(cell.dataset.cell));
    if (targets.size) dragged = { cell, targets, id: event.pointerId, x: event.clientX, y: event.clientY };
  });
  window.addEventListener("pointermove", (event) => {
    if (!dragged || event.pointerId !== dragged.id) return;
    if (dragged.ghost) move(event);
    else if (Math.hypot(event.clientX - dragged.x, event.clientY - dragged.y) > FAR_PX) lift(event);
  });
  window.addEventListener("pointerup", (event) => {
    if (!dragged || event.pointerId !== dragged.id) return;
    const { ghost, cell, targets } = dragged;
    letGo();
    if (!ghost) return;
    wasDragged = true;
    const to = cellAt(event.clientX, event.clientY);
    drop(cell.dataset.cell, targets.has(to) ? to : null);
  });
  window.addEventListener("pointercancel", letGo);
  // The click that ends a drag does not count.
  stage.addEventListener("click", (event) => {
    if (wasDragged) event.stopPropagation();
    wasDragged = false;
  }, true);
}
