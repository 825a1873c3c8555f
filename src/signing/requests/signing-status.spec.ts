import { describe, expect, it } from 'vitest';
import { SIGNING_STATUSES, isFinal, statusesBefore } from './signing-status.js';

describe('the life of a signing request', () => {
  it('ends in SIGNED or FAILED and leaves neither', () => {
    expect(SIGNING_STATUSES.filter(isFinal)).toEqual(['SIGNED', 'FAILED']);
    const starts = new Set(SIGNING_STATUSES.flatMap(statusesBefore));
    expect(starts.has('SIGNED')).toBe(false);
    expect(starts.has('FAILED')).toBe(false);
  });

  it('signs only what is being processed, so that an approval cannot be skipped', () => {
    expect(statusesBefore('SIGNED')).toEqual(['PROCESSING']);
    expect(statusesBefore('PROCESSING')).toEqual(['QUEUED']);
  });
});
