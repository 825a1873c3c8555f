import type { StepName } from './model/rotation-state.js';
import type { RotationSettings } from './model/rotation.entity.js';

/** Steps that begin something. What was begun is brought to a safe state at any hour. */
const BEGINNINGS: readonly StepName[] = ['add', 'promote', 'remove-old'];
const HOUR_MS = 3600 * 1000;
const DAY = 24;

/** Seconds until the step may be done; 0 within the window, or without one. */
export function secondsUntilAllowed(step: StepName, { window }: RotationSettings, now: Date): number {
  if (window === undefined || !BEGINNINGS.includes(step)) return 0;
  const hour = now.getUTCHours();
  const { from, to } = window;
  const isWithin = from <= to ? hour >= from && hour < to : hour >= from || hour < to;
  if (isWithin) return 0;
  const hours = (from - hour + DAY) % DAY;
  return Math.max(1, Math.ceil((hours * HOUR_MS - (now.getTime() % HOUR_MS)) / 1000));
}
