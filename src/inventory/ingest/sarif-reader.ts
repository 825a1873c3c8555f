import { isMembers, type Members, textOf } from '../cyclonedx/json-values.js';
import { Problem } from '../../platform/http/problem.js';
import type { Draft, DraftAsset, DraftOccurrence } from './draft.js';
import { withoutSecrets } from './secrets.js';
import { truncate } from '../../platform/text/truncate.js';

/** Rules about cryptography, by the name that the tool gives them or by their CWE (326 to 328, 338, 780, 916, 1240). */
const RULES =
  /weak-?crypto|insecure-?(?:hash|cipher|crypto)|cipher|hashing|weak-?hash|md5|sha-?1\b|\bdes\b|ecb|pseudo-?random|weak-?random|insecure-?random|^G40[1-7]$|^G50[1-7]$|^S(?:4426|4790|5542|5547|2245)$/i;
const WEAKNESSES = /cwe[-/]?0*(?:326|327|328|338|780|916|1240)\b/i;

interface Named {
  readonly name: string;
  readonly primitive: string;
  readonly mode?: string;
}

/** What a message names, most telling first. */
const NAMES: [RegExp, Named][] = [
  [/\b(?:3DES|DESede|TripleDES|des-ede3)\b/i, { name: '3DES', primitive: 'block-cipher' }],
  [/\bDES\b/, { name: 'DES', primitive: 'block-cipher' }],
  [/\b(?:RC4|ARCFOUR|ARC4)\b/i, { name: 'RC4', primitive: 'stream-cipher' }],
  [/\bRC2\b/i, { name: 'RC2', primitive: 'block-cipher' }],
  [/\bBlowfish\b/i, { name: 'Blowfish', primitive: 'block-cipher' }],
  [/\bMD2\b/i, { name: 'MD2', primitive: 'hash' }],
  [/\bMD4\b/i, { name: 'MD4', primitive: 'hash' }],
  [/\bMD5\b/i, { name: 'MD5', primitive: 'hash' }],
  [/\bSHA-?1\b/i, { name: 'SHA-1', primitive: 'hash' }],
  [/\bECB\b/i, { name: 'AES-ECB', primitive: 'block-cipher', mode: 'ecb' }],
  [
    /math\/rand|Math\.random|java\.util\.Random|weak random|pseudo-?random/i,
    { name: 'Math.random', primitive: 'drbg' },
  ],
  [/\bDSA\b/, { name: 'DSA', primitive: 'signature' }],
  [/\bRSA\b/, { name: 'RSA', primitive: 'pke' }],
  [/\bAES\b/, { name: 'AES', primitive: 'block-cipher' }],
];

export function isSarif(document: Members): boolean {
  return Array.isArray(document['runs']) && document['bomFormat'] === undefined;
}

/**
 * Reads SARIF 2.1.0 (OASIS). A result counts when its rule is about cryptography and its message names an algorithm; every
 * other result is only counted.
 *
 * @throws Problem 422 `document.version` or `document.invalid`.
 */
export function readSarif(document: Members): Draft {
  if (document['version'] !== '2.1.0') refuse('document.version', '/version', 'must be 2.1.0');
  const runs = document['runs'] as unknown[];
  const assets = new Map<string, DraftAsset>();
  let results = 0;
  let taken = 0;
  const tools = new Set<string>();
  runs.forEach((run, r) => {
    if (!isMembers(run)) return refuse('document.invalid', `/runs/${r}`, 'must be of type object');
    const { name, rules } = toolOf(run, r);
    tools.add(name);
    const list = run['results'] ?? [];
    if (!Array.isArray(list)) return refuse('document.invalid', `/runs/${r}/results`, 'must be of type array');
    list.forEach((result: unknown, i) => {
      results += 1;
      if (!isMembers(result)) return refuse('document.invalid', `/runs/${r}/results/${i}`, 'must be of type object');
      const found = finding(result, rules);
      if (found === undefined) return;
      taken += 1;
      const asset = assets.get(found.name) ?? assetFor(found);
      asset.occurrences.push(...placesOf(result, `${name}: ${ruleIdOf(result)}`));
      assets.set(found.name, asset);
    });
  });
  const automation = (runs[0] as Members | undefined)?.['automationDetails'];
  const id = isMembers(automation) && typeof automation['id'] === 'string' ? automation['id'] : undefined;
  return {
    format: 'SARIF 2.1.0',
    serialNumber: null,
    version: null,
    time: null,
    source: id ?? repositoryOf(runs[0] as Members | undefined),
    whole: true,
    assets: () => assets.values(),
    received: assets.size,
    ignored: results - taken,
    rejected: [],
    repairs: [],
    warnings: [],
  };
}

function refuse(code: string, pointer: string, detail: string): never {
  throw new Problem('refused', code, `The SARIF document cannot be read. ${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}

function toolOf(run: Members, index: number): { name: string; rules: Map<string, string> } {
  const tool = run['tool'];
  const driver = isMembers(tool) ? tool['driver'] : undefined;
  if (!isMembers(driver) || typeof driver['name'] !== 'string')
    return refuse('document.invalid', `/runs/${index}/tool/driver/name`, 'is missing');
  const rules = new Map<string, string>();
  const extensions = isMembers(tool) && Array.isArray(tool['extensions']) ? (tool['extensions'] as unknown[]) : [];
  for (const part of [driver, ...extensions])
    for (const rule of isMembers(part) && Array.isArray(part['rules']) ? (part['rules'] as unknown[]) : [])
      if (isMembers(rule) && typeof rule['id'] === 'string') rules.set(rule['id'], describe(rule));
  return { name: driver['name'], rules };
}

/** Name and tags of a rule; its help text speaks of much that is not found. */
function describe(rule: Members): string {
  const tags = isMembers(rule['properties']) ? rule['properties']['tags'] : undefined;
  return `${textOf(rule['name'])} ${Array.isArray(tags) ? tags.join(' ') : ''}`;
}

function ruleIdOf(result: Members): string {
  const rule = result['rule'];
  const id = result['ruleId'] ?? (isMembers(rule) ? rule['id'] : undefined);
  return typeof id === 'string' ? id : '';
}

function finding(result: Members, rules: ReadonlyMap<string, string>): Named | undefined {
  const id = ruleIdOf(result);
  const about = rules.get(id) ?? '';
  const bare = id.split(/[/.:]/).at(-1) ?? id;
  const isCryptographic = RULES.test(id) || RULES.test(bare) || WEAKNESSES.test(about) || WEAKNESSES.test(id);
  if (!isCryptographic) return undefined;
  const message = result['message'];
  const text = isMembers(message) ? `${textOf(message['text'])} ${textOf(message['markdown'])}` : '';
  return NAMES.find(([pattern]) => pattern.test(text))?.[1] ?? NAMES.find(([pattern]) => pattern.test(id))?.[1];
}

function assetFor({ name, primitive, mode }: Named): DraftAsset {
  const algorithmProperties = { primitive, ...(mode === undefined ? {} : { mode }) };
  const component = {
    type: 'cryptographic-asset',
    name,
    cryptoProperties: { assetType: 'algorithm', algorithmProperties },
  };
  return { ref: name, kind: 'algorithm', component, occurrences: [], links: [] };
}

function placesOf(result: Members, context: string): DraftOccurrence[] {
  const locations = Array.isArray(result['locations']) ? (result['locations'] as unknown[]) : [];
  return locations.flatMap((location) => {
    const physical = isMembers(location) ? location['physicalLocation'] : undefined;
    const artifact = isMembers(physical) ? physical['artifactLocation'] : undefined;
    const uri = isMembers(artifact) ? artifact['uri'] : undefined;
    if (typeof uri !== 'string') return [];
    const region = isMembers(physical) ? physical['region'] : undefined;
    const line = isMembers(region) && Number.isInteger(region['startLine']) ? (region['startLine'] as number) : null;
    return [
      {
        location: truncate(withoutSecrets(uri), 4000),
        line,
        position: null,
        symbol: null,
        context: withoutSecrets(context),
      },
    ];
  });
}

function repositoryOf(run: Members | undefined): string | undefined {
  const provenance = run?.['versionControlProvenance'];
  const first: unknown = Array.isArray(provenance) ? provenance[0] : undefined;
  return isMembers(first) && typeof first['repositoryUri'] === 'string'
    ? withoutSecrets(first['repositoryUri'])
    : undefined;
}
