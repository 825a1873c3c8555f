import { describe, expect, it } from 'vitest';
import { algorithmUsesOf } from '../names/algorithm-uses.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';
import { DEFAULT_RULES, sourceUrl } from './default-rules.js';
import { opinionsOn, STANCES } from './jurisdictions.js';
import positionsFile from './positions.json' with { type: 'json' };
import { RiskEngine } from './risk-engine.js';
import sourcesFile from './sources.json' with { type: 'json' };

const engine = new RiskEngine(DEFAULT_RULES);
const TODAY = '2026-11-28';
const DAYS = [TODAY, '2031-01-01', '2032-01-01', '2036-01-01'];

function useOf(name: string): AlgorithmUse {
  const [use] = algorithmUsesOf(name);
  if (use === undefined) throw new Error(`"${name}" is not read`);
  return use;
}

function opinionOf(jurisdiction: string, use: AlgorithmUse, day = TODAY) {
  const found = opinionsOn(use, day, engine).find((one) => one.jurisdiction === jurisdiction);
  if (found === undefined) throw new Error(`no opinion of ${jurisdiction}`);
  return found;
}

const cnsa = (name: string, day = TODAY) => opinionOf('CNSA', useOf(name), day).stance;

const HYBRIDS = [
  'X25519MLKEM768',
  'SecP256r1MLKEM768',
  'SecP384r1MLKEM1024',
  'mlkem768x25519-sha256',
  'mlkem1024nistp384-sha384',
  'X-Wing',
  'ML-KEM-768+X25519',
  'x25519-ke1_mlkem768',
  'tls.X25519MLKEM768',
  'p256_mlkem512',
  'X25519Kyber768Draft00',
  'sntrup761x25519-sha512@openssh.com',
  'ECDH P-256 and FrodoKEM-976',
  'MLDSA65-ECDSA-P256-SHA512',
];

describe('a hybrid', () => {
  it('is split into its parts, whatever its spelling', () => {
    expect(HYBRIDS.filter((name) => (useOf(name).parts?.length ?? 0) < 2)).toEqual([]);
  });

  it('is never rated milder than its best part by an authority that rates parts', () => {
    const milder: string[] = [];
    const rank = (jurisdiction: string, use: AlgorithmUse, day: string) =>
      STANCES.indexOf(opinionOf(jurisdiction, use, day).stance);
    for (const name of HYBRIDS)
      for (const day of DAYS)
        for (const jurisdiction of positionsFile.judgedByParts) {
          const { parts = [] } = useOf(name);
          const said = parts.map((part) => rank(jurisdiction, part, day)).filter((one) => STANCES[one] !== 'SILENT');
          if (said.length > 0 && rank(jurisdiction, useOf(name), day) < Math.min(...said))
            milder.push(`${jurisdiction} ${name} ${day}`);
        }
    expect(milder).toEqual([]);
  });

  it('is rejected by CNSA with ML-KEM-768 and X25519, and only discouraged with ML-KEM-1024', () => {
    expect(cnsa('X25519MLKEM768')).toBe('REJECTS');
    expect(cnsa('ML-KEM-768+X25519')).toBe('REJECTS');
    expect(cnsa('SecP384r1MLKEM1024')).toBe('DISCOURAGES');
    expect(cnsa('mlkem1024nistp384-sha384')).toBe('DISCOURAGES');
  });

  it('is rejected by ASD after 2030 with ML-KEM-768', () => {
    expect(opinionOf('ASD', useOf('X25519MLKEM768')).stance).toBe('DISCOURAGES');
    expect(opinionOf('ASD', useOf('X25519MLKEM768'), '2031-01-01').stance).toBe('REJECTS');
  });

  it.each(['BSI', 'ANSSI', 'EU'])('is favored by %s in every spelling', (jurisdiction) => {
    const spellings = ['X25519MLKEM768', 'ML-KEM-768+X25519', 'x25519-ke1_mlkem768', 'tls.X25519MLKEM768'];
    const stances = spellings.map((name) => opinionOf(jurisdiction, useOf(name)).stance);
    expect(new Set(stances)).toEqual(new Set(['FAVOURS']));
  });
});

describe('an allowlist', () => {
  it.each(['CSIDH-512', 'SMAUG-T', 'ML-KEM', 'ML-DSA', 'ChaCha20', 'Kyber768', 'X25519', 'SHA3-256', 'AES', 'SM4'])(
    'rejects algorithms that it does not list, or does not list without a size: %s',
    (name) => expect(['REJECTS', 'DISCOURAGES']).toContain(cnsa(name)),
  );

  it('has no verified statement about algorithms that it does not list', () => {
    expect(opinionOf('CNSA', useOf('CSIDH-512'))).toMatchObject({ stance: 'REJECTS', verified: null });
    expect(opinionOf('CNSA', useOf('ML-KEM'))).toMatchObject({ stance: 'REJECTS', verified: null });
  });

  it('accepts listed algorithms', () => {
    const names = ['ML-KEM-1024', 'ML-DSA-87', 'AES-256', 'SHA-384', 'LMS', 'RSA-3072', 'ECDSA-384'];
    expect(names.filter((name) => !['FAVOURS', 'ACCEPTS', 'ACCEPTS_UNTIL'].includes(cnsa(name)))).toEqual([]);
  });

  it('does not cover key derivation and MACs', () => {
    expect(['HKDF', 'HMAC-SHA256', 'PBKDF2'].map((name) => cnsa(name))).toEqual(['SILENT', 'SILENT', 'SILENT']);
  });
});

describe('a source', () => {
  const names = ['RSA-2048', 'SHA-1', 'X25519MLKEM768', 'ML-KEM-768', 'ECDSA-384', 'HKDF', '3DES', 'SMAUG-T', 'DSA'];

  const opinions = names.flatMap((name) => DAYS.flatMap((day) => opinionsOn(useOf(name), day, engine)));

  it('without a statement is unknown, never silent and verified', () => {
    const silent = opinions.filter(({ stance }) => stance === 'SILENT');
    expect(silent.length).toBeGreaterThan(0);
    expect(silent.filter(({ verified, authority }) => verified !== null || authority !== null)).toEqual([]);
  });

  it('has a link for every stated opinion', () => {
    const said = opinions.filter(({ stance }) => stance !== 'SILENT');
    expect(said.filter(({ url }) => url?.startsWith('https://') !== true)).toEqual([]);
  });

  it('has a link for every deadline in the rules', () => {
    const deadlines = DEFAULT_RULES.rules.flatMap((rule) => rule.deadlines);
    expect(deadlines.length).toBeGreaterThan(100);
    expect(deadlines.filter(({ url, authority }) => url === undefined || url !== sourceUrl(authority))).toEqual([]);
  });

  it('has one name and one link per document', () => {
    const urls = Object.values(sourcesFile.sources);
    expect(new Set(urls).size).toBe(urls.length);
    const bare = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
    expect(new Set(Object.keys(sourcesFile.sources).map(bare)).size).toBe(urls.length);
    const used = [
      ...DEFAULT_RULES.rules.flatMap(({ deadlines }) => deadlines.map(({ authority }) => authority)),
      ...positionsFile.positions.map(({ authority }) => authority),
    ];
    expect(used.filter((name) => sourceUrl(name) === undefined)).toEqual([]);
  });
});

describe('deadlines', () => {
  const of = (name: string) => engine.judge({ kind: 'algorithm', ingredients: algorithmUsesOf(name) });
  const dates = (name: string) => of(name).findings.flatMap(({ deadlines }) => deadlines);

  it('for DSA end with FIPS 186-4, one year after FIPS 186-5 was published', () => {
    expect(dates('DSA')).toMatchObject([{ date: '2024-02-03', state: 'disallowed(sign)', binding: true }]);
  });

  it('include the United Kingdom, ANSSI and the end of equipment without CNSA 2.0', () => {
    const said = dates('RSA-2048').map(({ date, jurisdiction }) => `${jurisdiction} ${date}`);
    for (const one of [
      'UK-NCSC 2028-12-31',
      'UK-NCSC 2031-12-31',
      'UK-NCSC 2035-12-31',
      'ANSSI 2026-12-31',
      'CNSA 2030-12-31',
    ])
      expect(said).toContain(one);
  });

  it('of an asset include the next date and its source, binding before advisory', () => {
    // The deadline is 2030 according to ASD (advisory), and 2031 according to the executive order (binding).
    const { deadline, deadlineBy } = of('RSA-4096 signature');
    expect(deadline).toBe('2031-12-31');
    expect(deadlineBy).toMatchObject({ date: '2031-12-31', binding: true, authority: 'US EO 14412' });
    expect(of('AES-128').deadlineBy).toMatchObject({ authority: 'ASD ISM', binding: false });
    expect(of('HKDF').deadlineBy).toBeNull();
  });
});
