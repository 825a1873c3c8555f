import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { pathToAnchor } from './certificate-path.js';
import { strongCertificate } from './certificate-checks.js';

const NOW = new Date('2026-11-27T12:00:00Z');
const DAY = 24 * 3600 * 1000;
const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const ANY = '2.5.29.37.0';

type Keys = webcrypto.CryptoKeyPair;
interface Party {
  readonly name: string;
  readonly keys: Keys;
}
interface Terms {
  readonly extensions?: Extension[];
  /** Days from now. */
  readonly from?: number;
  readonly to?: number;
  readonly algorithm?: object;
}

const newKeys = (): Promise<Keys> => webcrypto.subtle.generateKey(ES256, true, ['sign', 'verify']);
const party = async (name: string): Promise<Party> => ({ name, keys: await newKeys() });
const authority = (pathLength?: number) => [
  new BasicConstraintsExtension(true, pathLength, true),
  new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
];
const endEntity = () => [
  new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  new ExtendedKeyUsageExtension([CLIENT_AUTH]),
];

async function issued(by: Party, to: Party, terms: Terms = {}): Promise<X509Certificate> {
  const { extensions = endEntity(), from = -1, to: until = 1, algorithm = ES256 } = terms;
  const certificate = await X509CertificateGenerator.create({
    issuer: by.name,
    subject: to.name,
    signingKey: by.keys.privateKey,
    publicKey: to.keys.publicKey,
    signingAlgorithm: algorithm as typeof ES256,
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    notBefore: new Date(NOW.getTime() + from * DAY),
    notAfter: new Date(NOW.getTime() + until * DAY),
    extensions,
  });
  return new X509Certificate(Buffer.from(certificate.rawData));
}

let root: Party;
let middle: Party;
let job: Party;
let anchor: X509Certificate;
let between: X509Certificate;
let leaf: X509Certificate;

beforeAll(async () => {
  [root, middle, job] = await Promise.all([party('CN=Root'), party('CN=Between'), party('CN=job')]);
  anchor = await issued(root, root, { extensions: authority() });
  between = await issued(root, middle, { extensions: authority(0) });
  leaf = await issued(middle, job);
});

const path = (
  shown: X509Certificate,
  intermediates: readonly X509Certificate[] = [between],
  anchors: readonly X509Certificate[] = [anchor],
) => pathToAnchor({ leaf: shown, anchors, intermediates, now: NOW });

describe('a certificate path is built', () => {
  it('directly', async () => {
    const direct = await issued(root, job);
    expect(path(direct, [])).toEqual([direct, anchor]);
  });

  it('through an intermediate certificate, regardless of unrelated certificates and order', async () => {
    const stray = await issued(root, await party('CN=Stray'), { extensions: authority() });
    expect(path(leaf, [stray, leaf, anchor, between, between])).toEqual([leaf, between, anchor]);
  });

  it('to an intermediate CA that is itself the anchor', () => {
    expect(path(leaf, [], [between])).toEqual([leaf, between]);
  });

  it('through the second certificate of a CA when the first has expired', async () => {
    const old = await issued(root, middle, { extensions: authority(0), from: -9, to: -1 });
    expect(path(leaf, [old, between])).toEqual([leaf, between, anchor]);
  });

  it('without key usage extensions', async () => {
    expect(path(await issued(middle, job, { extensions: [] }))).toHaveLength(3);
  });

  it('below a CA that replaced its key, whose self-issued certificate does not count towards the path length', async () => {
    const [limited, newer] = [await issued(root, root, { extensions: authority(0) }), await party('CN=Root')];
    const rolled = await issued(root, newer, { extensions: authority(0) });
    expect(path(await issued(newer, job), [rolled], [limited])).toHaveLength(3);
  });
});

describe('no path is built from', () => {
  it.each<[string, RegExp, () => Promise<readonly [X509Certificate, X509Certificate[]?, X509Certificate[]?]>]>([
    // Keycloak 52801: a trust anchor is identified by its key, not only by its name.
    [
      'a certificate of another authority with the same name',
      /does not chain/,
      async () => [await issued(await party('CN=Root'), job), []],
    ],
    // GHSA-6c5r-4wfc-3mcx (Vault): an issuer must be a certificate authority.
    [
      'one that a client signed with its own certificate',
      /does not chain/,
      async () => [await issued(job, await party('CN=other')), [leaf, between]],
    ],
    [
      'one below an issuer with CA:false',
      /not a CA certificate/,
      async () => {
        const plain = await issued(root, middle, { extensions: [new BasicConstraintsExtension(false)] });
        return [leaf, [plain]];
      },
    ],
    [
      'one below an issuer without basic constraints',
      /not a CA certificate/,
      async () => [leaf, [await issued(root, middle, { extensions: [] })]],
    ],
    [
      'one below an authority whose key may not sign certificates',
      /does not chain/,
      async () => {
        const usage = new KeyUsagesExtension(KeyUsageFlags.cRLSign, true);
        return [leaf, [await issued(root, middle, { extensions: [new BasicConstraintsExtension(true), usage] })]];
      },
    ],
    [
      'more authorities than pathLenConstraint allows',
      /pathLenConstraint/,
      async () => {
        const deeper = await party('CN=Deeper');
        const second = await issued(middle, deeper, { extensions: authority() });
        return [await issued(deeper, job), [second, between]];
      },
    ],
    [
      'an expired certificate',
      /certificate has expired/,
      async () => [await issued(middle, job, { from: -3, to: -1 })],
    ],
    ['one of tomorrow', /not valid yet/, async () => [await issued(middle, job, { from: 1, to: 2 })]],
    [
      'one below an expired intermediate',
      /intermediate certificate has expired/,
      async () => [leaf, [await issued(root, middle, { extensions: authority(), from: -3, to: -1 })]],
    ],
    [
      'one below an expired anchor',
      /trust anchor has expired/,
      async () => [leaf, [between], [await issued(root, root, { extensions: authority(), from: -3, to: -1 })]],
    ],
    [
      'a certificate for servers alone',
      /clientAuth/,
      async () => [await issued(middle, job, { extensions: [new ExtendedKeyUsageExtension([SERVER_AUTH])] })],
    ],
    [
      'a certificate for any purpose, which nobody meant for clients',
      /clientAuth/,
      async () => [await issued(middle, job, { extensions: [new ExtendedKeyUsageExtension([ANY])] })],
    ],
    [
      'one below an authority for servers alone',
      /extended key usage/,
      async () => {
        const extensions = [...authority(), new ExtendedKeyUsageExtension([SERVER_AUTH])];
        return [leaf, [await issued(root, middle, { extensions })]];
      },
    ],
    [
      'a certificate whose key does not sign',
      /digitalSignature/,
      async () => [
        await issued(middle, job, { extensions: [new KeyUsagesExtension(KeyUsageFlags.keyEncipherment, true)] }),
      ],
    ],
    [
      'one with a critical extension that nobody knows',
      /critical extension 1\.2\.3\.4/,
      async () => [
        await issued(middle, job, { extensions: [new Extension('1.2.3.4', true, Buffer.from('0500', 'hex'))] }),
      ],
    ],
    // Vault 3862: authorities with permitted_dns_domains.
    [
      'one below an authority with name constraints',
      /name constraints/,
      async () => {
        const constraint = Buffer.from('3010a00e300c820a6578616d706c652e636f', 'hex');
        const extensions = [...authority(), new Extension('2.5.29.30', false, constraint)];
        return [leaf, [await issued(root, middle, { extensions })]];
      },
    ],
    [
      'one with two extensions of a kind',
      /duplicate/,
      async () => {
        const usage = () => new Extension('2.5.29.37', false, Buffer.from('300a06082b06010505070302', 'hex'));
        return [await issued(middle, job, { extensions: [usage(), usage()] })];
      },
    ],
    [
      'one that is signed over SHA-1',
      /SHA-1/,
      async () => [await issued(middle, job, { algorithm: { ...ES256, hash: 'SHA-1' } })],
    ],
    ['the anchor itself', /no path|digitalSignature/, async () => [anchor]],
    ['one whose intermediate nobody has', /does not chain/, async () => [leaf, []]],
  ])('%s', async (_what, reason, make) => {
    const [shown, intermediates, anchors] = await make();
    expect(() => path(shown, intermediates, anchors)).toThrow(reason);
  });

  it('CAs that certify each other in a cycle', async () => {
    const [one, two] = [await party('CN=One'), await party('CN=Two')];
    const circle = [
      await issued(one, two, { extensions: authority() }),
      await issued(two, one, { extensions: authority() }),
    ];
    expect(() => pathToAnchor({ leaf, anchors: [anchor], intermediates: circle, now: NOW })).toThrow(/does not chain/);
    const below = await issued(two, job);
    expect(() => path(below, circle)).toThrow(/does not chain/);
  });

  it('twenty certificates that could all have issued each other, without trying every order', async () => {
    const same = await party('CN=Same');
    const many = await Promise.all(Array.from({ length: 20 }, () => issued(same, same, { extensions: authority() })));
    const below = await issued(same, job);
    expect(() => path(below, many)).toThrow(/too many/);
  });

  it('an excessively long chain', async () => {
    const chain: X509Certificate[] = [];
    let above = root;
    for (let depth = 0; depth < 9; depth += 1) {
      const next = await party(`CN=Depth ${depth}`);
      chain.push(await issued(above, next, { extensions: authority() }));
      above = next;
    }
    expect(() => path(leaf, chain)).toThrow(/does not chain/);
    const deepest = await issued(above, job);
    expect(() => path(deepest, chain)).toThrow(/does not chain/);
  });
});

describe('a certificate is rejected as too weak', () => {
  it('with an RSA key of 1024 bits', async () => {
    const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) }; // prettier-ignore
    const keys = await webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify']);
    const weak = await issued(middle, { name: 'CN=weak', keys });
    expect(() => strongCertificate(weak.raw)).toThrow(/too weak/);
    expect(strongCertificate(leaf.raw).raw.equals(leaf.raw)).toBe(true);
  });
});
