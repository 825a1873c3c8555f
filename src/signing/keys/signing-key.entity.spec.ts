import { describe, expect, it } from 'vitest';
import { SIGNATURE_PURPOSES } from '../../hsm/key-vault.js';
import { CALLER_PURPOSES, KEY_PURPOSES, keyPurposesFor } from './signing-key.entity.js';

describe('key purposes', () => {
  it.each(SIGNATURE_PURPOSES)('include a key for every signature purpose: %s', (purpose) => {
    expect(keyPurposesFor(purpose)).toContain(purpose);
  });

  it('do not let a key for one purpose sign for another, in any combination', () => {
    for (const asked of SIGNATURE_PURPOSES)
      for (const other of SIGNATURE_PURPOSES.filter((one) => one !== asked))
        expect(keyPurposesFor(asked), `${asked} by a key for ${other}`).not.toContain(other);
  });

  it('of a key from before narrower purposes include code and documents, but no logins', () => {
    const served = [undefined, ...SIGNATURE_PURPOSES].filter((asked) => keyPurposesFor(asked).includes('signing'));
    expect(served).toEqual([undefined, 'code-signing', 'documents']);
  });

  it('for a digest without a stated purpose are code signing and documents only', () => {
    expect(keyPurposesFor(undefined)).toEqual(['signing', 'code-signing', 'documents']);
  });

  it('exclude keys for timestamps and certificates for every caller', () => {
    expect(KEY_PURPOSES.filter((one) => !CALLER_PURPOSES.includes(one))).toEqual(['timestamping', 'certificates']);
    for (const asked of [undefined, ...SIGNATURE_PURPOSES])
      expect(keyPurposesFor(asked).filter((one) => !CALLER_PURPOSES.includes(one))).toEqual([]);
  });
});
