import type { Mention } from './name-mentions.js';
import { mentionsOf } from './name-mentions.js';
import { tokensOf } from './name-tokens.js';

/** Key exchanges of cipher suites before TLS 1.3, by the text before WITH. A key exchange that is not listed uses only pre-shared keys. */
const EXCHANGES: readonly (readonly [start: RegExp, means: string])[] = [
  [/^(?:RSA|RSA_PSK)$/, 'RSA key exchange'],
  [/^RSA_EXPORT$/, 'RSA-512 key exchange'],
  [/^RSA_EXPORT1024$/, 'RSA-1024 key exchange'],
  [/^DHE_DSS_EXPORT1024$/, 'DH-1024'],
  [/^DHE?_(?:RSA|DSS)_EXPORT$|^DH_anon_EXPORT$/, 'DH-512'],
  [/^DH_anon$/, 'DH anon'],
  [/^DHE?_(?:RSA|DSS|PSK)$|^PSK_DHE$/, 'DH'],
  [/^ECDH_anon$/, 'ECDH anon'],
  [/^ECDHE?_(?:RSA|ECDSA|PSK)$/, 'ECDH'],
  [/^SRP_SHA(?:_RSA|_DSS)?$/, 'SRP'],
  [/^GOSTR341112_256$/, 'VKO GOST3410'],
  [/^ECCPWD$/, 'Dragonfly'],
];

/** suiteMentions splits the IANA name of a cipher suite into its algorithms: the key exchange first, then the cipher and the MAC. */
export function suiteMentions(registered: string): readonly Mention[] {
  const name = registered.replace(/^TLS_/, '');
  const at = name.indexOf('_WITH_');
  const exchange = at < 0 ? undefined : name.slice(0, at);
  const means = EXCHANGES.find(([start]) => exchange !== undefined && start.test(exchange))?.[1];
  const protection = at < 0 ? name : name.slice(at + '_WITH_'.length);
  return mentionsOf(tokensOf(`${means ?? ''} ${protectionOf(protection)}`)).mentions;
}

/** Returns the names of the cipher and the hash. The hash belongs to an HMAC, or to the key derivation if the cipher is an AEAD. */
function protectionOf(protection: string): string {
  const integrityOnly = /^SHA(256|384)_SHA\1$/.exec(protection)?.[1];
  if (integrityOnly !== undefined) return `NULL HMAC-SHA${integrityOnly}`;
  const isAead = /GCM|CCM|POLY1305|AEGIS|MGM|OCB/.test(protection);
  const hash = /_(SHA\d*|MD5|SM3)$/.exec(protection)?.[1];
  if (isAead || hash === undefined) return `${protection.replace(/_(?:SHA\d*|SM3)$/, '')} HKDF ${hash ?? ''}`;
  return `${protection.slice(0, -hash.length - 1)} HMAC-${hash}`;
}

/**
 * isWithoutPublicKey reports whether the key exchange of a suite has no public-key operation, because it uses only pre-shared keys or Kerberos, or because
 * there is no key exchange.
 */
export function isWithoutPublicKey(registered: string): boolean {
  return /^TLS_(?:PSK|KRB5(?:_EXPORT)?|NULL)_WITH_/.test(registered);
}
