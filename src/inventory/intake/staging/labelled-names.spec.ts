import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RiskVerdict } from '../../model/risk-verdict.js';
import { readBody } from './body-reader.js';
import { DEFAULT_RULES } from '../../judgement/risk/default-rules.js';
import { RiskEngine } from '../../judgement/risk/risk-engine.js';
import { DocumentAssets } from './document-assets.js';
import { Judge } from './judge.js';

/** Facts about an asset according to the standards, which were recorded before the verdict was known. */
interface Label {
  readonly levels: readonly string[];
  /** Any of these values is correct; null if the family is not checked. */
  readonly family: string | null | readonly (string | null)[];
  /** Whether Shor's algorithm breaks the asset; null if not checked. */
  readonly quantumVulnerable: boolean | null;
  readonly quantum?: readonly (boolean | null)[];
  readonly mayBeUnknown?: boolean;
}

interface LabelledAsset {
  readonly group?: string;
  readonly component: {
    readonly name: string;
    readonly 'bom-ref'?: string;
    readonly cryptoProperties: { readonly assetType: string };
  };
  readonly expect: Label;
}

interface RegistryName {
  readonly name: string;
  readonly primitive?: string;
  readonly levels: readonly string[];
  readonly families: readonly string[];
  readonly quantumVulnerable: boolean | null;
}

const engine = new RiskEngine(DEFAULT_RULES);

/** Returns the verdicts of a CycloneDX document with these components, by kind and name. */
function verdictsOf(components: readonly unknown[]): ReadonlyMap<string, RiskVerdict> {
  const body = JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components });
  const [document] = readBody(Buffer.from(body), {
    kind: 'json',
    mode: 'repair',
    source: undefined,
    password: undefined,
  });
  if (document === undefined) throw new Error('no document');
  const assets = new DocumentAssets(document.draft(), { id: '00000000-0000-8000-8000-000000000000', name: 'labels' });
  const judge = new Judge(assets.all(), engine);
  return new Map(
    assets.all().flatMap((asset) => {
      const { verdict } = judge.judge(asset);
      return verdict === undefined ? [] : [[keyOf(asset.kind, asset.name), verdict.verdict]];
    }),
  );
}

const bare = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Returns an asset's key. Names that differ only in case, hyphens, underscores or spaces have the same key. */
const keyOf = (kind: string, name: string) => `${kind} ${name.toLowerCase().replaceAll(/[-_\s]/g, '')}`;

/** Returns the label's permitted values for vulnerability to Shor's algorithm; null means unknown. */
function quantumAllowed({ quantum, quantumVulnerable, mayBeUnknown }: Label): readonly (boolean | null)[] {
  return quantum ?? [quantumVulnerable, ...(mayBeUnknown === true ? [null] : [])];
}

/** Returns `right`, `unknown`, or a description of the mistake. */
function scoreOf(label: Label, said: RiskVerdict | undefined): string {
  if (said === undefined) return 'is not there';
  const { level, family, quantum } = said;
  const allowed = quantumAllowed(label);
  if (quantum.status === 'unknown') {
    if (!allowed.includes(null)) return 'unknown';
  } else {
    const isVulnerable = quantum.status === 'quantum-vulnerable';
    // An algorithm without a finding must not be reported as vulnerable.
    if (!allowed.includes(isVulnerable) && (isVulnerable || !allowed.includes(null)))
      return `quantum ${quantum.status}`;
  }
  if (!label.levels.includes(level)) return `level ${level}, right ${label.levels.join(' or ')}`;
  const families = [label.family].flat().filter((one) => one !== null);
  const isOther = families.length > 0 && family !== null && !families.some((one) => bare(one) === bare(family));
  return isOther ? `family ${family}, right ${families.join(' or ')}` : 'right';
}

/** Reports whether the verdict is safe although the label is not. */
const isFalseSafe = ({ levels }: Label, said: RiskVerdict | undefined) =>
  said?.level === 'NONE' && !levels.includes('NONE');

interface Score {
  readonly wrong: readonly string[];
  readonly unknown: readonly string[];
  readonly falseSafe: readonly string[];
  readonly total: number;
}

function score(assets: readonly LabelledAsset[]): Score {
  const groups = Map.groupBy(assets, ({ group }) => group ?? '');
  const scored = [...groups.values()].flatMap((members) => {
    const verdicts = verdictsOf(members.map(({ component }) => component));
    return members.map(({ component: { name, cryptoProperties }, expect: label }) => {
      const said = verdicts.get(keyOf(cryptoProperties.assetType, name));
      return { name, result: scoreOf(label, said), isFalseSafe: isFalseSafe(label, said) };
    });
  });
  const wrong = scored.filter(({ result }) => result !== 'right' && result !== 'unknown');
  return {
    wrong: wrong.map(({ name, result }) => `${name}: ${result}`),
    unknown: scored.filter(({ result }) => result === 'unknown').map(({ name }) => name),
    falseSafe: scored.filter((one) => one.isFalseSafe).map(({ name }) => name),
    total: scored.length,
  };
}

/**
 * Sets of names that were labelled from the registries before their verdicts were known. Faults revealed by a set have been fixed. Each name of the eighth
 * set is from a different part of the software ecosystems.
 */
const NAME_SETS = [
  ['registry-names.json', 168],
  ['registry-names-second.json', 100],
  ['registry-names-third.json', 150],
  ['registry-names-fourth.json', 150],
  ['registry-names-fifth.json', 189],
  ['registry-names-sixth.json', 216],
  ['registry-names-seventh.json', 300],
  ['registry-names-eighth.json', 1887],
] as const;

function registryNames(set: string): LabelledAsset[] {
  const file = new URL(`../../../../test/inventory/${set}`, import.meta.url);
  const names = JSON.parse(readFileSync(file, 'utf8')) as RegistryName[];
  return names.map(({ name, primitive, levels, families, quantumVulnerable }, index) => ({
    component: {
      type: 'cryptographic-asset',
      'bom-ref': `name ${index}`,
      name,
      cryptoProperties: {
        assetType: 'algorithm',
        ...(primitive === undefined ? {} : { algorithmProperties: { primitive } }),
      },
    },
    expect: {
      levels,
      family: families,
      quantumVulnerable,
      ...(quantumVulnerable === null ? { quantum: [true, false, null] } : {}),
    },
  }));
}

describe('names in the registries', () => {
  it.each(NAME_SETS)('of %s get the verdict of their standard, with no false safe verdicts', (name, count) => {
    const { wrong, unknown, falseSafe, total } = score(registryNames(name));
    expect(total).toBe(count);
    expect({ wrong, unknown, falseSafe }).toEqual({ wrong: [], unknown: [], falseSafe: [] });
  });
});

/** Located outside the product, because third-party test data must not be copied into the product. Available only during development. */
const SAMPLE = new URL('../../../../../shared/data/enterprise-sample.json', import.meta.url);

/** Returns the references in a component, which are found by member names. */
function referencesOf(value: unknown, member = ''): string[] {
  if (typeof value === 'string') return /Ref$|^cryptoRefArray$|^ke$|^encr$/.test(member) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one) => referencesOf(one, member));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, of]) => referencesOf(of, name));
}

describe.skipIf(!existsSync(SAMPLE))('the enterprise sample', () => {
  it('has no wrong verdict, and no unknown verdict for assets with complete references', () => {
    const { assets } = JSON.parse(readFileSync(SAMPLE, 'utf8')) as { assets: LabelledAsset[] };
    const held = new Set(assets.map(({ component }) => component['bom-ref']));
    const whole = (one: LabelledAsset) => referencesOf(one.component).every((ref) => held.has(ref));
    const { wrong, unknown } = score(assets);
    expect(wrong).toEqual([]);
    const names = new Set(assets.filter(whole).map(({ component }) => component.name));
    expect(unknown.filter((name) => names.has(name))).toEqual([]);
  });
});
