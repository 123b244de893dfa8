// Levels of programs: from random play to half a minute a move.

const RUNGS = [
  { level: "Beginner", words: "it plays at random", seconds: 0.5 },
  { level: "Easy", words: "it thinks for half a second", seconds: 0.5 },
  { level: "Medium", words: "it thinks for two seconds", seconds: 2 },
  { level: "Hard", words: "it thinks for eight seconds", seconds: 8 },
  { level: "Strongest", words: "it thinks for half a minute", seconds: 30 },
];

/** The levels, with the player that plays on each. */
export const LEVELS = RUNGS.map((rung, number) => ({ ...rung, player: number ? "auto" : "random" }));
export const USUAL_LEVEL = 2;

const programs = (players) => Object.entries(players).filter(([, player]) => player !== "human");

/** The rung of the players of a match. */
function rungOf({ players, play_clock_s: seconds }) {
  if (programs(players).every(([, player]) => player === "random")) return 0;
  const index = RUNGS.findIndex((rung, number) => number && rung.seconds >= (seconds ?? 2));
  return index < 0 ? RUNGS.length - 1 : index;
}

function onRung(match, steps) {
  const rung = rungOf(match) + steps;
  if (!programs(match.players).length || !RUNGS[rung]) return null;
  const change = (player) => {
    if (player === "human") return player;
    if (!rung) return "random";
    return player === "random" ? "auto" : player;
  };
  const players = Object.fromEntries(Object.entries(match.players).map(([role, player]) => [role, change(player)]));
  return { text: `${steps > 0 ? "Stronger" : "Weaker"}: ${RUNGS[rung].words}`, request: { players, play_clock_s: RUNGS[rung].seconds } };
}

/** A match with stronger players, as `{text, request}`; null if there is none. */
export const stronger = (match) => onRung(match, 1);

/** The same with weaker ones. */
export const weaker = (match) => onRung(match, -1);

/** A match in which every player has the next one's role. */
export function swapped({ players, play_clock_s: seconds }, roles) {
  const seats = roles.filter((role) => role in players);
  if (seats.length < 2) return null;
  const rotated = seats.map((role, number) => [role, players[seats[(number + 1) % seats.length]]]);
  return { text: "Swap roles", request: { players: Object.fromEntries(rotated), play_clock_s: seconds } };
}
