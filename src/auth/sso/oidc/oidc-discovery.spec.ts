import { describe, expect, it } from 'vitest';
import { discoveryAddresses, readMetadata } from './oidc-discovery.js';

const GUID = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Returns a reader for a provider that publishes its discovery document, with `issuer`, at the given addresses. */
function publishing(issuer: string, ...addresses: string[]) {
  const document = {
    issuer,
    authorization_endpoint: 'https://idp.example/a',
    token_endpoint: 'https://idp.example/t',
    jwks_uri: 'https://idp.example/j',
  };
  return (url: string) =>
    Promise.resolve(
      addresses.includes(url) ? { status: 200, body: JSON.stringify(document) } : { status: 404, body: '' },
    );
}

describe('discovery URLs of a provider', () => {
  it.each([
    ['https://IDP.example', ['https://idp.example/.well-known/openid-configuration']],
    ['https://idp.example:443/', ['https://idp.example/.well-known/openid-configuration']],
    [
      'https://idp.example/t/',
      [
        'https://idp.example/t/.well-known/openid-configuration',
        'https://idp.example/.well-known/openid-configuration/t',
        'https://idp.example/.well-known/oauth-authorization-server/t',
      ],
    ],
  ])('%s', (typed, expected) => {
    expect(discoveryAddresses(typed)).toEqual(expect.arrayContaining(expected));
  });

  it.each([
    'https://idp.example/t/.well-known/openid-configuration',
    'https://idp.example/.well-known/openid-configuration/t',
    'https://idp.example/.well-known/oauth-authorization-server/t',
  ])('start with %s if that was entered, and resolve the issuer it belongs to', async (typed) => {
    expect(discoveryAddresses(typed)[0]).toBe(typed);
    const { issuer } = await readMetadata(typed, publishing('https://idp.example/t', typed));
    expect(issuer).toBe('https://idp.example/t');
  });
});

describe('Microsoft Entra ID', () => {
  const at = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;
  const document = (tenant: string) => `${at(tenant)}/.well-known/openid-configuration`;

  it('identifies a tenant by its GUID, even if its domain name was entered', async () => {
    const read = publishing(at(GUID), document('contoso.onmicrosoft.com'));
    expect((await readMetadata(at('contoso.onmicrosoft.com'), read)).issuer).toBe(at(GUID));
  });

  it.each(['common', 'organizations', 'consumers'])(
    'rejects %s, which accepts people of every organization',
    async (tenant) => {
      const read = publishing(at('{tenantid}'), document(tenant));
      await expect(readMetadata(at(tenant), read)).rejects.toThrow(/every organization/);
      const pretender = publishing(at(GUID), document(tenant));
      await expect(readMetadata(at(tenant), pretender)).rejects.toThrow(/every organization/);
    },
  );

  it('names the version 2 issuer in the error when a version 1 issuer is entered', async () => {
    const typed = `https://login.microsoftonline.com/${GUID}`;
    const read = publishing(`https://sts.windows.net/${GUID}/`, `${typed}/.well-known/openid-configuration`);
    await expect(readMetadata(typed, read)).rejects.toThrow(/ends in \/v2\.0/);
  });

  it('is the only provider that may identify itself by a GUID', async () => {
    const typed = 'https://idp.example/contoso.example/v2.0';
    const read = publishing(`https://idp.example/${GUID}/v2.0`, `${typed}/.well-known/openid-configuration`);
    await expect(readMetadata(typed, read)).rejects.toThrow(/the issuer of the provider is/);
  });
});
