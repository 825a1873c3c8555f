import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

interface Opinion {
  readonly jurisdiction: string;
  readonly stance: string;
}

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  const components = [
    algorithm({ name: 'X25519MLKEM768', properties: { primitive: 'kem' } }),
    algorithm({ name: 'SLH-DSA-SHA2-128s', properties: { primitive: 'signature' } }),
    algorithm({ name: 'ML-KEM-768', properties: { primitive: 'kem' } }),
    algorithm({ name: 'RSA-2048', properties: { primitive: 'signature' } }),
    algorithm({ name: 'RSA', properties: { primitive: 'signature' } }),
    algorithm({ name: 'ECDSA', properties: { primitive: 'signature', curve: 'secp384r1' } }),
    algorithm({ name: 'AES-256-GCM' }),
    algorithm({ name: 'AES-128-GCM' }),
  ];
  await service.call('POST', '/api/ingest', { key: apiKey, body: bom(components, about('shop')) });
});
afterAll(() => stage.close());

const get = async (path: string) => (await service.call('GET', path, { key: apiKey })).body;
async function stancesOn(algorithmName: string, day: string): Promise<Record<string, string>> {
  const { items } = await get(`/api/quantum-risk/jurisdictions?asOf=${day}`);
  const row = items.find((item: { algorithm: string }) => item.algorithm === algorithmName);
  return Object.fromEntries(row.opinions.map(({ jurisdiction, stance }: Opinion) => [jurisdiction, stance]));
}

describe('comparison of jurisdictions', () => {
  it.each([
    ['2030-12-30', { ASD: 'ACCEPTS_UNTIL', NIST: 'FAVOURS', CNSA: 'REJECTS' }],
    ['2031-01-01', { ASD: 'REJECTS', NIST: 'FAVOURS', CNSA: 'REJECTS' }],
  ])('shows ML-KEM-768 on %s', async (day, expected) => {
    expect(await stancesOn('ML-KEM-768', day)).toMatchObject(expected);
  });

  it.each([
    ['2030-12-30', 'ACCEPTS_UNTIL'],
    ['2031-01-01', 'DISCOURAGES'],
    ['2036-01-01', 'REJECTS'],
  ])('shows NIST on RSA-2048 signatures on %s: deprecated is not disallowed', async (day, stance) => {
    expect((await stancesOn('RSA-2048', day))['NIST']).toBe(stance);
  });

  it.each([
    ['2023-12-31', 'ACCEPTS_UNTIL'],
    ['2024-01-01', 'DISCOURAGES'],
  ])('shows BSI on RSA-2048 on %s: at least 3000 bits since 2024', async (day, stance) => {
    expect((await stancesOn('RSA-2048', day))['BSI']).toBe(stance);
  });

  it('shows that CNSA temporarily accepts only CNSA 1.0 classical algorithms, and no small AES', async () => {
    const cnsa = async (name: string, day = '2026-11-25') => (await stancesOn(name, day))['CNSA'];
    expect(await cnsa('ECDSA-384')).toBe('ACCEPTS_UNTIL');
    expect(await cnsa('ECDSA-384', '2032-01-01')).toBe('REJECTS');
    expect(await cnsa('RSA-2048')).toBe('REJECTS');
    expect([await cnsa('AES-256-GCM'), await cnsa('AES-128-GCM')]).toEqual(['FAVOURS', 'REJECTS']);
  });

  it('gives an algorithm of unknown size no more time than one of known size', async () => {
    const stances = {
      CNSA: 'REJECTS',
      'US-EO': 'REJECTS',
      BSI: 'ACCEPTS_UNTIL',
      ASD: 'REJECTS',
      NIST: 'ACCEPTS_UNTIL',
    };
    expect(await stancesOn('RSA', '2032-01-01')).toMatchObject(stances);
  });

  it('shows the conflicts over hybrids and hash-based signatures, and what would satisfy all', async () => {
    const { items } = await get('/api/quantum-risk/conflicts?asOf=2027-01-01');
    const of = (name: string) => items.find((item: { algorithm: string }) => item.algorithm === name);
    const names = (list: Opinion[]) => list.map(({ jurisdiction }) => jurisdiction);
    const hybrid = of('X25519MLKEM768');
    expect([names(hybrid.favour), names(hybrid.against)]).toEqual([
      ['BSI', 'ANSSI', 'EU'],
      ['CNSA', 'ASD'],
    ]);
    expect(hybrid.satisfiesAll).toBeNull();
    expect(names(of('SLH-DSA-SHA2-128s').against)).toEqual(['CNSA']);
    expect(of('SLH-DSA-SHA2-128s').satisfiesAll).toBe('LMS');
    expect(of('AES-256-GCM')).toBeUndefined();
  });

  it('is available for a single asset', async () => {
    const { items } = await get('/api/assets?name=RSA-2048');
    const { items: rows, jurisdictions } = await get(`/api/assets/${items[0].id}/jurisdictions?asOf=2036-01-01`);
    expect(jurisdictions).toEqual(['NIST', 'CNSA', 'US-EO', 'BSI', 'ANSSI', 'EU', 'UK-NCSC', 'ASD']);
    expect(rows).toMatchObject([{ algorithm: 'RSA-2048', purpose: 'signature', assets: 1 }]);
    expect((await get('/api/assets/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11/jurisdictions')).code).toBe('asset.missing');
    expect((await get('/api/quantum-risk/conflicts?asOf=never')).status).toBe(400);
  });
});

interface CountedDeadline {
  readonly date: string;
  readonly state: string;
  readonly authority: string;
  readonly provision?: string;
  readonly appliesTo?: string;
  readonly binding: boolean;
  readonly url: string;
  readonly assets: number | null;
  readonly rules: string[];
}

const identityOf = ({ date, state, authority, provision, appliesTo }: CountedDeadline) =>
  [date, state, authority, provision, appliesTo].join(' | ');

describe('deadlines', () => {
  it('count all assets they apply to, matching a count of the exported assets', async () => {
    const { components } = await get('/api/export/cyclonedx');
    const counted = new Map<string, number>();
    for (const component of components as { 'bom-ref': string }[]) {
      const { findings } = await get(`/api/assets/${component['bom-ref']}`);
      const own = findings.flatMap(({ deadlines }: { deadlines: CountedDeadline[] }) => deadlines.map(identityOf));
      for (const key of new Set<string>(own)) counted.set(key, (counted.get(key) ?? 0) + 1);
    }
    const { items } = (await get('/api/quantum-risk/deadlines')) as { items: CountedDeadline[] };
    const said = items.flatMap((one): [string, number][] =>
      (one.assets ?? 0) > 0 ? [[identityOf(one), one.assets ?? 0]] : [],
    );
    expect(counted.size).toBeGreaterThan(10);
    expect(Object.fromEntries(said)).toEqual(Object.fromEntries(counted));
  });

  it('list assets by the findings of their rules', async () => {
    const { items } = (await get('/api/quantum-risk/deadlines')) as { items: CountedDeadline[] };
    const counted = items.filter(({ assets }) => (assets ?? 0) > 0);
    const listed = await Promise.all(
      counted.map(async ({ rules }) => {
        const q = encodeURIComponent(`finding in (${rules.join(', ')})`);
        return (await get(`/api/assets?state=active&total=true&q=${q}`)).total.count as number;
      }),
    );
    expect(listed).toEqual(counted.map(({ assets }) => assets));
    const others = await get(`/api/assets?total=true&q=${encodeURIComponent('finding!=Q-RSA-SIG-112')}`);
    const all = await get('/api/assets?total=true');
    expect(others.total.count).toBeLessThan(all.total.count as number);
  });

  it('on the same day have separate counts, and a binding acquisition deadline is not zero', async () => {
    const { items } = (await get('/api/quantum-risk/deadlines')) as { items: CountedDeadline[] };
    const cnsa = items.find(({ state }) => state === 'must-comply-with-cnsa-2.0');
    expect(cnsa).toMatchObject({ date: '2026-12-31', binding: true, assets: 3 });
    const of2030 = items.filter(({ date }) => date === '2030-12-31').map(({ assets }) => assets);
    expect(new Set(of2030).size).toBeGreaterThan(2);
    expect(items.every(({ url, rules }) => url.startsWith('https://') && rules.length > 0)).toBe(true);
    expect(items.find(({ state }) => state === 'max 47d')?.assets).toBeNull();
  });

  it('of an asset include the source of the next one', async () => {
    const { items } = await get('/api/assets?name=RSA-2048');
    expect(items[0]).toMatchObject({
      deadline: '2031-12-31',
      deadlineBy: { authority: 'US EO 14412', binding: true, url: 'https://www.federalregister.gov/d/2026-12909' },
    });
  });
});

describe('an allowlist policy pack', () => {
  const evaluate = async (pack: string) =>
    (await service.call('POST', '/api/attestations/evaluations', { key: apiKey, body: { pack } })).body;

  it('counts unlisted algorithms as violations, including hybrids with ML-KEM-768', async () => {
    const { results } = await evaluate('cnsa-2.0');
    const of = (name: string) => results.find(({ identifier }: { identifier: string }) => identifier === name);
    // X25519MLKEM768 and ML-KEM-768 both violate the requirement.
    expect(of('CNSA-KE')).toMatchObject({ assets: 2, violations: 2 });
    // RSA-2048, RSA without a size and SLH-DSA violate the requirement; P-384 is accepted for now.
    expect(of('CNSA-SIG')).toMatchObject({ assets: 4, violations: 3, acceptedUntil: { assets: 1 } });
    expect(of('CNSA-AES')).toMatchObject({ assets: 2, violations: 1 });
    expect(of('CNSA-KNOWN')).toMatchObject({ violations: 0 });
  });
});
