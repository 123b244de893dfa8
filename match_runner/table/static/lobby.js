// The lobby: new matches, present and past matches, records, and standings of series.

import { ask, counted, el, fill, follow, name, own, scores, show, trouble } from "./dom.js";
import { goTo } from "./links.js";
import { set, setting } from "./settings.js";

const OWN = "\u0000own";
const CHECK_AFTER_MS = 300;
const SERIES_EVERY_MS = 5000;

export async function lobby() {
  const reply = await ask("/api/lobby");
  const matches = new Map(reply.matches.map((match) => [match.id, match]));
  const list = el("div", { class: "stack" });
  const series = el("div", { class: "stack" });
  show("Lobby",
    el("div", { class: "lobby" },
      newMatch(reply),
      el("div", { class: "stack" },
        el("section", { "aria-labelledby": "matches" },
          el("h2", { id: "matches" }, "Matches"), list),
        series,
        records(reply.records), logs(reply.logs))));
  const draw = () => fill(list, ...matchList([...matches.values()]));
  draw();
  let waits = false;
  follow(`/api/events?after=${reply.last}`, {
    reset: () => location.reload(),
    match: (match) => {
      matches.delete(match.id);
      matches.set(match.id, match);
      if (waits) return;
      waits = true;
      setTimeout(() => { waits = false; draw(); }, 100);
    },
  });
  await standings(series);
}

// ---------------------------------------------------------------- a new match

function newMatch(reply) {
  const last = setting("begin") ?? {};
  const state = { roles: [], ok: false, rules: null, isBusy: false };
  const wrong = new Map();
  const problem = el("div", { "aria-live": "polite" });
  const about = el("div", { class: "about" });
  const seats = el("fieldset", {}, el("legend", {}, "Who plays"));
  const found = el("div", { class: "diagnostics", "aria-live": "polite" });
  const start = el("button", { class: "primary", type: "submit" }, "Begin");
  const links = el("div");

  const game = el("select", { id: "game", onChange: () => choose() },
    ...reply.games.map((each) => el("option", { value: each.name }, label(each))),
    el("option", { value: OWN }, "Your own rules …"));
  game.value = reply.games.some(({ name }) => name === last.game) ? last.game : reply.game;

  const text = el("textarea", {
    id: "rules", rows: "14", spellcheck: "false", autocapitalize: "off",
    "aria-describedby": "rules-help", onInput: () => later(),
  });
  const title = el("input", { id: "rules-name", maxlength: "100", value: "my game", autocomplete: "off" });
  const own = el("div", { class: "stack own-rules", hidden: true },
    el("div", { class: "field" }, el("label", { for: "rules-name" }, "Name"), title),
    el("label", { for: "rules" }, "Rules (GDL or GDL-II)"), text,
    el("p", { id: "rules-help", class: "quiet" }, "Paste a rulesheet, or drop a file here."),
    found);
  own.addEventListener("dragover", (event) => event.preventDefault());
  own.addEventListener("drop", async (event) => {
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    text.value = await file.text();
    title.value = file.name.replace(/\.(gdl|kif|txt)$/i, "").slice(0, 100);
    later();
  });

  const option = (id, title, attributes, help) => el("div", { class: "field" },
    el("label", { for: id }, title),
    el("input", { id, type: "number", "aria-describedby": `${id}-help`, ...attributes }),
    el("p", { id: `${id}-help`, class: "quiet" }, help));
  const options = el("details", {},
    el("summary", {}, "Clocks, seed, number of matches"),
    el("div", { class: "fields" },
      option("play-clock", "Players' clock", { min: "0", step: "any", value: `${last.play_clock_s ?? 2}` },
        "Seconds for each decision; 0: no clock, only the players' own limits."),
      option("human-clock", "Your clock", { min: "0", step: "any", value: `${last.human_clock_s ?? 0}` },
        "Seconds for each move; 0: no clock. When time runs out, you play a random move."),
      option("pause", "Pause", { min: "0", max: "60", step: "any", value: `${last.pause_s ?? 0}` },
        "Seconds before each turn, so that people can follow the match."),
      option("seed", "Seed", { min: "0", step: "1", value: `${Math.floor(Math.random() * 1e6)}` },
        "The same seed gives the same match, unless clocks or people make a difference."),
      option("number", "Matches", { min: "1", max: "100", step: "1", value: "1" },
        "Each match adds 1 to the seed. With people, only one match is possible.")));

  const form = el("form", { class: "stack", onSubmit: (event) => begin(event) },
    el("div", { class: "field" }, el("label", { for: "game" }, "Game"), game),
    own, about, seats, options, problem, el("div", { class: "row" }, start), links);

  let timer = null;
  let asked = 0;

  function later() {
    clearTimeout(timer);
    timer = setTimeout(check, CHECK_AFTER_MS);
  }

  const ready = () => { start.disabled = !state.ok || state.isBusy || wrong.size > 0; };

  /** A name for pasted rules. */
  const ownName = () => title.value.trim() || "my game";

  function choose() {
    own.hidden = game.value !== OWN;
    // No match can begin before the roles are known.
    state.roles = [];
    state.ok = false;
    wrong.clear();
    ready();
    fill(seats);
    if (game.value === OWN && !text.value && state.rules) text.value = state.rules;
    check();
  }

  async function check() {
    const isOwn = game.value === OWN;
    const number = ++asked;
    let reply;
    try {
      reply = await ask("/api/rules", isOwn ? { name: ownName(), rules: text.value } : { game: game.value });
    } catch (error) {
      reply = { ok: false, diagnostics: [], num_diagnostics: 1, error: error.message };
    }
    if (number !== asked) return;
    state.ok = reply.ok;
    if (!isOwn) state.rules = reply.rules ?? null;
    fill(found, ...(isOwn ? diagnostics(reply) : []));
    fill(about, ...description(reply));
    if (reply.ok && reply.roles.join(" ") !== state.roles.join(" ")) {
      state.roles = reply.roles;
      drawSeats();
    }
    ready();
  }

  function drawSeats() {
    wrong.clear();
    const judge = (number, text) => {
      if (text) wrong.set(number, text);
      else wrong.delete(number);
      ready();
    };
    fill(seats, el("legend", {}, "Who plays"), el("div", { class: "seats" },
      ...state.roles.map((role, number) => seatField(role, number, reply.players, judge, last.game === game.value ? last.players?.[role] : undefined))));
  }

  async function begin(event) {
    event.preventDefault();
    fill(problem);
    const value = (id) => Number(document.getElementById(id).value || 0);
    const isOwn = game.value === OWN;
    const request = {
      game: isOwn ? ownName() : game.value,
      rules: isOwn ? text.value : null,
      players: Object.fromEntries(state.roles.map((role, number) => [role, playerIn(number)])),
      play_clock_s: value("play-clock"),
      human_clock_s: value("human-clock"),
      pause_s: value("pause"),
      seed: value("seed"),
      matches: value("number"),
    };
    const { play_clock_s, human_clock_s, pause_s, players } = request;
    set("begin", { game: game.value, play_clock_s, human_clock_s, pause_s, players });
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

  check();
  return el("section", { "aria-labelledby": "new" }, el("h2", { id: "new" }, "New match"), form);
}

const label = (game) =>
  game.title && game.title.toLowerCase() !== game.name.replaceAll("_", " ") ? `${game.title} (${game.name})` : game.title || game.name;

/**
 * Chooser of a role's player: a list, and a field for players with options.
 *
 * @param judge called with the error in the choice; with an empty text if there is none.
 * @param before the player of the last match.
 */
function seatField(role, number, players, judge, before) {
  const problem = el("p", { id: `problem-${number}`, class: "trouble", "aria-live": "polite" });
  const other = el("input", {
    id: `other-${number}`, class: "other", hidden: true, spellcheck: "false", autocomplete: "off",
    placeholder: "hyperplay2:n=8", "aria-label": `Player of ${role}`,
    "aria-describedby": `problem-${number}`, onInput: () => check(CHECK_AFTER_MS),
  });
  let asked = 0;

  function tell(text) {
    fill(problem, text ? name(text, 400) : "");
    other.setAttribute("aria-invalid", `${Boolean(text)}`);
    judge(number, text);
  }

  /** Asks the server whether there is such a player; no match can begin before that. */
  async function check(after_ms) {
    const own = ++asked;
    other.hidden = choice.value !== "other";
    if (other.hidden || !other.value.trim()) {
      tell("");
      judge(number, other.hidden ? "" : "name a player");
      return;
    }
    judge(number, "not checked yet");
    await new Promise((resolve) => setTimeout(resolve, after_ms));
    if (own !== asked) return;
    const found = await ask("/api/player", { player: other.value }).catch(({ message }) => ({ error: message }));
    if (own === asked) tell(found.error ?? "");
  }

  const choice = el("select", { id: `seat-${number}`, onChange: () => check(0) },
    el("option", { value: "human" }, "a person (you or somebody else)"),
    ...[...players].reverse().map(({ name, about }) => el("option", { value: name, title: about }, name)),
    el("option", { value: "other" }, "another player …"));
  choice.value = before ?? (number === 0 ? "human" : "auto");
  if (!choice.value) { // it had options
    choice.value = "other";
    other.value = before;
    check(0);
  }
  return el("div", { class: "field seat" },
    el("label", { for: `seat-${number}` }, name(role, 60)), choice, other, problem);
}

function playerIn(number) {
  const choice = document.getElementById(`seat-${number}`).value;
  return choice === "other" ? document.getElementById(`other-${number}`).value : choice;
}

/** Diagnostics of a rulesheet, each with its line and a caret under the place. */
function diagnostics(reply) {
  if (reply.error) return [trouble(reply.error)];
  if (!reply.num_diagnostics) return [el("p", { class: "good" }, "These rules can be played.")];
  const each = reply.diagnostics.map((d) => el("li", { class: d.severity },
    el("p", {}, el("b", {}, d.severity), d.line ? ` in line ${d.line}, column ${d.column}: ` : ": ",
      name(d.message, 1000)),
    d.line ? el("pre", {}, `${d.context}\n${d.context.slice(0, d.caret).replace(/[^\t]/g, " ")}^`) : null));
  const more = reply.num_diagnostics - reply.diagnostics.length;
  return [
    reply.ok ? el("p", { class: "good" }, "These rules can be played, with warnings.") : null,
    el("ol", {}, ...each),
    more > 0 ? el("p", {}, `and ${more} more`) : null,
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

const MAX_SHOWN = 100;

function matchList(matches) {
  if (!matches.length) return [el("p", { class: "quiet" }, "None yet.")];
  matches.sort((a, b) => b.created_s - a.created_s);
  const rows = matches.slice(0, MAX_SHOWN).map(matchRow);
  const more = matches.length - rows.length;
  return [el("ul", { class: "matches" }, ...rows), more > 0 ? el("p", {}, `and ${more} older ones`) : null];
}

function matchRow(match) {
  const mine = own.of(match.id);
  const isOver = match.status === "over";
  const links = [];
  if (!isOver) {
    for (const [role, link] of Object.entries(mine?.links ?? {})) {
      links.push(el("a", { href: link }, "Play ", name(role, 40)));
    }
  }
  if (isOver || match.open || mine) {
    const query = !isOver && mine && Object.keys(mine.links ?? {}).length ? `?key=${mine.key}` : "";
    links.push(el("a", { href: `/match/${match.id}${query}` }, isOver ? "Replay" : "Watch"));
  }
  return el("li", { class: "card match" },
    el("div", { class: "match-head" },
      el("b", {}, name(match.game, 60)),
      el("span", { class: `badge ${match.status}` }, match.error ? "ended early" : match.status)),
    el("p", { class: "players" }, ...Object.entries(match.players).map(
      ([role, player]) => el("span", {}, name(role, 40), ": ", name(player, 60)))),
    isOver && match.goals && !match.error ? el("p", {}, ...scores(match.goals)) : null,
    el("p", { class: "links" }, ...links, mine && !isOver ? endButton(match.id, mine.key) : null));
}

/** Button that ends a match when pressed twice. */
function endButton(id, key) {
  let isSure = false;
  const button = el("button", { type: "button", class: "quiet-button", onClick: async () => {
    if (!isSure) {
      isSure = true;
      button.textContent = "Really end it?";
      return;
    }
    button.disabled = true;
    await ask(`/api/matches/${id}/end`, { key }).catch((error) => { button.textContent = error.message; });
  } }, "End");
  return button;
}

function records(names) {
  if (!names.length) return null;
  return el("section", { "aria-labelledby": "records" },
    el("h2", { id: "records" }, "Records in the folder"),
    el("ul", { class: "files" }, ...names.map((each) => el("li", {}, recordLink(each, each)))));
}

/** Matches that this machine's `ggp serve` played on servers elsewhere. */
function logs(all) {
  if (!all.length) return null;
  const when = (time) => (Number.isNaN(Date.parse(time)) ? time : new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
  return el("section", { "aria-labelledby": "logs" },
    el("h2", { id: "logs" }, "Played by ggp serve"),
    el("ul", { class: "files" }, ...all.map((log) => el("li", {}, recordLink(log.name, log.match),
      el("span", { class: "quiet" }, " ", name(log.role, 40), ": ", name(log.player, 60), ", ", name(when(log.time), 40))))));
}

const recordLink = (file, title) =>
  el("a", { href: `/record/${file.split("/").map(encodeURIComponent).join("/")}` }, name(title));

async function standings(place) {
  for (;;) {
    // The event stream reports a server that is gone.
    const { series } = await ask("/api/series").catch(() => ({ series: null }));
    if (series) fill(place, ...series.map((each) => el("section", {},
      el("h2", {}, "Series ", name(each.name)),
      each.error ? trouble(each.error) : standingsOf(each))));
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
      el("tbody", {}, ...series.standings.map((each) => el("tr", {},
        el("th", { scope: "row" }, name(each.player, 60)),
        el("td", {}, each.rating ? `${number(each.rating.mean)} (${number(each.rating.low)} to ${number(each.rating.high)})` : "–"),
        el("td", {}, interval(each.score)),
        el("td", {}, `${each.matches}`))))));
}
