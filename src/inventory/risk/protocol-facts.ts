import type { CdxComponent } from '../model/document.js';
import type { AlgorithmUse, ProtocolFacts } from '../model/risk-subject.js';

const IN_NAME = /\b(tls|dtls|ssl|ssh|ipsec|ike|quic|wpa)[-_ ]?v?(\d(?:[._]\d+)?)?/i;
const MAX_SUITES = 500;

/** The facts that a protocol declares. */
export type DeclaredProtocol = Omit<ProtocolFacts, 'kePq'>;

/** `tls` and `SSLv3` is how CycloneDX says SSL, which it has no type for. */
export function declaredProtocol(component: CdxComponent): DeclaredProtocol {
  const facts = component.cryptoProperties?.protocolProperties ?? {};
  const named = IN_NAME.exec(component.name);
  const declared = facts['type'];
  const type =
    typeof declared === 'string' && !['other', 'unknown'].includes(declared)
      ? declared
      : (named?.[1]?.toLowerCase() ?? 'unknown');
  const given = typeof facts['version'] === 'string' && facts['version'].trim() !== '' ? facts['version'] : named?.[2];
  const suites = ((facts['cipherSuites'] as { name?: unknown }[] | undefined) ?? [])
    .map(({ name }) => name)
    .filter((name) => typeof name === 'string')
    .slice(0, MAX_SUITES);
  return { type, version: versionOf(type, given, component.name), suites };
}

/** The facts of a protocol that rules use. */
export function protocolFacts(declared: DeclaredProtocol, ingredients: readonly AlgorithmUse[]): ProtocolFacts {
  return { ...declared, kePq: postQuantumExchange(ingredients) };
}

function versionOf(type: string, given: string | undefined, name: string): string | null {
  if (given === undefined) return null;
  const ssl = /ssl\s{0,9}v?\s{0,9}([23])/i.exec(
    /ssl/i.test(given) ? given : type === 'ssl' || /^ssl/i.test(name) ? `ssl${given}` : '',
  );
  if (ssl?.[1] !== undefined) return `ssl${ssl[1]}`;
  const digits = /(\d+(?:[._]\d+)?)/.exec(given)?.[1]?.replace('_', '.');
  return digits ?? given.toLowerCase();
}

/** null: no key exchange is declared at all. */
function postQuantumExchange(ingredients: readonly AlgorithmUse[]): boolean | null {
  const exchanges = ingredients.filter(({ purpose }) => purpose === 'key-establishment');
  if (exchanges.length === 0) return null;
  return exchanges.some(({ family, hybrid }) => hybrid !== null || family === 'ML-KEM');
}
