import { describe, expect, it } from 'vitest';
import { SIGNATURE_PURPOSES } from '../../hsm/key-vault.js';
import { CALLER_PURPOSES, KEY_PURPOSES, keyPurposesFor } from './signing-key.entity.js';

describe('the purposes of keys', () => {
  it.each(SIGNATURE_PURPOSES)('a signature for %s is made by a key for it', (purpose) => {
    expect(keyPurposesFor(purpose)).toContain(purpose);
  });

  it('a key for one purpose signs for no other, however the two are combined', () => {
    for (const asked of SIGNATURE_PURPOSES)
      for (const other of SIGNATURE_PURPOSES.filter((one) => one !== asked))
        expect(keyPurposesFor(asked), `${asked} by a key for ${other}`).not.toContain(other);
  });

  it('a key that was made before purposes could say more signs code and documents, and nothing that logs in', () => {
    const served = [undefined, ...SIGNATURE_PURPOSES].filter((asked) => keyPurposesFor(asked).includes('signing'));
    expect(served).toEqual([undefined, 'code-signing', 'documents']);
  });

  it('a digest of which nothing is said is signed by keys for code and documents alone', () => {
    expect(keyPurposesFor(undefined)).toEqual(['signing', 'code-signing', 'documents']);
  });

  it('keys for timestamps and certificates sign for no caller', () => {
    expect(KEY_PURPOSES.filter((one) => !CALLER_PURPOSES.includes(one))).toEqual(['timestamping', 'certificates']);
    for (const asked of [undefined, ...SIGNATURE_PURPOSES])
      expect(keyPurposesFor(asked).filter((one) => !CALLER_PURPOSES.includes(one))).toEqual([]);
  });
});
