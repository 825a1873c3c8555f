import {
  type SensorFinding,
  keyExchange,
  type FindingPlace,
  protocolHere,
  tlsVersion,
  usedHere,
} from '../model/finding.js';
import { rsa } from '../model/key-algorithm.js';
import type { Detector } from './detector.js';

const MAX_LINE = 4000;
const FILES =
  /\.(?:conf|cnf|cfg|config|ini|properties|ya?ml|toml|env|inc)$|_config$|(?:^|\/)(?:sites-(?:enabled|available)|conf\.d|sshd?_config\.d)\/|^(?:haproxy|httpd|main\.cf|master\.cf)/;
/** Words in cipher lists that stand for many suites or that determine the order of suites. */
const GROUPS = /^(?:ALL|DEFAULT|HIGH|MEDIUM|SECURE\d*|NORMAL|PFS|PROFILE=.*|COMPLEMENTOF.*|@.*|k?E?ECDHE?|[ak][A-Z]+)$/;

type Reader = (value: string, place: FindingPlace) => SensorFinding[];

/** Directives of all supported programs, each with its reader. Few directive names are used by more than one program. */
const DIRECTIVES: readonly (readonly [RegExp, Reader])[] = [
  // nginx, Apache, PostgreSQL, Postfix, Redis, Kafka, Spring, OpenSSL
  [
    /^(?:ssl_protocols|SSLProtocol|SSLProxyProtocol|tls-protocols|ssl_protocol|smtpd?_tls_(?:mandatory_)?protocols|(?:.*\.)?ssl\.(?:enabled[.-])?protocols?|(?:Min|Max)Protocol|ssl_min_protocol_version|ssl[-_]min[-_]ver|tls_min_v(?:ersion)?|minTLSVersion)$/i,
    protocols,
  ],
  [
    /^(?:ssl_ciphers|ssl_cipher_list|SSLCipherSuite|SSLProxyCipherSuite|CipherString|Ciphersuites|tls-ciphers(?:uites)?|tls_cipher_list|ssl-default-(?:bind|server)-ciphers(?:uites)?|(?:.*\.)?ssl\.(?:cipher\.suites|ciphers)|smtpd?_tls_(?:mandatory_|exclude_)?ciphers)$/i,
    suites,
  ],
  [/^(?:ssl_ecdh_curve|SSLOpenSSLConfCmd Curves|Groups|Curves|ssl-default-bind-curves)$/i, groups],
  [/^(?:default_md|digest_algorithm)$/i, digest],
  [/^default_bits$/i, (value, place) => (/^\d{3,5}$/.test(value) ? [usedHere(rsa(Number(value)), place)] : [])],
  [/^password_encryption$/i, (value, place) => (/^md5$/i.test(value) ? digest('md5', place) : [])],
  // OpenSSH
  [
    /^Ciphers$/,
    (value, place) => names(value).map((name) => usedHere({ name, properties: { primitive: 'block-cipher' } }, place)),
  ],
  [/^MACs$/, (value, place) => names(value).map((name) => usedHere({ name, properties: { primitive: 'mac' } }, place))],
  [/^KexAlgorithms$/, (value, place) => names(value).map((name) => usedHere(keyExchange(name), place))],
  [
    /^(?:HostKeyAlgorithms|PubkeyAccepted(?:KeyTypes|Algorithms)|HostbasedAccepted(?:KeyTypes|Algorithms)|CASignatureAlgorithms)$/,
    (value, place) => names(value).map((name) => usedHere({ name, properties: { primitive: 'signature' } }, place)),
  ],
];

/** Finds cryptography in configuration files of nginx, Apache, HAProxy, Postfix, PostgreSQL, Redis, Kafka, Spring, OpenSSL and OpenSSH. */
export const configuration: Detector = ({ location, text }) => {
  if (!FILES.test(location)) return [];
  return text.split('\n').flatMap((line, index) => {
    const setting = line.length > MAX_LINE ? undefined : settingOf(line);
    if (setting === undefined) return [];
    const [, read] = DIRECTIVES.find(([name]) => name.test(setting.name)) ?? [];
    return read?.(setting.value, { location, line: index + 1, symbol: setting.name }) ?? [];
  });
};

/** Parses `name value;`, `name = value` and `name: value`. */
function settingOf(line: string): { name: string; value: string } | undefined {
  const [start = '', name] = /^-?\s*["']?([A-Za-z][\w.-]{2,60})["']?(?=[\s=:])/.exec(line.trim()) ?? [];
  const rest = line.trim().slice(start.length).trimStart().replace(/^[=:]/, '').trimStart(); // prettier-ignore
  if (name === undefined || rest === '') return undefined;
  const comment = rest.search(/\s#/);
  const value = (comment === -1 ? rest : rest.slice(0, comment)).trim().replace(/;$/, '').trim();
  return { name, value: value.replaceAll(/^["']|["']$/g, '') };
}

function names(list: string): string[] {
  if (list.startsWith('-')) return [];
  return list
    .replace(/^[+^]/, '')
    .split(/[\s,:]+/)
    .filter((name) => /^[\w@.+-]{3,80}$/.test(name) && !name.includes('*'));
}

function protocols(value: string, place: FindingPlace): SensorFinding[] {
  return value
    .split(/[\s,]+/)
    .map((word) => tlsVersion(word.replace(/^[+>=]+/, '')))
    .filter((version) => version !== undefined)
    .map((version) => protocolHere({ ...version, type: 'tls' }, place));
}

/** Reports one protocol with the named suites. Excluded suites (`!MD5`, `-RC4`) are omitted. */
function suites(value: string, place: FindingPlace): SensorFinding[] {
  const named = value
    .split(/[\s,:]+/)
    .map((word) => word.replace(/^\+/, ''))
    .filter((word) => /^[A-Z][\w+-]{2,80}$/i.test(word) && !GROUPS.test(word));
  return named.length === 0 ? [] : [protocolHere({ name: 'TLS', type: 'tls', suites: [...new Set(named)] }, place)];
}

function groups(value: string, place: FindingPlace): SensorFinding[] {
  return value
    .split(/[\s,:]+/)
    .filter((name) => /^[A-Za-z][\w-]{3,40}$/.test(name) && name !== 'auto')
    .map((name) => usedHere(keyExchange(name), place));
}

function digest(value: string, place: FindingPlace): SensorFinding[] {
  if (!/^[A-Za-z][\w-]{2,20}$/.test(value) || value === 'default') return [];
  return [usedHere({ name: value.toUpperCase(), properties: { primitive: 'hash' } }, place)];
}
