// The lobby: games, new matches, present and past matches, records, and standings of series.

import { ask, counted, el, fill, follow, name, ownLinks, scores, show, trouble } from "./dom.js";
import { gameCards, small, titleOf, whenSeen } from "./games.js";
import { goTo } from "./links.js";
import { outcomeOf, resignedBy } from "./seat_end.js";
import { set, setting } from "./settings.js";
import { LEVELS, USUAL_LEVEL } from "./strength.js";

/** Stands for a person's own rules; no game has this name. */
const OWN = "\\own";
const CHECK_AFTER_MS = 300;
const SERIES_EVERY_MS = 5000;

export async function lobby() {
  const reply = await ask("/api/lobby");
  const matches = new Map(reply.matches.map((match) => [match.id, match]));
  const titles = new Map(reply.games.map((game) => [game.name, titleOf(game)]));
  const list = el("div");
  const allButton = el("button", { type: "button", class: "quiet-button", "aria-expanded": "false", onClick: () => {
    const showsAll = list.classList.toggle("all");
    allButton.setAttribute("aria-expanded", `${showsAll}`);
    fill(allButton, showsAll ? "Show fewer" : `All ${matches.size}`);
  } });
  const series = el("div", { class: "stack" });
  const recent = el("section", { class: "recent", "aria-labelledby": "matches" },
    el("div", { class: "lobby-head" }, el("h2", { id: "matches" }, "Recent matches"), allButton), list);
  show("Lobby",
    el("div", { class: "lobby" },
      recent, newMatch(reply),
      el("div", { class: "stack others" }, series, records(reply.records), logs(reply.logs))));
  let shown = null;
  const draw = () => {
    recent.hidden = !matches.size;
    allButton.hidden = matches.size <= numRecent();
    if (!list.classList.contains("all")) fill(allButton, `All ${matches.size}`);
    shown?.seen.end();
    shown = matchList([...matches.values()], titles);
    fill(list, ...shown.elements);
  };
  draw();
  let waits = false;
  follow(`/api/events?after=${reply.last}`, {
    reset: () => location.reload(),
    match: (match) => {
      const before = matches.get(match.id);
      matches.delete(match.id);
      matches.set(match.id, match);
      if (before?.status === match.status) {
        shown.renew(match);
        return;
      }
      if (waits) return;
      waits = true;
      setTimeout(() => { waits = false; draw(); }, 100);
    },
  });
  await standings(series);
}

// ---------------------------------------------------------------- a new match

/** Below this width, the choices for a match are in a dialog of their own. */
const NARROW = "(max-width: 59.9rem)";

/** The games, and the choices for a match of the chosen one. */
function newMatch(reply) {
  const lastMatch = setting("begin") ?? {};
  const state = { game: null, roles: [], ok: false, rules: null, isBusy: false };
  const seatProblems = new Map();
  const problem = el("div", { "aria-live": "polite" });
  const about = el("div", { class: "about" });
  const title = el("h2", { id: "new" });
  const seats = el("fieldset", {}, el("legend", {}, "Who plays"));
  const findings = el("div", { class: "diagnostics", "aria-live": "polite" });
  const start = el("button", { class: "primary", type: "submit" }, "Begin");
  const links = el("div");
  const levels = levelField(lastMatch.level ?? USUAL_LEVEL, (seconds) => { document.getElementById("play-clock").value = seconds; });
  const cards = gameCards(reply.games, OWN, (game) => {
    choose(game);
    open();
  });

  const text = el("textarea", {
    id: "rules", rows: "14", spellcheck: "false", autocapitalize: "off",
    "aria-describedby": "rules-help", onInput: () => later(),
  });
  const ownTitle = el("input", { id: "rules-name", maxlength: "100", value: "my game", autocomplete: "off" });
  const ownRules = el("div", { class: "stack own-rules", hidden: true },
    el("div", { class: "field" }, el("label", { for: "rules-name" }, "Name"), ownTitle),
    el("label", { for: "rules" }, "Rules (GDL or GDL-II)"), text,
    el("p", { id: "rules-help", class: "quiet" }, "Paste a rulesheet, or drop a file here."),
    findings);
  ownRules.addEventListener("dragover", (event) => event.preventDefault());
  ownRules.addEventListener("drop", async (event) => {
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    text.value = await file.text();
    ownTitle.value = file.name.replace(/\.(gdl|kif|txt)$/i, "").slice(0, 100);
    later();
  });

  const option = (id, title, attributes, help) => el("div", { class: "field" },
    el("label", { for: id }, title),
    el("input", { id, type: "number", "aria-describedby": `${id}-help`, ...attributes }),
    el("p", { id: `${id}-help`, class: "quiet" }, help));
  const options = el("details", {},
    el("summary", {}, "Clocks, seed, number of matches"),
    el("div", { class: "fields" },
      option("play-clock", "Players' clock", { min: "0", step: "any", value: `${lastMatch.play_clock_s ?? levels.chosen().seconds}` },
        "Seconds for each decision; 0: no clock, only the players' own limits."),
      option("human-clock", "Your clock", { min: "0", step: "any", value: `${lastMatch.human_clock_s ?? 0}` },
        "Seconds for each move; 0: no clock. When time runs out, you play a random move."),
      option("pause", "Pause", { min: "0", max: "60", step: "any", value: `${lastMatch.pause_s ?? 0}` },
        "Seconds before each turn, so that people can follow the match."),
      option("seed", "Seed", { min: "0", step: "1", value: `${Math.floor(Math.random() * 1e6)}` },
        "The same seed gives the same match, unless clocks or people make a difference."),
      option("number", "Matches", { min: "1", max: "100", step: "1", value: "1" },
        "Each match adds 1 to the seed. With people, only one match is possible.")));

  const form = el("form", { class: "stack", onSubmit: (event) => begin(event) },
    ownRules, seats, levels.element, problem, el("div", { class: "row" }, start), links, about, options,
    el("datalist", { id: "players" }, ...[...reply.players].reverse().map(
      ({ name: player, about: words }) => el("option", { value: player, label: words }))));
  const setup = el("dialog", { class: "card setup", "aria-labelledby": "new" },
    el("div", { class: "setup-head" }, title,
      el("button", { type: "button", class: "quiet-button close", onClick: () => setup.close() }, "All games")), form);
  const narrow = matchMedia(NARROW);

  /** Shows the choices: beside the games, or in front of them where there is no room. */
  function open() {
    if (narrow.matches && !setup.open) setup.showModal();
  }

  function arrange() {
    if (setup.open) setup.close();
    setup.open = !narrow.matches;
  }
  narrow.addEventListener("change", arrange);

  let timer = null;
  let latestCheck = 0;

  function later() {
    clearTimeout(timer);
    timer = setTimeout(check, CHECK_AFTER_MS);
  }

  const ready = () => { start.disabled = !state.ok || state.isBusy || seatProblems.size > 0; };

  /** A name for pasted rules. */
  const ownName = () => ownTitle.value.trim() || "my game";

  function choose(game) {
    state.game = game;
    cards.choose(game);
    fill(title, name(cards.title(game), 60));
    ownRules.hidden = game !== OWN;
    // No match can begin before the roles are known.
    state.roles = [];
    state.ok = false;
    seatProblems.clear();
    ready();
    fill(seats);
    fill(about);
    if (game === OWN && !text.value && state.rules) text.value = state.rules;
    check();
  }

  async function check() {
    const isOwn = state.game === OWN;
    const number = ++latestCheck;
    let reply;
    try {
      reply = await ask("/api/rules", isOwn ? { name: ownName(), rules: text.value } : { game: state.game });
    } catch (error) {
      reply = { ok: false, diagnostics: [], num_diagnostics: 1, error: error.message };
    }
    if (number !== latestCheck) return;
    state.ok = reply.ok;
    if (!isOwn) state.rules = reply.rules ?? null;
    fill(findings, ...(isOwn ? diagnostics(reply) : []));
    fill(about, ...description(reply));
    if (reply.ok && reply.roles.join(" ") !== state.roles.join(" ")) {
      state.roles = reply.roles;
      drawSeats();
    }
    ready();
  }

  function drawSeats() {
    seatProblems.clear();
    const judge = (number, text) => {
      if (text) seatProblems.set(number, text);
      else seatProblems.delete(number);
      ready();
    };
    const last = lastMatch.game === state.game ? lastMatch.players : {};
    fill(seats, el("legend", {}, "Who plays"), el("div", { class: "seats" },
      ...state.roles.map((role, number) => seatField(role, number, judge, last?.[role]))));
    drawLevels();
  }

  const drawLevels = () => { levels.element.hidden = !state.roles.some((role, number) => choiceIn(number) === LEVEL); };
  seats.addEventListener("change", drawLevels);

  async function begin(event) {
    event.preventDefault();
    fill(problem);
    const value = (id) => Number(document.getElementById(id).value || 0);
    const isOwn = state.game === OWN;
    const choices = Object.fromEntries(state.roles.map((role, number) => [role, choiceIn(number)]));
    const request = {
      game: isOwn ? ownName() : state.game,
      rules: isOwn ? text.value : null,
      players: Object.fromEntries(Object.entries(choices).map(
        ([role, choice]) => [role, choice === LEVEL ? levels.chosen().player : choice])),
      play_clock_s: value("play-clock"),
      human_clock_s: value("human-clock"),
      pause_s: value("pause"),
      seed: value("seed"),
      matches: value("number"),
    };
    const { play_clock_s, human_clock_s, pause_s } = request;
    set("begin", { game: state.game, level: levels.number(), play_clock_s, human_clock_s, pause_s, players: choices });
    state.isBusy = true;
    ready();
    try {
      const { matches } = await ask("/api/matches", request);
      goTo(matches, links);
    } catch (error) {
      fill(problem, trouble(error.message));
    }
    state.isBusy = false;
    ready();
  }

  const isThere = reply.games.some(({ name: game }) => game === lastMatch.game);
  choose(isThere ? lastMatch.game : reply.game);
  arrange();
  return [cards.element, setup];
}

/** Chooser of the level of all programs; `onChange` gets the seconds that it takes a move. */
function levelField(first, onChange) {
  const words = el("p", { class: "quiet", id: "level-help" });
  const number = () => Number(element.querySelector(":checked")?.value ?? first);
  const describe = () => {
    const text = LEVELS[number()].words;
    fill(words, `${text[0].toUpperCase()}${text.slice(1)}${number() > 1 ? " a move" : ""}.`);
  };
  const element = el("fieldset", { class: "level", onChange: () => { describe(); onChange(LEVELS[number()].seconds); } },
    el("legend", {}, "Level of the program"),
    el("div", { class: "levels" }, ...LEVELS.map(({ level }, i) => el("label", {},
      el("input", { type: "radio", name: "level", value: `${i}`, checked: i === first, "aria-describedby": "level-help" }),
      el("span", {}, level)))), words);
  describe();
  return { element, number, chosen: () => LEVELS[number()] };
}

/** A program on the chosen level; not a name that a player can have. */
const LEVEL = "\u0000level";

/**
 * Chooser of a role's player: a person, a program on the chosen level, or any other player.
 *
 * @param judge called with the error in the choice; with an empty text if there is none.
 * @param lastPlayer the player of the last match.
 */
function seatField(role, number, judge, lastPlayer) {
  const problem = el("p", { id: `problem-${number}`, class: "trouble", "aria-live": "polite" });
  const otherField = el("input", {
    id: `other-${number}`, class: "other", hidden: true, spellcheck: "false", autocomplete: "off",
    placeholder: "hyperplay2:n=8", list: "players", "aria-label": `Player of ${role}`,
    "aria-describedby": `problem-${number}`, onInput: () => check(CHECK_AFTER_MS),
  });
  let latestCheck = 0;

  function tell(text) {
    fill(problem, text ? name(text, 400) : "");
    otherField.setAttribute("aria-invalid", `${Boolean(text)}`);
    judge(number, text);
  }

  /** Asks the server whether there is such a player; no match can begin before that. */
  async function check(after_ms) {
    const thisCheck = ++latestCheck;
    otherField.hidden = choice.value !== "other";
    if (otherField.hidden || !otherField.value.trim()) {
      tell("");
      judge(number, otherField.hidden ? "" : "name a player");
      return;
    }
    judge(number, "not checked yet");
    await new Promise((resolve) => setTimeout(resolve, after_ms));
    if (thisCheck !== latestCheck) return;
    const verdict = await ask("/api/player", { player: otherField.value }).catch(({ message }) => ({ error: message }));
    if (thisCheck === latestCheck) tell(verdict.error ?? "");
  }

  const choice = el("select", { id: `seat-${number}`, onChange: () => check(0) },
    el("option", { value: "human" }, number ? "A person" : "You, or another person"),
    el("option", { value: LEVEL }, "The program"),
    el("option", { value: "other" }, "More players …"));
  choice.value = lastPlayer ?? (number === 0 ? "human" : LEVEL);
  if (!choice.value) {
    choice.value = "other";
    otherField.value = lastPlayer;
    check(0);
  }
  return el("div", { class: "field seat" },
    el("label", { for: `seat-${number}` }, name(role, 60)), choice, otherField, problem);
}

/** `human`, `LEVEL`, or the spec of a player. */
function choiceIn(number) {
  const choice = document.getElementById(`seat-${number}`)?.value;
  return choice === "other" ? document.getElementById(`other-${number}`).value : choice;
}

/** Diagnostics of a rulesheet, each with its line and a caret under the place. */
function diagnostics(reply) {
  if (reply.error) return [trouble(reply.error)];
  if (!reply.num_diagnostics) return [el("p", { class: "good" }, "These rules can be played.")];
  const entries = reply.diagnostics.map((finding) => el("li", { class: finding.severity },
    el("p", {}, el("b", {}, finding.severity), finding.line ? ` in line ${finding.line}, column ${finding.column}: ` : ": ",
      name(finding.message, 1000)),
    finding.line ? el("pre", { tabindex: "0", role: "group", "aria-label": `Line ${finding.line}` }, `${finding.context}\n${finding.context.slice(0, finding.caret).replace(/[^\t]/g, " ")}^`) : null));
  const numHidden = reply.num_diagnostics - reply.diagnostics.length;
  return [
    reply.ok ? el("p", { class: "good" }, "These rules can be played, with warnings.") : null,
    el("ol", {}, ...entries),
    numHidden > 0 ? el("p", {}, `and ${numHidden} more`) : null,
  ];
}

function description(reply) {
  if (!reply.ok) return [];
  const sections = Object.entries(reply.sections ?? {}).filter(([title]) => title !== "Source");
  const kind = reply.is_told ? "Everybody sees everything." : "Hidden information: roles see only their own percepts.";
  return [
    ...(reply.about ?? "").split("\n").filter(Boolean).map((text) => el("p", {}, name(text, 3000))),
    el("p", { class: "quiet" }, `${kind}${reply.has_chance ? " Chance plays too." : ""}`),
    sections.length ? el("details", {}, el("summary", {}, "Moves, percepts and scores"),
      el("dl", {}, ...sections.flatMap(
        ([title, lines]) => [el("dt", {}, name(title)), el("dd", {}, name(lines.join("\n"), 3000))]))) : null,
  ];
}

// ---------------------------------------------------------------- matches, records and series

/** Number of matches that are shown at first; lobby.css hides the others. */
const numRecent = () => (matchMedia("(max-width: 47.9rem), (max-height: 27rem)").matches ? 1 : 2);
const MAX_SHOWN = 100;
/** Last picture of each match, with its status and number of turns. */
const pictures = new Map();

function matchList(matches, titles) {
  matches.sort((a, b) => b.created_s - a.created_s);
  const seen = whenSeen(lastPicture);
  const rows = new Map(matches.slice(0, MAX_SHOWN).map((match) => [match.id, matchRow(match, titles.get(match.game) ?? titleOf({ name: match.game }), seen)]));
  const numHidden = matches.length - rows.size;
  return {
    elements: matches.length ? [el("ul", { class: "matches" }, ...[...rows.values()].map(({ row }) => row)), numHidden > 0 ? el("p", {}, `and ${numHidden} older ones`) : null] : [],
    seen,
    /** Shows the picture after a turn of a match that goes on. */
    renew(match) {
      const { row, thumb } = rows.get(match.id) ?? {};
      if (row && match.open) seen.watch(row, { match, thumb });
    },
  };
}

async function lastPicture({ match, thumb }) {
  const key = `${match.status} ${match.turns}`;
  if (pictures.get(match.id)?.key !== key) {
    const picture = await ask(`/api/matches/${match.id}/picture`).catch(() => null);
    if (!picture) return;
    pictures.set(match.id, { key, picture });
  }
  fill(thumb, small(pictures.get(match.id).picture));
}

function matchRow(match, title, seen) {
  const ownMatch = ownLinks.of(match.id);
  const isOver = match.status === "over";
  const links = [];
  if (!isOver) {
    for (const [role, link] of Object.entries(ownMatch?.links ?? {})) {
      links.push(el("a", { href: link }, "Play ", name(role, 40)));
    }
  }
  if (isOver || match.open || ownMatch) {
    const query = !isOver && ownMatch && Object.keys(ownMatch.links ?? {}).length ? `?key=${ownMatch.key}` : "";
    links.push(el("a", { href: `/match/${match.id}${query}` }, isOver ? "Replay" : "Watch"));
  }
  const when = new Date(match.created_s * 1000);
  const thumb = el("div", { class: "thumb half-place", "aria-hidden": "true" });
  const row = el("li", { class: "card match" }, thumb,
    el("div", { class: "match-words" },
      el("b", {}, name(title, 60)),
      el("p", { class: `result ${match.status}` }, ...resultOf(match, Object.keys(ownMatch?.links ?? {}))),
      el("p", { class: "players" }, ...Object.entries(match.players).map(
        ([role, player]) => el("span", {}, name(role, 40), ": ", name(player, 60)))),
      el("p", { class: "links" }, ...links, ownMatch && !isOver ? endButton(match.id, ownMatch.key) : null,
        el("time", { class: "badge", datetime: when.toISOString() }, when.toLocaleString([], { dateStyle: "short", timeStyle: "short" })))));
  if (match.open) seen.watch(row, { match, thumb });
  return { row, thumb };
}

/** How a match ended; for the person who played one of its roles here, in the words of the seat. */
function resultOf(match, ownRoles) {
  if (match.status !== "over") return [match.status];
  const goals = Object.entries(match.goals ?? {}).filter(([role, goal]) => role !== "random" && goal !== null);
  const points = el("span", { class: "quiet" }, ...(goals.length ? scores(match.goals) : []));
  if (ownRoles.length === 1) {
    const { kind, words } = outcomeOf({ match, rules: match, role: ownRoles[0] });
    return [name(words, 100), " ", ["won", "lost", "drew"].includes(kind) && !match.error ? points : null];
  }
  const resigned = resignedBy(match);
  if (resigned) return [name(resigned, 60), " resigned"];
  if (match.error || !goals.length) return ["ended early"];
  if (goals.length === 1) return [name(goals[0][0], 40), " scored ", el("b", {}, `${goals[0][1]}`)];
  if (match.shares_goals) return ["Together they scored ", el("b", {}, `${goals[0][1]}`)];
  const best = Math.max(...goals.map(([, goal]) => goal));
  const winners = goals.filter(([, goal]) => goal === best).map(([role]) => role);
  if (winners.length === goals.length) return ["Drawn ", points];
  return [name(winners.join(", "), 60), " won ", points];
}

/** Button that ends a match when pressed twice; the list may be drawn anew in between. */
const pressed = new Set();
function endButton(id, key) {
  const button = el("button", { type: "button", class: "quiet-button", onClick: async () => {
    if (!pressed.has(id)) {
      pressed.add(id);
      button.textContent = "Really end it?";
      return;
    }
    button.disabled = true;
    await ask(`/api/matches/${id}/end`, { key }).catch((error) => { button.textContent = error.message; });
  } }, pressed.has(id) ? "Really end it?" : "End");
  return button;
}

function records(names) {
  if (!names.length) return null;
  return el("section", { "aria-labelledby": "records" },
    el("h2", { id: "records" }, "Records in the folder"),
    el("ul", { class: "files" }, ...names.map((file) => el("li", {}, recordLink(file, file)))));
}

/** Matches that this machine's `ggp serve` played on servers elsewhere. */
function logs(servedMatches) {
  if (!servedMatches.length) return null;
  const when = (time) => (Number.isNaN(Date.parse(time)) ? time : new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
  return el("section", { "aria-labelledby": "logs" },
    el("h2", { id: "logs" }, "Played by ggp serve"),
    el("ul", { class: "files" }, ...servedMatches.map((log) => el("li", {}, recordLink(log.name, log.match),
      el("span", { class: "quiet" }, " ", name(log.role, 40), ": ", name(log.player, 60), ", ", name(when(log.time), 40))))));
}

const recordLink = (file, title) =>
  el("a", { href: `/record/${file.split("/").map(encodeURIComponent).join("/")}` }, name(title));

async function standings(place) {
  for (;;) {
    // The event stream reports a server that is gone.
    const { series } = await ask("/api/series").catch(() => ({ series: null }));
    if (series) fill(place, ...series.map((entry) => el("section", {},
      el("h2", {}, "Series ", name(entry.name)),
      entry.error ? trouble(entry.error) : standingsOf(entry))));
    await new Promise((resolve) => setTimeout(resolve, SERIES_EVERY_MS));
  }
}

function standingsOf(series) {
  const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));
  const interval = ({ value, low, high }) =>
    low === null ? number(value) : `${number(value)} (${number(low)} to ${number(high)})`;
  return el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": `Standings of ${series.name}` },
    el("p", { class: "quiet" }, `${counted(series.played, "match")}: `, ...series.games.map((game) => name(`${game} `))),
    el("table", { class: "standings" },
      el("thead", {}, el("tr", {}, ...["player", "rating (99 %)", "mean score (99 %)", "matches"].map(
        (title) => el("th", { scope: "col" }, title)))),
      el("tbody", {}, ...series.standings.map((row) => el("tr", {},
        el("th", { scope: "row" }, name(row.player, 60)),
        el("td", {}, row.rating ? `${number(row.rating.mean)} (${number(row.rating.low)} to ${number(row.rating.high)})` : "–"),
        el("td", {}, interval(row.score)),
        el("td", {}, `${row.matches}`))))));
}
