import { expect, it } from 'vitest';
import { identityFacts } from './verified-identity.js';

it('a claim name that looks like a JSON pointer is not read as a nested claim', () => {
  const claims = { 'kubernetes.io': { namespace: 'sandbox' }, '/kubernetes.io/namespace': 'release' };
  const facts = identityFacts({ id: 'run', trust: { id: 't', name: 'n' }, claims, tokenSha256: '', keyThumbprint: '' });
  expect(facts['verified./kubernetes.io/namespace']).toEqual(['sandbox']);
});
