import { describe, expect, it } from 'vitest';
import type { TokenBinding } from '../../../access/caller.js';
import { assertSameKeys, type BindingDemand, bindingFor } from './token-binding.js';

const KEY = { dpopKey: 'key' };
const CERTIFICATE = { certificate: 'certificate' };
const BOTH = { ...KEY, ...CERTIFICATE };
const demand = (dpopBound: boolean, certificateBound: boolean): BindingDemand => ({ dpopBound, certificateBound });

describe('a token is bound', () => {
  it.each<[string, BindingDemand, TokenBinding, TokenBinding]>([
    ['to nothing where nothing is shown', demand(false, false), {}, {}],
    ['to the key of a DPoP proof, demanded or not', demand(false, false), KEY, KEY],
    ['to no certificate that is not demanded', demand(false, false), BOTH, KEY],
    ['to the certificate that is demanded', demand(false, true), CERTIFICATE, CERTIFICATE],
    ['to both', demand(true, true), BOTH, BOTH],
  ])('%s', (_what, wanted, shown, bound) => {
    expect(bindingFor(wanted, shown)).toEqual(bound);
  });

  it('only by the required method: a certificate does not replace a DPoP proof, nor the reverse', () => {
    expect(() => bindingFor(demand(true, false), CERTIFICATE)).toThrow(/DPoP proof is required/);
    expect(() => bindingFor(demand(false, true), KEY)).toThrow(/certificate is required/);
  });
});

describe('a refresh token is bound like its session', () => {
  it.each<[string, TokenBinding, TokenBinding]>([
    ['and needs nothing where that is not', {}, {}],
    ['whatever else is shown', {}, BOTH],
    ['to its key', KEY, BOTH],
    ['to both', BOTH, BOTH],
  ])('%s', (_what, session, shown) => {
    expect(() => assertSameKeys(session, shown)).not.toThrow();
  });

  // draft-fett-oauth-dpop issue 63: one kind of proof of possession does not replace the other.
  it.each<[string, TokenBinding, TokenBinding, string]>([
    ['no key', KEY, {}, 'invalid_dpop_proof'],
    ['another key', KEY, { dpopKey: 'other' }, 'invalid_grant'],
    ['a certificate in place of a key', KEY, CERTIFICATE, 'invalid_dpop_proof'],
    ['no certificate', CERTIFICATE, {}, 'invalid_grant'],
    ['another certificate', CERTIFICATE, { certificate: 'other' }, 'invalid_grant'],
    ['a key in place of a certificate', CERTIFICATE, KEY, 'invalid_grant'],
    ['one of two', BOTH, KEY, 'invalid_grant'],
  ])('and is rejected with %s', (_what, session, shown, code) => {
    expect(() => assertSameKeys(session, shown)).toThrow(expect.objectContaining({ code }));
  });
});
