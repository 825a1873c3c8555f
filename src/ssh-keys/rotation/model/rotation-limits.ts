import type { Actor } from '../../../access/caller.js';

/** Who acts when nobody asked at that moment. */
export const ROTATION_ACTOR: Actor = { kind: 'system', id: 'ssh-rotation', name: 'ssh-rotation' };

/** Failed attempts in a row after which a target that nothing was changed on is given up … */
export const MAX_STRIKES_UNTOUCHED = 3;
/** … and one that holds the new key already: about half an hour of trying. */
export const MAX_ROTATION_STRIKES = 40;

/** Wait before the next attempt, in seconds. */
export function backoffSeconds(strikes: number): number {
  return Math.min(60, 2 ** strikes) * (0.5 + Math.random() / 2);
}

/** Hosts of one wave that may fail before everything stops: more than two, and more than one in twenty. The first wave is the canary: none. */
export function mayFail(wave: number, size: number): number {
  return wave === 0 ? 0 : Math.max(2, Math.floor(size / 20));
}

/** Waves: one canary, then one in twenty, then the rest. Answers the wave of each target by its place in the list. */
export function waveOf(place: number, targets: number): number {
  if (place === 0) return 0;
  return place <= Math.max(1, Math.ceil(targets / 20)) ? 1 : 2;
}
