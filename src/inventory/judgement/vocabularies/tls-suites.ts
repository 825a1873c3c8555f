import suitesFile from './tls-suites.json' with { type: 'json' };

/** Cipher suites, keyed by each of their names and by their code point. The first name is the one in the IANA registry. */
const SUITES = new Map<string, string>();
for (const [code, names] of Object.entries(suitesFile.suites as Readonly<Record<string, string>>)) {
  const all = names.split(' ');
  const [registered = ''] = all;
  for (const name of all) SUITES.set(name.toUpperCase(), registered);
  SUITES.set(`0X${code}`, registered);
  SUITES.set(code.replace(/^(..)(..)$/, '0X$1,0X$2'), registered);
}

/** NetScaler prefixes the names of OpenSSL with the version. */
const VERSION = /^(?:SSL3|TLS1(?:\.[012])?)-(?=[A-Z])/;
/** A code point without its prefix. A number alone is not a code point. */
const BARE_CODE = /^[0-9A-F]{3,}$/;

/** findSuite returns the IANA name of a TLS cipher suite from its name in IANA, OpenSSL or GnuTLS, or from its code point (0x1301 or 0x13,0x01). */
export function findSuite(name: string): string | undefined {
  const text = name.toUpperCase().replaceAll(/[ {}*]/g, '');
  // JSSE prefixes the suites of SSL 3.0 with SSL.
  const found = SUITES.get(text.replace(/^SSL_/, 'TLS_')) ?? SUITES.get(text.replace(VERSION, ''));
  return found ?? (BARE_CODE.test(text) && /[A-F]/.test(text.slice(2)) ? SUITES.get(`0X${text}`) : undefined);
}
