import tls from 'node:tls';

/** Cipher list: no key exchange by finite-field Diffie-Hellman of TLS 1.2 and earlier. */
const NO_DHE = '!kDHE:!kDHEPSK';

/** Appends to a cipher list of OpenSSL that the peer must not choose the group of the key exchange. */
export function withoutPeerGroups(ciphers: string): string {
  return `${ciphers}:${NO_DHE}`;
}

/**
 * refusePeerGroups removes these exchanges from the default cipher list of every TLS client in this process. In TLS 1.2 and earlier the server chooses
 * the group, before its certificate is judged: a prime of 10,000 bits blocks the event loop for seconds. TLS 1.3 has fixed groups.
 */
export function refusePeerGroups(): void {
  if (!tls.DEFAULT_CIPHERS.endsWith(NO_DHE)) tls.DEFAULT_CIPHERS = withoutPeerGroups(tls.DEFAULT_CIPHERS);
}
