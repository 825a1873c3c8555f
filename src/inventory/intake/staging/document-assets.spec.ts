import { describe, expect, it } from 'vitest';
import type { Draft, DraftAsset, DraftOccurrence } from '../../model/document.js';
import { placesIn } from './asset-rows.js';
import { uuidAt } from '../../../platform/text/uuid-bytes.js';
import { DocumentAssets } from './document-assets.js';

const at = (location: string): DraftOccurrence => ({
  location,
  line: null,
  position: null,
  symbol: null,
  context: null,
});

function algorithm(ref: string, name: string, ...places: string[]): DraftAsset {
  const component = { type: 'cryptographic-asset', name, cryptoProperties: { assetType: 'algorithm' } };
  return { ref, kind: 'algorithm', component, occurrences: places.map(at), links: [] };
}

/** Returns assets that can be iterated only once, like the assets of a long document. */
function documentOf(assets: readonly DraftAsset[], warnings: Draft['warnings'] = []): DocumentAssets {
  const draft: Draft = {
    format: 'test',
    serialNumber: null,
    version: null,
    time: null,
    source: undefined,
    whole: true,
    assets: () => assets[Symbol.iterator](),
    received: assets.length,
    ignored: 0,
    rejected: [],
    repairs: [],
    warnings,
  };
  return new DocumentAssets(draft, { id: '00000000-0000-8000-8000-000000000000', name: 'test' });
}

const sample = () =>
  documentOf([
    algorithm('1', 'AES', 'a.c', 'b.c', 'a.c'),
    algorithm('2', 'RSA'),
    algorithm('3', 'aes', 'b.c', 'c.c'),
    algorithm('4', 'DSA'),
    algorithm('5', 'RSA', 'd.c'),
    algorithm('6', 'A-E-S', 'a.c', 'd.c'),
    algorithm('7', 'rsa', 'd.c', 'e.c'),
  ]);

/** Returns the asset id and the location of each location row, in the encoding that the database receives. */
function placesOf(assets: DocumentAssets): string[] {
  const rows = assets.all().flatMap((asset) => assets.placesOf(asset).flatMap((places) => [...placesIn(places)]));
  return rows.map(({ bytes, start }) => {
    const location = start + 2 + 3 * 20;
    const text = bytes.toString('utf8', location + 4, location + 4 + bytes.readInt32BE(location));
    return `${uuidAt(bytes, start + 6)} ${text}`;
  });
}

describe('locations of an asset that a document mentions more than once', () => {
  it('are deduplicated, in ID order, however often they are read', () => {
    const assets = sample();
    const [aes, rsa, dsa] = ['1', '2', '4'].map((ref) => new Map(assets.named()).get(ref) ?? '');
    const all = [
      ...['a.c', 'b.c', 'c.c', 'd.c'].map((place) => `${aes} ${place}`),
      ...['d.c', 'e.c'].map((place) => `${rsa} ${place}`),
      // An asset without a location gets a row with an empty location.
      `${dsa} `,
    ];
    expect(placesOf(assets)).toEqual(all.toSorted());
    expect(placesOf(assets)).toEqual(all.toSorted());
    expect(assets.named()).toHaveLength(7);
  });
});

describe('two certificates with one fingerprint', () => {
  const certificate = (ref: string, subjectName: string, more: object = {}): DraftAsset => ({
    ref,
    kind: 'certificate',
    component: {
      type: 'cryptographic-asset',
      name: ref,
      hashes: [{ alg: 'SHA-256', content: 'ab'.repeat(32) }],
      cryptoProperties: {
        assetType: 'certificate',
        certificateProperties: {
          subjectName,
          issuerName: 'CN=ca',
          notValidBefore: '2026-01-01T00:00:00Z',
          notValidAfter: '2027-01-01T00:00:00Z',
          ...more,
        },
      },
    },
    occurrences: [],
    links: [],
  });
  const warningsOf = (...assets: DraftAsset[]) => {
    const warnings: Draft['warnings'] = [];
    documentOf(assets, warnings).all();
    return warnings;
  };

  it('and different subjects are reported, and merged into one asset', () => {
    const warnings = warningsOf(certificate('a', 'CN=a'), certificate('b', 'CN=b'));
    expect(warnings).toMatchObject([{ code: 'certificate.contradictory' }]);
    expect(warnings[0]?.detail).toContain('"a" and "b" have the same fingerprint');
  });

  it('and equal or fewer fields are not reported', () => {
    expect(warningsOf(certificate('a', 'CN=a'), certificate('b', 'CN=a'))).toEqual([]);
    expect(warningsOf(certificate('a', 'CN=a'), certificate('b', 'CN=a', { issuerName: undefined }))).toEqual([]);
  });
});
