import type { ServerMetadata } from 'openid-client';
import type { DocumentReader } from '../../credentials/key-sets/key-documents.js';
import { ASYMMETRIC_ALGORITHMS } from '../../credentials/key-sets/token-signature.js';
import { withoutNulls } from './oidc-answers.js';
import { issuerKey } from '../../model/identity-provider.entity.js';
import { readJsonObject } from '../../../platform/json/strict-json.js';

/** Hosts of Microsoft Entra ID: a tenant has a domain name and a GUID, and its issuer contains the GUID. */
const ENTRA = new Set(['login.microsoftonline.com', 'login.microsoftonline.us', 'login.partner.microsoftonline.cn']);
const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Tenant names of Entra that admit users of every organization. */
const EVERY_TENANT = new Set(['common', 'organizations', 'consumers']);

/** Returns the URLs at which an issuer may publish its metadata: with the well-known part after or before the issuer's path. */
export function discoveryAddresses(issuer: string): string[] {
  const key = issuerKey(issuer);
  const { origin } = new URL(key);
  const path = key.slice(origin.length);
  const pasted = issuer.trim();
  return [
    ...new Set([
      ...(pasted.includes('/.well-known/') ? [pasted] : []),
      `${key}/.well-known/openid-configuration`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
    ]),
  ];
}

/**
 * Reads the provider's metadata. The configured issuer determines the URL, and must be equivalent to the issuer in the metadata.
 *
 * @throws Error with the reason if no metadata document exists, or if the document belongs to another issuer
 */
export async function readMetadata(issuer: string, read: DocumentReader): Promise<ServerMetadata> {
  const failures: string[] = [];
  for (const url of discoveryAddresses(issuer)) {
    const { status, body } = await read(url);
    if (status !== 200) failures.push(`${url} responded with ${status}`);
    else return checked(issuer, url, body);
  }
  throw new Error(`no discovery document found: ${failures.join(', ')}`);
}

function checked(typed: string, url: string, body: string): ServerMetadata {
  const metadata = objectIn(body, url);
  const { issuer } = metadata;
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) throw new Error(`${url} contains no valid issuer`);
  if (!isMeant(typed, issuer))
    throw new Error(`the issuer of the provider is ${issuer}, not ${typed.trim()}${hintFor(typed)}`);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) assertAddress(metadata, name);
  const algorithms = metadata['id_token_signing_alg_values_supported'];
  return {
    ...metadata,
    issuer,
    // Without this field, which RFC 8414 does not define, the keys determine the algorithms of ID tokens.
    id_token_signing_alg_values_supported: Array.isArray(algorithms) ? (algorithms as string[]) : ASYMMETRIC_ALGORITHMS,
  };
}

function isMeant(typed: string, issuer: string): boolean {
  const [wanted, said] = [new URL(issuerKey(typed)), new URL(issuerKey(issuer))];
  if (wanted.href === said.href) return true;
  const [[, tenant = '', ...rest], [, known = '', ...same]] = [wanted.pathname.split('/'), said.pathname.split('/')];
  const isEntra = ENTRA.has(wanted.hostname) && wanted.origin === said.origin && !EVERY_TENANT.has(tenant);
  return isEntra && tenant.includes('.') && GUID.test(known) && rest.join('/') === same.join('/');
}

function hintFor(typed: string): string {
  const { hostname, pathname } = new URL(issuerKey(typed));
  if (!ENTRA.has(hostname)) return '; enter the issuer exactly as the provider publishes it';
  return EVERY_TENANT.has(pathname.split('/')[1] ?? '')
    ? '; this issuer admits users of every organization, so enter https://login.microsoftonline.com/<your tenant>/v2.0 instead'
    : '; for version 2.0 the issuer ends in /v2.0';
}

function objectIn(body: string, url: string): Record<string, unknown> {
  try {
    return withoutNulls(readJsonObject(body, { roundsNumbers: true }));
  } catch (error) {
    throw new Error(`${url} cannot be parsed: ${(error as Error).message}`, { cause: error });
  }
}

/** Rejects a URL in the metadata unless it is an HTTP(S) URL, because browsers are redirected and secrets are sent to these URLs. */
function assertAddress(metadata: Record<string, unknown>, name: string): void {
  const value = metadata[name];
  const isGood = typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  if (!isGood) throw new Error(`the ${name} in the metadata is missing or not an HTTP(S) URL`);
}
