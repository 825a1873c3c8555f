import { analyse } from 'scslre';
import { describe, expect, it } from 'vitest';
import { costOf } from './pattern-cost.js';
import { patternsOfJson, patternsOfSources, type ProductPattern } from './product-patterns.js';

const SCHEMAS = 'node_modules/@cyclonedx/cyclonedx-library/res/schema';
const { literals, made } = patternsOfSources();
const like = (...patterns: RegExp[]): ProductPattern[] =>
  patterns.map((pattern) => ({ pattern, isRepeated: pattern.global, place: 'made' }));

/** Sample patterns for each place where code builds a pattern from text. New places must be added here. */
const MADE: Readonly<Record<string, () => ProductPattern[]>> = {
  'src/auth/credentials/callers/cookies.ts › `(?:^|;\\\\s*)${this.name}=([\\\\w.-]+)`': () =>
    like(/(?:^|;\s*)__Host-sealwright_refresh=([\w.-]+)/),
  'src/auth/sso/saml/saml-document.ts › `^<(?:[\\\\w.-]+:)?${rootName}\\\\b[^<>]*>`': () =>
    like(/^<(?:[\w.-]+:)?LogoutResponse\b[^<>]*>/),
  'src/auth/sso/saml/saml-document.ts › `\\\\s${name}\\\\s*=\\\\s*(?:"([^"]*)"|\'([^\']*)\')`': () =>
    like(/\sInResponseTo\s*=\s*(?:"([^"]*)"|'([^']*)')/),
  "src/client/api/file-names.ts › `^${source}$`, 'u'": () => like(/^release-[^/]*\.[a-z][^/]$/u),
  "src/cli/seed-demo.command.ts › `^${name}='?([^'\\\\n]*)'?$`, 'm'": () => like(/^SVC_PORT='?([^'\n]*)'?$/m),
  'src/formats/asn1/der-reader.ts › `^(\\\\d{${digits}})(\\\\d\\\\d)(\\\\d\\\\d)(\\\\d\\\\d)(\\\\d\\\\d)(\\\\d\\\\d(?:\\\\.\\\\d+)?)?(?:Z|([+-]\\\\d\\\\d)(\\\\d\\\\d))?$`':
    () => like(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d(?:\.\d+)?)?(?:Z|([+-]\d\d)(\d\d))?$/),
  'src/formats/encoding/pem-blocks.ts › BEGIN': () => like(/-----BEGIN ([A-Z0-9 ]{1,60})-----/g),
  "src/inventory/intake/cyclonedx/json-schema.ts › pattern, 'u'": () =>
    ['bom-1.4', 'bom-1.5', 'bom-1.6', 'bom-1.7', 'jsf-0.82', 'cryptography-defs'].flatMap((name) =>
      patternsOfJson(`${SCHEMAS}/${name}.SNAPSHOT.schema.json`, 'u'),
    ),
  'src/inventory/judgement/risk/rule-index.ts › suite': () =>
    patternsOfJson('src/inventory/judgement/risk/default-rules.json', ''),
};
const all = [...literals, ...Object.values(MADE).flatMap((patterns) => patterns())];

/** Returns the findings of a static analysis of the pattern, which considers only the repetition of a single character. */
function faultsOf({ pattern: { source, flags } }: ProductPattern): string[] {
  const { reports } = analyse({ source, flags }, { reportTypes: { Move: true } });
  return reports.map(({ type, character }) => `${type}: ${JSON.stringify(character.pick)} repeated`);
}

describe('the regular expressions of the product', () => {
  it('are all known, including those built at run time', () => {
    expect(literals.length).toBeGreaterThan(400);
    expect(made.filter((place) => MADE[place] === undefined)).toEqual([]);
    expect(Object.keys(MADE).filter((place) => !made.includes(place))).toEqual([]);
  });

  it('take linear time: tested with 16 kB of their own characters', () => {
    const costs = all.map((one) => ({ at: `${one.place} ${one.pattern}`, cost: costOf(one) }));
    expect(costs.filter(({ cost }) => cost !== undefined)).toEqual([]);
  }, 240_000);

  it('contain no two adjacent repetitions that share a character', () => {
    const faults = all.map((one) => ({ at: `${one.place} ${one.pattern}`, faults: faultsOf(one) }));
    expect(faults.filter((one) => one.faults.length > 0)).toEqual([]);
  });
});

describe('a backtracking regular expression', () => {
  it.each([
    [/\?.*%00/],
    [/^(a+)+$/],
    [/(?:a|aa)+$/],
    [/\s+$/],
    [/^-+|-+$/g],
    [/(\w+:\/\/)[^\s@]+@/g],
    [/\beyJ[\w-]+\.[\w-]+/g],
    [/"(?:[^"\\]|\\.)*"/g],
    [/-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----/g],
    [/^\s*(\S+?)\s*=\s*(.+?)\s*->\s*(.+)$/],
    [/<Issuer>.*<\/Issuer>/g],
    [/^(\S+)\s+(.*)$/],
    [/key(?=.*value)/g],
  ])('is detected by its cost: %s', (pattern) => {
    expect(costOf({ pattern, isRepeated: pattern.global, place: '' }, 500)).toMatch(/16 kB|no end/);
  });

  it('is detected when it splits text', () => {
    expect(costOf({ pattern: /\s*,\s*/, isRepeated: true, place: '' }, 500)).toMatch(/16 kB|no end/);
  });

  it('is not reported for a linear one', () => {
    const fine = [/^[a-z][a-z0-9-]*$/, /[^\x20-\x7e]/g, /(?<![\w-])eyJ[\w.-]+/g, /^(?:[0-9a-f]{2}:){19}[0-9a-f]{2}$/];
    expect(like(...fine).map((one) => costOf(one))).toEqual(fine.map(() => undefined));
  });
});
