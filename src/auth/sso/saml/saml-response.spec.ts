import type { Profile } from '@node-saml/passport-saml';
import { describe, expect, it } from 'vitest';
import { assertAddressedTo, isSameAddress, readSamlResponse } from './saml-response.js';

it.each<[unknown, boolean]>([
  ['https://sw.example/acs', true],
  ['https://sw.example:443/acs', true],
  ['HTTPS://SW.example/acs', true],
  ['https://sw.example/acs/', false],
  ['https://sw.example/ACS', false],
  ['https://sw.example:8443/acs', false],
  ['http://sw.example/acs', false],
  ['https://sw.example/acs?x', false],
  ['https://elsewhere.example/acs', false],
  ['/acs', false],
  ['', false],
  [undefined, false],
])('the address %j is ours: %j', (stated, expected) => {
  expect(isSameAddress(stated, 'https://sw.example/acs')).toBe(expected);
});

describe('a response', () => {
  const acsUrl = 'https://sw.example/acs';
  const entityId = 'https://idp.example';
  const reference = (id: string) => `<ds:Reference URI="${id === '' ? '' : `#${id}`}"/>`;
  /** Throws unless the response is for us. `signed`: ids of what is signed. */
  const judged = (attributes: string, signed: string[], recipient = acsUrl) => {
    const issuer = `<saml:Issuer>${entityId}</saml:Issuer>`;
    const xml = `<samlp:Response ID="r" InResponseTo="q"${attributes}>${issuer}${signed.map(reference).join('')}</samlp:Response>`;
    const data = { $: { Recipient: recipient, InResponseTo: 'q' } };
    const subject = { SubjectConfirmation: { SubjectConfirmationData: data } };
    const profile = { issuer: entityId, getAssertion: () => ({ Assertion: { Subject: subject } }) };
    const response = readSamlResponse(Buffer.from(xml).toString('base64'));
    return () => assertAddressedTo(response, profile as unknown as Profile, { acsUrl, entityId });
  };
  const elsewhere = 'https://elsewhere.example/acs';

  it('names us as its Destination, or goes without one where the assertion alone is signed', () => {
    expect(judged(` Destination="${acsUrl}"`, ['r', 'a'])).not.toThrow();
    expect(judged('', ['a'])).not.toThrow();
  });

  it.each([
    ['signed without a Destination', '', ['r']],
    ['signed as a whole document without a Destination', '', ['a', '']],
    ['for another Destination, though it is not signed', ` Destination="${elsewhere}"`, ['a']],
  ])('is refused when it is %s', (_, attributes, signed) => {
    expect(judged(attributes, signed)).toThrow('the Destination is');
  });

  it('without a Destination is still for the Recipient alone', () => {
    expect(judged('', ['a'], elsewhere)).toThrow('our address as Recipient');
  });
});
