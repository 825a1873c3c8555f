import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import curvesFile from './curves.json' with { type: 'json' };
import { findByOid, findCurve } from './object-identifiers.js';

/** Returns the curves of `openssl ecparam -list_curves` with their field sizes. */
function opensslCurves(): [name: string, bits: number][] {
  const text = execFileSync('openssl', ['ecparam', '-list_curves'], { encoding: 'utf8' }).replaceAll('\n\t', ' ');
  return [...text.matchAll(/^\s*(\S+?)\s*:.*?over a (\d+) bit/gm)].map(([, name, bits]) => [name ?? '', Number(bits)]);
}

describe('curves', () => {
  it('include all OpenSSL curves with the same sizes', () => {
    const curves = opensslCurves();
    expect(curves.length).toBeGreaterThan(70);
    expect(curves.filter(([name, bits]) => findCurve(name)?.bits !== bits)).toEqual([]);
  });

  it.each([
    ['P-256', '1.2.840.10045.3.1.7', 256],
    ['secp256r1', '1.2.840.10045.3.1.7', 256],
    ['1.3.132.0.34', '1.3.132.0.34', 384],
    ['brainpoolP320r1', '1.3.36.3.3.2.8.1.1.9', 320],
    ['BRAINPOOL-P512R1', '1.3.36.3.3.2.8.1.1.13', 512],
    ['K-163', '1.3.132.0.1', 163],
    ['sm2p256v1', '1.2.156.10197.1.301', 256],
    ['Curve25519', undefined, 255],
  ])('include %s with the identifier %s and %i bits', (name, oid, bits) => {
    expect(findCurve(name)).toMatchObject({ oid, bits });
  });

  it('include only names from a registry', () => {
    expect(['P-257', 'secp', '', 'AES'].map(findCurve)).toEqual([undefined, undefined, undefined, undefined]);
    expect(curvesFile.curves.every(({ bits }) => bits >= 112 && bits <= 800)).toBe(true);
  });
});

/** Returns the object identifiers that OpenSSL lists for digests, ciphers, MACs, keys, signatures and curves. */
function opensslOids(): string[] {
  const lists = ['digest', 'cipher', 'mac', 'public-key', 'kem'].map((kind) =>
    execFileSync('openssl', ['list', kind === 'kem' ? '-kem-algorithms' : `-${kind}-algorithms`], { encoding: 'utf8' }),
  );
  return [...new Set(lists.join('\n').match(/(?<![\d.])[0-2](?:\.\d+){3,}(?![\d.])/g))];
}

it('every algorithm object identifier of OpenSSL is known', () => {
  const oids = opensslOids();
  expect(oids.length).toBeGreaterThan(60);
  expect(oids.filter((oid) => findByOid(oid) === undefined)).toEqual([]);
});

it('an object identifier is returned with its registry', () => {
  expect(findByOid('2.16.840.1.101.3.4.3.18')).toEqual({
    name: 'ML-DSA-65',
    source: 'NIST Computer Security Objects Register',
  });
  expect(findByOid('1.2.3.4')).toBeUndefined();
});
