import suitesFile from './tls-suites.json' with { type: 'json' };

/** IANA names of cipher suites, by each name and code point of the suite. The first name in the file is the IANA name. */
const SUITES = new Map<string, string>();
for (const [code, names] of Object.entries(suitesFile.suites as Readonly<Record<string, string>>)) {
  const all = names.split(' ');
  const [registered = ''] = all;
  for (const name of all) SUITES.set(name.toUpperCase(), registered);
  SUITES.set(`0X${code}`, registered);
  SUITES.set(code.replace(/^(..)(..)$/, '0X$1,0X$2'), registered);
}

/** Matches the version prefix that NetScaler adds to OpenSSL suite names. */
const VERSION = /^(?:SSL3|TLS1(?:\.[012])?)-(?=[A-Z])/;
/** Matches a code point without its prefix. Digits alone are not a code point. */
const BARE_CODE = /^[0-9A-F]{3,}$/;

/** findSuite returns the IANA name of a TLS cipher suite by its IANA, OpenSSL or GnuTLS name, or by its code point (0x1301 or 0x13,0x01). */
export function findSuite(name: string): string | undefined {
  const text = name.toUpperCase().replaceAll(/[ {}*]/g, '');
  // JSSE prefixes the names of SSL 3.0 suites with SSL.
  const found = SUITES.get(text.replace(/^SSL_/, 'TLS_')) ?? SUITES.get(text.replace(VERSION, ''));
  return found ?? (BARE_CODE.test(text) && /[A-F]/.test(text.slice(2)) ? SUITES.get(`0X${text}`) : undefined);
}
