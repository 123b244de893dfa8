// Draws the pictures that match_runner/pictures makes, kind by kind: boards, cards, counters, tables
// and facts.
//
//     drawPicture(picture, {onCell, playable, targets, selected, marked}) -> an element
//
// Everything in a picture comes from a rulesheet, so it becomes text only. Selectable cells are
// buttons: one of them is in the tab order, and arrow keys move from there.

const COLOURS = new Set([
  "white", "black", "red", "blue", "green", "yellow", "orange", "purple", "pink", "teal",
  "magenta", "cyan", "brown", "grey", "gray", "gold", "silver",
]);
const WHITE_PIECES = "♔♕♖♗♘♙⛀⛁";
const BLACK_PIECES = "♚♛♜♝♞♟⛂⛃";
const EDGES = { "▔": "north", "▕": "east", "▁": "south", "▏": "west" };
const PALETTE = 6;
// Number of underlines for the pieces of every role but the first, where symbols do not show the owner.
const MARKS = 5;
const CERTAIN = 0.995;
const MAX_SMALL = 3;
// Variation selector for the text form of characters that also have an emoji form.
const AS_TEXT = "\uFE0E";
const MAX_CARDS = 24;
const RED_SUITS = ["♥", "♦"];
/** Places of the pips of a die, row by row. */
const PIPS = [[], [4], [0, 8], [0, 4, 8], [0, 2, 6, 8], [0, 2, 4, 6, 8], [0, 2, 3, 5, 6, 8]];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

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
 * @param picture JSON of `Picture.to_json()` or `Layout.heat()`.
 * @param options.onCell called with the id of a selected cell.
 * @param options.playable ids of the selectable cells.
 * @param options.targets ids of the cells on which a move ends.
 * @param options.selected id of the selected cell, or null.
 * @param options.at id of the cell from which arrow keys start.
 * @param options.marked ids of the cells of the last moves.
 * @param options.ended ids of the cells of what decided the match.
 */
export function drawPicture(picture, { onCell = null, playable = new Set(), targets = new Set(), selected = null, at = null, marked = [], ended = [] } = {}) {
  const root = make("div", "picture");
  const owners = picture.owners ?? [];
  const options = { onCell, playable, targets, selected, at, marked: new Set(marked), ended: new Set(ended), owners };
  for (const [name, draw] of Object.entries(KINDS)) {
    if (picture[name]?.length) root.append(draw(picture[name], options));
  }
  return root;
}

/** Functions that draw parts, by kind, in this order; match_runner/pictures/kinds.py has the same `KINDS`. */
const KINDS = { boards: drawBoards, cards: drawHands, counters: drawCounters, tables: drawTables, facts: drawFacts };

/** Whether a picture has a board that is more than a line of cells. */
export const hasBoard = (picture) => picture.boards.some((board) => board.rows.length > 1 || board.rows[0] !== "");

/** A picture with only its boards. */
export const boardsOf = (picture) => withKinds(picture, (kind) => kind === "boards");

/** A picture without its boards; null if it has nothing else. */
export function besideBoards(picture) {
  const isOther = (kind) => kind !== "boards";
  return Object.keys(KINDS).some((kind) => isOther(kind) && picture[kind]?.length) ? withKinds(picture, isOther) : null;
}

const withKinds = (picture, isIncluded) => Object.fromEntries(Object.entries(picture).map(([name, parts]) => [name, name in KINDS && !isIncluded(name) ? [] : parts]));

/** Whether boards are seen from the other side. */
let isFlipped = false;

/** Turns all boards that are drawn from now on, or turns them back. */
export function flip(isOther) {
  isFlipped = isOther;
}

/** A board turned by half a turn. */
function turned(board) {
  const opposite = { "▔": "▁", "▁": "▔", "▕": "▏", "▏": "▕" };
  const cells = board.cells.map((cell) => ({
    ...cell, column: board.columns.length - 1 - cell.column, row: board.rows.length - 1 - cell.row,
    items: cell.items.map((item) => ({ ...item, symbol: opposite[item.symbol] ?? item.symbol })),
  }));
  return { ...board, columns: board.columns.toReversed(), rows: board.rows.toReversed(), cells: cells.toReversed() };
}

function drawBoards(given, options) {
  const boards = isFlipped ? given.map((board) => (board.rows.length > 1 ? turned(board) : board)) : given;
  const root = make("div", "picture-boards");
  const titled = boards.length > 1;
  const sizes = boards.map((board) => [board.columns.length, board.rows.length]);
  const total = (combine, axis) => sizes.reduce((value, size) => combine(value, size[axis]), 0);
  const larger = (a, b) => Math.max(a, b);
  const sum = (a, b) => a + b;
  // From these, styles find the largest cells with which all boards fit, beside or below each other.
  for (const [name, value] of Object.entries({
    boards: boards.length, "sum-columns": total(sum, 0), "max-columns": total(larger, 0),
    "sum-rows": total(sum, 1), "max-rows": total(larger, 1), titles: titled ? 1 : 0,
  })) root.style.setProperty(`--${name}`, value);
  root.append(...boards.map((board) => drawBoard(board, { ...options, titled })));
  return root;
}

function drawBoard(board, options) {
  const isLine = board.rows.length === 1 && board.rows[0] === "";
  const figure = make("figure", isLine ? "board board-line" : "board");
  const grid = make("div", "board-grid");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", board.title);
  figure.style.setProperty("--columns", board.columns.length);
  if (isCheckered(board)) figure.classList.add("checkered");
  if (board.columns.length < 6) figure.classList.add("board-small");
  if (board.columns.length > 12) figure.classList.add("board-large");
  const cells = board.cells.map((cell) => drawCell(board, cell, isLine, options));
  grid.append(...cells);
  if (!isLine) grid.append(...edges(board.columns, board.rows));
  roveAmong(grid, board.cells, cells, options.at);
  if (options.titled) figure.append(make("figcaption", "board-title", board.title));
  figure.append(grid);
  return figure;
}

/** Coordinates below and to the left of a board. */
function edges(columns, rows) {
  const label = (name, row, column, className) => {
    const element = make("span", `board-edge ${className}`, name);
    element.setAttribute("aria-hidden", "true");
    element.style.gridArea = `${row} / ${column}`;
    return element;
  };
  return [
    ...columns.map((name, i) => label(name, rows.length + 1, i + 2, "edge-below")),
    ...rows.map((name, i) => label(name, i + 1, 1, "edge-left")),
  ];
}

/** Coordinates inside the first cells, for a board without room around it. */
function coordinates(board, cell) {
  const label = (name, className) => {
    const element = make("span", `cell-edge ${className}`, name);
    element.setAttribute("aria-hidden", "true");
    return element;
  };
  return [
    cell.row === board.rows.length - 1 ? label(board.columns[cell.column], "edge-file") : null,
    cell.column === 0 ? label(board.rows[cell.row], "edge-rank") : null,
  ].filter(Boolean);
}

/** Whether to shade squares, as on boards with files and ranks or chess pieces: it shows diagonals. */
function isCheckered(board) {
  if (Math.min(board.columns.length, board.rows.length) < 3) return false;
  const full = board.cells.length === board.columns.length * board.rows.length;
  const isLetter = (name) => /^[a-z]$/.test(name);
  const isPiece = (item) => isIn(item.symbol, WHITE_PIECES) || isIn(item.symbol, BLACK_PIECES);
  return (
    full &&
    ((board.columns.every(isLetter) && !board.rows.some(isLetter)) ||
      board.cells.some((cell) => cell.items.some(isPiece)))
  );
}

function isIn(symbol, set) {
  return symbol.length === 1 && set.includes(symbol);
}

function drawCell(board, cell, isLine, { onCell, playable, targets, selected, marked, ended, owners }) {
  const canPlay = onCell !== null && playable.has(cell.id);
  const element = make(canPlay ? "button" : "div", "cell");
  const present = cell.items.filter((item) => item.symbol !== "" && item.share > 0);
  const place = `${board.columns[cell.column]} ${board.rows[cell.row]}`.trim();
  element.dataset.cell = cell.id;
  if (!isLine) element.style.gridArea = `${cell.row + 1} / ${cell.column + 2}`;
  if ((cell.column + board.rows.length - cell.row) % 2) element.classList.add("dark-square");
  if (canPlay) {
    element.type = "button";
    element.classList.add("playable");
    element.addEventListener("click", () => onCell(cell.id));
    element.setAttribute("aria-pressed", String(selected === cell.id));
  } else if (present.length) {
    element.setAttribute("role", "img");
  }
  const decides = ended.has(cell.id);
  if (canPlay || present.length) element.setAttribute("aria-label", `${place}: ${inWords(present)}${decides ? ", decided the match" : ""}`);
  if (selected === cell.id) element.classList.add("selected");
  if (targets.has(cell.id)) element.classList.add("target");
  if (!isLine) element.append(...coordinates(board, cell));
  if (marked.has(cell.id)) element.classList.add("marked");
  if (decides) element.classList.add("decides");
  element.title = cell.items.map((item) => item.title + percent(item.share)).join("\n") || place;
  if (present.some((item) => item.symbol === "?")) element.classList.add("fog");
  if (isLine) element.append(make("span", "cell-name", board.columns[cell.column]));
  element.append(drawItems(present, owners));
  const likeliest = present.find((item) => item.share < CERTAIN);
  if (likeliest) {
    element.style.setProperty("--heat", likeliest.share.toFixed(3));
    element.classList.add("uncertain");
    element.append(make("span", "cell-share", percent(likeliest.share).trim()));
  }
  return element;
}

function inWords(items) {
  const inWord = (item) => item.last ? `${item.text}, last seen: ${item.last.text}` : item.text + percent(item.share);
  return items.map(inWord).join(", ") || "empty";
}

/** A probability in percent; empty if it is certain. */
function percent(share) {
  if (share >= CERTAIN) return "";
  return ` ${share < 0.01 ? "<1" : Math.round(100 * share)} %`;
}

/** The items in a cell: all of them side by side, or the likeliest large and the others small. */
function drawItems(items, owners) {
  const box = make("span", "items");
  box.setAttribute("aria-hidden", "true");
  const certain = items.every((item) => item.share >= CERTAIN);
  box.append(...items.filter((item) => item.symbol in EDGES).map(drawWall));
  const inside = items.filter((item) => !(item.symbol in EDGES));
  if (certain && inside.length > 1) box.classList.add(`items-${inside.length > 4 ? "many" : "few"}`);
  if (certain || inside.length < 2) {
    box.append(...inside.slice(0, 9).map((item) => drawItem(item, owners)));
    return box;
  }
  const small = make("span", "items-small");
  small.append(...inside.slice(1, 1 + MAX_SMALL).map((item) => drawItem(item, owners)));
  if (inside.length > 1 + MAX_SMALL) small.append(make("span", "item word", "…"));
  box.append(drawItem(inside[0], owners), small);
  return box;
}

function drawItem(item, owners) {
  const white = isIn(item.symbol, WHITE_PIECES);
  // Both sides have the filled shape, in their colour: in dark mode outlines would look like the other side.
  const shape = white ? BLACK_PIECES[WHITE_PIECES.indexOf(item.symbol)] : item.symbol;
  if (shape === "?" && item.last) {
    const last = drawItem(item.last, owners);
    last.classList.add("last-seen");
    return last;
  }
  if (shape === "?") return make("span", "item unknown", "?");
  const isGlyph = /^[^\p{L}\p{N}]$/u.test(shape);
  const span = make("span", isGlyph ? "item glyph" : "item word", shape + (isGlyph ? AS_TEXT : ""));
  const words = [item.owner, ...item.text.split(/[ _-]/)];
  const colour = words.find((word) => COLOURS.has(word)) ?? (white ? "white" : null);
  if (colour) span.dataset.colour = colour;
  else if (item.owner) span.dataset.owner = Math.max(0, owners.indexOf(item.owner)) % PALETTE;
  else if (isIn(shape, BLACK_PIECES)) span.dataset.colour = "grey";
  if (item.mark) span.dataset.mark = 1 + ((item.mark - 1) % MARKS);
  if (isIn(shape, BLACK_PIECES)) span.classList.add("piece");
  if (!isGlyph) span.style.setProperty("--length", Math.min(Math.max(shape.length, 2), 9));
  if (item.share < CERTAIN) span.style.opacity = (0.5 + 0.5 * item.share).toFixed(2);
  return span;
}

function drawWall(item) {
  const wall = make("span", "wall");
  wall.dataset.edge = EDGES[item.symbol];
  if (item.share < CERTAIN) wall.style.opacity = item.share.toFixed(2);
  return wall;
}

/** Puts one cell into the tab order; arrow keys go to the nearest selectable cell. */
function roveAmong(grid, cells, elements, at) {
  const stops = cells
    .map((cell, i) => ({ cell, element: elements[i] }))
    .filter(({ element }) => element.tagName === "BUTTON");
  const show = (stop) => stops.forEach((candidate) => (candidate.element.tabIndex = candidate === stop ? 0 : -1));
  if (stops.length) {
    const isSelected = ({ element }) => element.classList.contains("selected");
    show(stops.find(isSelected) ?? stops.find(({ cell }) => cell.id === at) ?? stops[0]);
  }
  grid.addEventListener("focusin", (event) => {
    const stop = stops.find(({ element }) => element === event.target);
    if (stop) show(stop);
  });
  grid.addEventListener("keydown", (event) => {
    const from = stops.find(({ element }) => element === event.target);
    const direction = ARROWS[event.key];
    if (!from || !direction || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    nearest(from.cell, stops, direction)?.element.focus();
  });
}

function nearest(cell, stops, [x, y]) {
  let best = null;
  let leastDistance = Infinity;
  for (const stop of stops) {
    const across = stop.cell.column - cell.column;
    const down = stop.cell.row - cell.row;
    const forward = across * x + down * y;
    const sideways = Math.abs(across * y) + Math.abs(down * x);
    if (forward > 0 && forward + 3 * sideways < leastDistance) {
      leastDistance = forward + 3 * sideways;
      best = stop;
    }
  }
  return best;
}

function drawHands(hands, { owners }) {
  const root = make("div", "picture-hands");
  root.append(...hands.map((hand) => {
    const figure = make("figure", "hand");
    const titles = hand.cards.map((card) => card.title + percent(card.share)).join(" ");
    const caption = make("figcaption", "face-title");
    caption.append(make("span", "words", hand.title), make("code", "kif", titles));
    own(figure, hand.owner, owners);
    const cards = make("div", "hand-cards");
    cards.append(...hand.cards.slice(0, MAX_CARDS).map(drawCard));
    if (hand.cards.length > MAX_CARDS) cards.append(make("span", "face-title", `and ${hand.cards.length - MAX_CARDS} more`));
    figure.append(caption, cards);
    return figure;
  }));
  return root;
}

function drawCard(card) {
  const isDown = card.symbol === "?" && card.text === "face down";
  const element = make("span", card.dice.length ? "dice" : isDown ? "playing-card face-down" : "playing-card");
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", [card.text, card.note].filter(Boolean).join(" ") + percent(card.share));
  element.title = card.title + percent(card.share);
  if (RED_SUITS.includes(card.suit)) element.classList.add("red-suit");
  if (card.dice.length) element.append(...card.dice.map(drawDie));
  else if (!isDown) {
    const isName = card.symbol.length > 2;
    const face = make("span", isName ? "card-name" : "card-rank", card.symbol);
    face.style.setProperty("--length", Math.min(Math.max(card.symbol.length, 2), 12));
    element.append(face);
    if (card.suit) element.append(make("span", "card-suit", card.suit + AS_TEXT));
  }
  if (card.note) element.append(make("span", "card-note", card.note));
  if (card.share < CERTAIN) {
    element.style.setProperty("--heat", card.share.toFixed(3));
    element.classList.add("unsure-card");
    element.append(make("span", "cell-share", percent(card.share).trim()));
  }
  return element;
}

/** A die: a square of nine places, some of them with a pip. */
function drawDie(number) {
  const die = make("span", "die");
  die.append(...(PIPS[number] ?? []).map((place) => {
    const pip = make("span", "pip");
    pip.style.gridArea = `${1 + Math.floor(place / 3)} / ${1 + (place % 3)}`;
    return pip;
  }));
  return die;
}

function drawCounters(counters, { owners }) {
  const root = make("dl", "picture-counters");
  root.style.setProperty("--counters", counters.length);
  root.append(...counters.map((counter) => {
    const box = make("div", "counter");
    own(box, counter.owner, owners);
    const term = make("dt", "face-title");
    term.append(make("span", "words", counter.title), make("code", "kif", counter.values[0].title));
    box.append(term, ...counter.values.slice(0, MAX_SMALL).map((value) => {
      const number = make("dd", "", value.text);
      number.title = value.title;
      if (value.share < CERTAIN) number.append(make("span", "counter-share", percent(value.share)));
      return number;
    }));
    if (counter.values.length > MAX_SMALL) box.append(make("dd", "counter-share", "…"));
    return box;
  }));
  return root;
}

/** The colour of an owner. */
function own(element, owner, owners) {
  if (owners.includes(owner)) element.dataset.owner = owners.indexOf(owner) % PALETTE;
}

function drawTables(tables) {
  const root = make("div", "picture-tables");
  const [bookkeeping, visible] = parted(tables, (table) => table.words.length > 0 && table.words.every((text) => !text));
  root.append(...visible.map(drawTable), ...folded(bookkeeping.map(drawTable)));
  return root;
}

/** Bookkeeping, folded away. */
function folded(elements) {
  if (!elements.length) return [];
  const details = make("details", "bookkeeping");
  details.append(make("summary", "", "Bookkeeping"), ...elements);
  return [details];
}

function parted(parts, isAside) {
  return [parts.filter(isAside), parts.filter((part) => !isAside(part))];
}

function drawTable(table) {
  if (table.words.some((text) => text)) {
    return drawLines(table.words.map((words, i) => ({ words, text: `(${table.title} ${table.rows[i].join(" ")})`, share: table.shares[i] })));
  }
  const element = make("table", "facts-table");
  element.append(make("caption", "", table.title));
  const unsure = table.shares.some((share) => share < CERTAIN);
  if (table.headers.every((name) => !/^\d*$/.test(name)) || unsure) {
    const head = make("tr");
    for (const name of table.headers) head.append(header(name));
    if (unsure) head.append(header("share"));
    const thead = make("thead");
    thead.append(head);
    element.append(thead);
  }
  const body = make("tbody");
  table.rows.forEach((row, i) => {
    const line = make("tr");
    for (const text of row) line.append(make("td", /^-?\d+$/.test(text) ? "number" : "", text));
    if (unsure) line.append(make("td", "number", percent(table.shares[i]).trim() || "100 %"));
    if (unsure) line.style.setProperty("--heat", table.shares[i].toFixed(3));
    body.append(line);
  });
  element.append(body);
  return element;
}

function header(name) {
  if (/^\d*$/.test(name)) return make("td");
  const element = make("th", "", name);
  element.scope = "col";
  return element;
}

function drawFacts(facts) {
  const root = make("div", "picture-facts");
  const [bookkeeping, visible] = parted(facts, (fact) => !fact.words);
  if (visible.length) root.append(drawLines(visible));
  root.append(...folded(bookkeeping.length ? [drawLines(bookkeeping)] : []));
  return root;
}

/** Facts in words and in KIF; a setting decides which is visible. */
function drawLines(facts) {
  const list = make("ul", "facts");
  for (const fact of facts) {
    const line = make("li", "fact");
    const words = make("span", "words", (fact.words || fact.text) + percent(fact.share));
    const kif = make("code", "kif", fact.text + percent(fact.share));
    line.title = fact.text;
    line.append(words, kif);
    if (fact.share < CERTAIN) line.style.setProperty("--heat", fact.share.toFixed(3));
    list.append(line);
  }
  return list;
}
