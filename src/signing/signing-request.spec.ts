import { describe, expect, it } from 'vitest';
import { SIGNING_STATUSES, isFinalSigningStatus, signingStatusesBefore } from './signing-request.entity.js';

describe('signing request state', () => {
  it('is final in SIGNED and FAILED', () => {
    expect(SIGNING_STATUSES.filter(isFinalSigningStatus)).toEqual(['SIGNED', 'FAILED']);
    const starts = new Set(SIGNING_STATUSES.flatMap(signingStatusesBefore));
    expect(starts.has('SIGNED')).toBe(false);
    expect(starts.has('FAILED')).toBe(false);
  });

  it('becomes SIGNED only from processing, so that an approval cannot be skipped', () => {
    expect(signingStatusesBefore('SIGNED')).toEqual(['PROCESSING']);
    expect(signingStatusesBefore('PROCESSING')).toEqual(['QUEUED']);
  });
});
