#!/bin/sh
# boardgame.io 0.50.2 (npm): a match that is over goes on after `undo`.
#
# Guess: with `ctx.gameover` set nothing changes any more: moves are refused, and so is undo.
#
# Seen: moves are refused, but undo takes back the last move with the end, and the loser may play
# another one; the second end replaces the first. A program that stores results when `gameover`
# appears counts such a match twice, once for each player here. Set `disableUndo`, or `undoable:
# false` on moves that can end the game.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund boardgame.io@0.50.2 >/dev/null
cat > seen.cjs <<'JAVASCRIPT'
const assert = require('assert');
const { Client } = require('boardgame.io/client');

console.error = () => {};

function play(more) {
  const client = Client({
    game: {
      setup: () => ({ said: [] }),
      moves: { say: ({ G }, word) => { G.said.push(word); } },
      endIf: ({ G }) => (G.said.length === 2 ? { winner: G.said[1] } : undefined),
      ...more,
    },
  });
  client.start();
  const ends = [];
  const note = () => ends.push((client.getState().ctx.gameover || {}).winner);
  client.moves.say('first');
  client.moves.say('0');
  note();
  client.moves.say('1');
  note();
  client.undo();
  note();
  client.moves.say('1');
  note();
  return ends;
}

const seen = [play({}), play({ disableUndo: true })];
console.log(seen);
assert.deepStrictEqual(seen, [['0', '0', undefined, '1'], ['0', '0', '0', '0']]);
JAVASCRIPT
node seen.cjs
