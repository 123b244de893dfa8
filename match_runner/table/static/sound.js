// Short tones for a person who has turned the sound on; it is off at first.

import { setting } from "./settings.js";

/** Frequencies in Hz, one after the other. */
const TONES = { move: [330], turn: [440, 554], end: [554, 440, 330] };
const TONE_S = 0.09;
const LOUDNESS = 0.08;
let context = null;

/** Plays the tones of `move`, `turn` or `end`. */
export function play(kind) {
  if (!setting("sound")) return;
  context ??= new AudioContext();
  TONES[kind].forEach((frequency, number) => {
    const [tone, volume] = [context.createOscillator(), context.createGain()];
    const start_s = context.currentTime + number * TONE_S;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(LOUDNESS, start_s);
    volume.gain.exponentialRampToValueAtTime(0.001, start_s + TONE_S);
    tone.connect(volume).connect(context.destination);
    tone.start(start_s);
    tone.stop(start_s + TONE_S);
  });
}
