import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { expect, it } from 'vitest';
import { PublicVerifier } from './public-verifier.js';

it('verifications of one caller leave the event loop to other callbacks, and other callers get their turn', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
  const content = Buffer.from('what is released');
  const key = { type: 'ec-p521', publicKey: publicKey.export({ type: 'spki', format: 'der' }) } as const;
  const digest = createHash('sha512').update(content).digest();
  const signed = { scheme: 'ecdsa-der', algorithm: 'sha512', digest, signature: sign('sha512', content, privateKey) } as const; // prettier-ignore
  const verifier = new PublicVerifier();
  const events: string[] = [];
  const verification = async (caller: string) => {
    const isValid = await verifier.verifies(caller, key, signed);
    events.push(caller);
    setImmediate(() => events.push('callback'));
    return isValid;
  };
  const all = [...Array.from({ length: 8 }, () => verification('ann')), verification('ben')];
  expect(await Promise.all(all)).toEqual(all.map(() => true));
  expect(events.join(' ')).not.toContain('ann ann');
  expect(events.filter((one) => one !== 'callback').indexOf('ben')).toBeLessThan(3);
});
