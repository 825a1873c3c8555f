import { truncate } from '../../../platform/text/truncate.js';
import { type CdxComponent, keptMember } from '../../model/document.js';
import type { AlgorithmUse, ProtocolFacts } from '../../model/risk-subject.js';
import { findFamily } from '../vocabularies/families.js';
import { findSuite } from '../vocabularies/tls-suites.js';
import { algorithmUsesOf, readAlgorithm } from '../names/algorithm-uses.js';
import { isWithoutPublicKey } from '../names/suite-mentions.js';

const IN_NAME = /\b(tls|dtls|ssl|ssh|ipsec|ike|quic|wpa)[-_ ]?v?(\d(?:[._]\d+)?)?/i;
const MAX_SUITES = 500;
/** MAX_SUITE_LENGTH is the maximum length of a cipher suite or group name. Real names are shorter, and a verdict is stored for each set of names. */
const MAX_SUITE_LENGTH = 200;
/**
 * OTHER_VERSION replaces versions of a known protocol that no rule covers. Without this replacement, each version string would get a separate verdict, although
 * all these versions are classified in the same way.
 */
const OTHER_VERSION = 'other';
const MAX_VERSION_LENGTH = 40;
const MAX_PROTOCOL_NAME_LENGTH = 100;

/** DeclaredProtocol contains the declared facts of a protocol. */
export interface DeclaredProtocol extends Omit<ProtocolFacts, 'kePq'> {
  /** Groups for the key exchange (CycloneDX 1.7 `tlsGroups`). */
  readonly groups: readonly string[];
  /** Name, if nothing else identifies the protocol; otherwise ''. */
  readonly name: string;
  /** Rest of the name after the protocol and version: `group31` in `IKEv2 group31`. */
  readonly addition: string;
}

/** ReadProtocol contains the facts of a protocol that rules use. */
interface ReadProtocol {
  readonly protocol: ProtocolFacts;
  readonly ingredients: readonly AlgorithmUse[];
  readonly quality: readonly string[];
}

/**
 * declaredProtocol returns the declared facts of a protocol. CycloneDX has no type for SSL, so documents describe SSL as type `tls` with a version such as
 * `SSLv3`.
 */
export function declaredProtocol(component: CdxComponent): DeclaredProtocol {
  const facts = component.cryptoProperties?.protocolProperties ?? {};
  const named = IN_NAME.exec(component.name);
  const type = declaredType(component) ?? named?.[1]?.toLowerCase() ?? 'unknown';
  const given = typeof facts['version'] === 'string' && facts['version'].trim() !== '' ? facts['version'] : named?.[2];
  const declaredSuites = (facts['cipherSuites'] as { name?: unknown; tlsGroups?: unknown }[] | undefined) ?? [];
  const groups = declaredSuites.flatMap(({ tlsGroups }) => (Array.isArray(tlsGroups) ? (tlsGroups as unknown[]) : []));
  return {
    type,
    version: versionOf(type, given, component.name),
    suites: texts(declaredSuites.map(({ name }) => name)),
    groups: [...new Set(texts(groups))],
    name: type === 'unknown' ? truncate(component.name, MAX_PROTOCOL_NAME_LENGTH) : '',
    addition: type === 'unknown' || named === null ? '' : additionTo(component.name, named[0]),
  };
}

/** Returns the protocol type. In 1.6, types that only CycloneDX 1.7 defines, such as `dtls` and `quic`, are preserved in a property. */
function declaredType(component: CdxComponent): string | undefined {
  const kept = keptMember(component, 'cryptoProperties.protocolProperties.type');
  const declared = kept ?? component.cryptoProperties?.protocolProperties?.['type'];
  return typeof declared === 'string' && !['other', 'unknown'].includes(declared) ? declared.toLowerCase() : undefined;
}

/** Returns the rest of the name without brackets, which have no meaning. */
function additionTo(name: string, protocol: string): string {
  const rest = truncate(name, MAX_PROTOCOL_NAME_LENGTH).replace(protocol, ' ');
  return rest.replaceAll(/[()[\]{}:]/g, ' ').trim();
}

function texts(values: readonly unknown[]): string[] {
  return values
    .filter((value) => typeof value === 'string')
    .slice(0, MAX_SUITES)
    .map((text) => truncate(text, MAX_SUITE_LENGTH));
}

/** protocolFacts returns the facts of a protocol that rules use, including the algorithms to which it refers. */
export function protocolFacts(declared: DeclaredProtocol, referred: readonly AlgorithmUse[]): ReadProtocol {
  const { type, version, suites } = declared;
  const own = OVER_TLS.has(type) ? [] : suites.flatMap((name) => algorithmUsesOf(name));
  const known = declared.name === '' ? undefined : readAlgorithm(declared.name);
  const ofName = known?.reading.isWhole === true ? known.uses : [];
  const said = [...referred, ...own, ...ofName, ...declared.groups.flatMap((name) => algorithmUsesOf(name))];
  const saidExchanges = said.filter(isExchange);
  const byAddition = saidExchanges.length === 0 ? exchangesIn(declared.addition) : [];
  const exchanges = saidExchanges.length === 0 ? byAddition : saidExchanges;
  const isMixed = exchanges.some(isPostQuantum) && exchanges.some((use) => !isPostQuantum(use));
  const ingredients = [
    ...referred,
    ...ofName,
    ...byAddition,
    ...own.filter((use) => !isExchange(use) && use.usage !== 'kdf'),
  ];
  const quality = isMixed ? ['mixed-exchange'] : [];
  if (ingredients.length === 0 && !isKnownVersion(type, version)) quality.push('unknown-algorithm');
  return {
    protocol: { type, version: judgedVersion(type, version), suites, kePq: exchangeHolds(declared, exchanges) },
    // If a peer does not support a post-quantum group, the protocol negotiates a classical group. The quality condition reports this in one finding.
    ingredients: isMixed ? ingredients.filter((use) => !isExchange(use) || isPostQuantum(use)) : ingredients,
    quality,
  };
}

/**
 * Returns the key exchange in a protocol name (`IKEv2 group31`, `TLS 1.3 (X25519MLKEM768)`). The name is used only if the document declares no key exchange
 * and the text consists of a key exchange and nothing else.
 */
function exchangesIn(addition: string): readonly AlgorithmUse[] {
  if (addition === '') return [];
  const { uses, reading } = readAlgorithm(addition);
  return reading.isWhole ? uses.filter(isExchange) : [];
}

/** Protocols that use TLS cipher suites. */
const OVER_TLS = new Set(['tls', 'dtls', 'ssl', 'quic']);
const TLS_VERSIONS = /^(?:ssl[23](?:\.0)?|1|1\.[0-3])$/;
const VERSIONS: Readonly<Record<string, RegExp>> = {
  tls: TLS_VERSIONS,
  dtls: TLS_VERSIONS,
  ssl: TLS_VERSIONS,
  quic: /^(?:1|2|1\.3)$/,
  ssh: /^[12](?:\.\d{1,2})?$/,
  ike: /^[12]$/,
  ipsec: /^[12]$/,
  wpa: /^(?:[123]|wep|tkip)$/,
};

/** Reports whether rules cover the protocol and version. A missing version counts as known, because a rule reports missing versions. */
function isKnownVersion(type: string, version: string | null): boolean {
  const known = VERSIONS[type];
  return known !== undefined && (version === null || known.test(version));
}

function judgedVersion(type: string, version: string | null): string | null {
  if (version === null || isKnownVersion(type, version)) return version;
  return VERSIONS[type] === undefined ? truncate(version, MAX_VERSION_LENGTH) : OTHER_VERSION;
}

function versionOf(type: string, given: string | undefined, name: string): string | null {
  if (given === undefined) return null;
  const ssl = /ssl\s{0,9}v?\s{0,9}([23])/i.exec(
    /ssl/i.test(given) ? given : type === 'ssl' || /^ssl/i.test(name) ? `ssl${given}` : '',
  );
  if (ssl?.[1] !== undefined) return `ssl${ssl[1]}`;
  const digits = /(\d+(?:[._]\d+)?)/.exec(given)?.[1]?.replace('_', '.');
  if (digits === undefined) return given.toLowerCase();
  // Only TLS versions are distinguished by the minor number. IKE 1.0 is IKEv1.
  return OVER_TLS.has(type) && type !== 'quic' ? digits : digits.replace(/\.0$/, '');
}

function isExchange({ purpose }: AlgorithmUse): boolean {
  return purpose === 'key-establishment';
}

function isPostQuantum({ family, hybrid }: AlgorithmUse): boolean {
  return hybrid !== null || findFamily(family)?.nature === 'post-quantum';
}

/** Reports whether the key exchange withstands Shor's algorithm. Returns null if no key exchange is declared. */
function exchangeHolds({ suites, type }: DeclaredProtocol, exchanges: readonly AlgorithmUse[]): boolean | null {
  if (exchanges.length > 0) return exchanges.some(isPostQuantum);
  const registered = OVER_TLS.has(type) ? suites.map((name) => findSuite(name)) : [];
  const isPreShared = registered.every((suite) => suite !== undefined && isWithoutPublicKey(suite));
  return registered.length > 0 && isPreShared ? true : null;
}
