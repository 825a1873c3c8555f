import type { PublicJwk } from '../../formats/jose/json-web-key.js';
import { readKeySet } from './issuer-key-set.js';

/** Reads one document. Rejects if the address cannot be called. */
type DocumentReader = (url: string) => Promise<{ readonly status: number; readonly body: string }>;

/**
 * Reads the keys of an issuer by its discovery document (OpenID Connect Discovery section 4). Build systems and clusters have no
 * authorization endpoint, so nothing but `issuer` and `jwks_uri` is looked at.
 *
 * @throws Error with the reason if a document cannot be read, is of another issuer, or has no usable keys.
 */
export async function discoverKeys(issuer: string, read: DocumentReader): Promise<PublicJwk[]> {
  const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer;
  const metadata = await documentAt(`${base}/.well-known/openid-configuration`, read);
  const { issuer: named, jwks_uri: keysAt } = (metadata ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
  if (named !== issuer) throw new Error('its discovery document is of another issuer');
  if (typeof keysAt !== 'string') throw new Error('its discovery document has no jwks_uri');
  return readKeySet(await documentAt(keysAt, read));
}

async function documentAt(url: string, read: DocumentReader): Promise<unknown> {
  const { status, body } = await read(url);
  if (status !== 200) throw new Error(`${url} answers ${status}`);
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw new Error(`${url} is no JSON of at most 64 kB`);
  }
}
