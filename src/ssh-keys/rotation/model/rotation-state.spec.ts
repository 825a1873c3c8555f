import { describe, expect, it } from 'vitest';
import {
  isOver,
  nextStep,
  ROTATION_STATUSES,
  rotationStatusesBefore,
  secondsUntilAllowed,
  secondsUntilCheck,
} from './rotation-state.js';

const at = (time: string) => new Date(`2026-11-20T${time}Z`);

it.each([
  ['within the window', { from: 8, to: 17 }, '08:00:00', 0],
  ['before it', { from: 8, to: 17 }, '07:59:30', 30],
  ['at its end', { from: 8, to: 17 }, '17:00:00', 15 * 3600],
  ['within one over midnight', { from: 22, to: 4 }, '03:59:59', 0],
  ['after one over midnight', { from: 22, to: 4 }, '04:00:00', 18 * 3600],
  ['without a window', undefined, '12:00:00', 0],
])('a step that changes a host is scheduled %s', (_when, window, time, seconds) => {
  expect(secondsUntilAllowed('add', window, at(time))).toBe(seconds);
});

it('a verification step does not wait for the window', () => {
  expect(secondsUntilAllowed('verify', { from: 8, to: 17 }, at('03:00:00'))).toBe(0);
});

it('a rotation being rolled back rolls back every target that still has the old key', () => {
  expect(nextStep('OVERLAP', true)).toBe('roll-back');
  expect(nextStep('REMOVED', true)).toBe('prove');
  expect(nextStep('PERMANENT', false)).toBeUndefined();
});

it('a target waits for the others once the new key is permanent, and has no step after PROVEN', () => {
  const steps = (['PLANNED', 'PRECHECKED', 'ADDED', 'VERIFIED', 'PERMANENT', 'RELEASED'] as const).map((state) =>
    nextStep(state, false),
  );
  expect(steps).toEqual(['precheck', 'add', 'verify', 'make-permanent', undefined, 'promote']);
  expect(nextStep('PROVEN', false)).toBeUndefined();
});

it('a finished rotation is final, except that a CRITICAL one can be retried', () => {
  const over = ROTATION_STATUSES.filter(isOver);
  expect(over).toEqual(['PLANNED', 'DONE', 'PARTIAL', 'ROLLED_BACK', 'CANCELLED', 'CRITICAL']);
  expect(ROTATION_STATUSES.flatMap(rotationStatusesBefore).filter(isOver)).toEqual(['CRITICAL']);
  expect(rotationStatusesBefore('RUNNING')).toEqual(['PENDING_APPROVAL', 'HALTED', 'AWAITING_HOLDER', 'CRITICAL']);
});

describe('while both keys are valid', () => {
  it('checks the new key, and removes the old one when the overlap ends', () => {
    expect(nextStep('OVERLAP', false, true)).toBe('check-new');
    expect(nextStep('OVERLAP', false, false)).toBe('remove-old');
    expect(nextStep('OVERLAP', true, true)).toBe('roll-back');
  });

  it.each([
    [86_400, 86_400, 7200],
    [86_400, 600, 600],
    [15, 15, 5],
    [2, 2, 2],
    [90 * 86_400, 90 * 86_400, 21_600],
    [60, 0, 0],
  ])('with %i seconds in total and %i left, schedules the check in %i seconds', (overlap, left, expected) => {
    expect(secondsUntilCheck(overlap, left)).toBe(expected);
  });
});
