// Draws the pictures that match_runner/pictures makes: boards, tables and facts.
//
//     drawPicture(picture, {onCell, playable, selected}) -> an element
//
// Everything in a picture comes from a rulesheet, so it only ever becomes text.

const COLOURS = new Set([
  "white", "black", "red", "blue", "green", "yellow", "orange", "purple", "pink", "teal",
  "magenta", "cyan", "brown", "grey", "gray", "gold", "silver",
]);

/** An element with a class and a text. */
function make(tag, className = "", text = null) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  return element;
}

/**
 * The picture as an element.
 *
 * @param picture what Picture.to_json() gives.
 * @param options.onCell called with the id of a cell that is chosen.
 * @param options.playable ids of the cells that can be chosen.
 * @param options.selected id of the cell that is marked, or null.
 */
export function drawPicture(picture, { onCell = null, playable = new Set(), selected = null } = {}) {
  const root = make("div", "picture");
  const boards = make("div", "picture-boards");
  for (const board of picture.boards) {
    boards.append(drawBoard(board, { onCell, playable, selected, owners: picture.owners ?? [] }));
  }
  if (picture.boards.length) root.append(boards);
  for (const table of picture.tables) root.append(drawTable(table));
  if (picture.facts.length) root.append(drawFacts(picture.facts));
  return root;
}

function drawBoard(board, options) {
  const figure = make("figure", "board");
  figure.append(make("figcaption", "board-title", board.title));
  const grid = make("div", "board-grid");
  grid.style.setProperty("--columns", board.columns.length);
  grid.style.setProperty("--rows", board.rows.length);
  for (const cell of board.cells) grid.append(drawCell(board, cell, options));
  board.columns.forEach((name, i) => {
    const label = make("span", "board-edge", name);
    label.style.gridArea = `${board.rows.length + 1} / ${i + 2}`;
    grid.append(label);
  });
  board.rows.forEach((name, i) => {
    const label = make("span", "board-edge", name);
    label.style.gridArea = `${i + 1} / 1`;
    grid.append(label);
  });
  figure.append(grid);
  return figure;
}

function drawCell(board, cell, { onCell, playable, selected, owners }) {
  const button = make("button", "cell");
  button.type = "button";
  button.dataset.cell = cell.id;
  button.style.gridArea = `${cell.row + 1} / ${cell.column + 2}`;
  const where = `${board.columns[cell.column]} ${board.rows[cell.row]}`.trim();
  const what = cell.items.map((item) => item.text).join(", ") || "empty";
  button.setAttribute("aria-label", `${where}: ${what}`);
  button.disabled = !playable.has(cell.id);
  if (selected === cell.id) button.classList.add("selected");
  for (const item of cell.items) button.append(drawItem(item, owners));
  button.addEventListener("click", () => onCell?.(cell.id));
  return button;
}

function drawItem(item, owners) {
  const span = make("span", "item", item.symbol);
  const colour = [item.owner, ...item.text.split(" ")].find((word) => COLOURS.has(word));
  if (colour) span.dataset.colour = colour;
  else if (item.owner) span.dataset.owner = Math.max(0, owners.indexOf(item.owner)) % 6;
  span.style.opacity = 0.15 + 0.85 * item.share;
  span.title = item.title;
  return span;
}

function drawTable(table) {
  const element = make("table", "facts-table");
  element.append(make("caption", "", table.title));
  for (const row of table.rows) {
    const line = make("tr");
    for (const text of row) line.append(make("td", "", text));
    element.append(line);
  }
  return element;
}

function drawFacts(facts) {
  const list = make("ul", "facts");
  for (const fact of facts) list.append(make("li", "fact", fact.text));
  return list;
}
