import suitesFile from './tls-suites.json' with { type: 'json' };

/** Suites by each of their names and by their code point. The first name is that of the IANA registry. */
const SUITES = new Map<string, string>();
for (const [code, names] of Object.entries(suitesFile.suites as Readonly<Record<string, string>>)) {
  const all = names.split(' ');
  const [registered = ''] = all;
  for (const name of all) SUITES.set(name.toUpperCase(), registered);
  SUITES.set(`0X${code}`, registered);
  SUITES.set(code.replace(/^(..)(..)$/, '0X$1,0X$2'), registered);
}

/** NetScaler puts the version before the names of OpenSSL. */
const VERSION = /^(?:SSL3|TLS1(?:\.[012])?)-(?=[A-Z])/;
/** A code point without its prefix; a number alone is none. */
const BARE_CODE = /^[0-9A-F]{3,}$/;

/** The name that IANA gives a TLS cipher suite, from its name there, at OpenSSL or GnuTLS, or its code point (0x1301 or 0x13,0x01). */
export function findSuite(name: string): string | undefined {
  const text = name.toUpperCase().replaceAll(/[ {}*]/g, '');
  // JSSE calls the suites of SSL 3.0 by its name.
  const found = SUITES.get(text.replace(/^SSL_/, 'TLS_')) ?? SUITES.get(text.replace(VERSION, ''));
  return found ?? (BARE_CODE.test(text) && /[A-F]/.test(text.slice(2)) ? SUITES.get(`0X${text}`) : undefined);
}
