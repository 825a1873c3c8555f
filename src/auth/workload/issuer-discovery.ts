import type { PublicJwk } from '../../formats/jose/json-web-key.js';
import { type DocumentReader, jsonAt } from '../key-sets/key-documents.js';
import { readKeySet } from '../key-sets/key-set.js';

/**
 * Reads the keys of an issuer by its discovery document (OpenID Connect Discovery section 4). Build systems and clusters have no
 * authorization endpoint, so nothing but `issuer` and `jwks_uri` is looked at.
 *
 * @throws Error with the reason if a document cannot be read, is of another issuer, or has no usable keys.
 */
export async function discoverKeys(issuer: string, read: DocumentReader): Promise<PublicJwk[]> {
  const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer;
  const metadata = await jsonAt(`${base}/.well-known/openid-configuration`, read);
  const { issuer: named, jwks_uri: keysAt } = (metadata ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
  if (named !== issuer) throw new Error('its discovery document is of another issuer');
  if (typeof keysAt !== 'string') throw new Error('its discovery document has no jwks_uri');
  return readKeySet(await jsonAt(keysAt, read));
}
