import { describe, expect, it } from 'vitest';
import { algorithmUsesOf } from '../names/algorithm-uses.js';
import { knownFamilies } from '../vocabularies/families.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RiskEngine } from './risk-engine.js';

const engine = new RiskEngine(DEFAULT_RULES);
/** Primitives in CycloneDX 1.6 and 1.7. */
const PRIMITIVES =
  'drbg mac block-cipher stream-cipher signature hash pke xof kdf key-agree kem ae combiner key-wrap other unknown'.split(
    ' ',
  );
const BROKEN_STATUS = new Set(['broken', 'disallowed', 'deprecated', 'legacy']);
/** Conditions of a rule that covers a whole family rather than one size or curve. */
const OF_WHOLE_FAMILIES = new Set(['family', 'usage', 'notUsage', 'selfSignedRoot']);
/** Hashes and ciphers that are broken at every size. */
const BROKEN = new Set(
  DEFAULT_RULES.rules
    .filter(
      ({ status, match }) => BROKEN_STATUS.has(status) && Object.keys(match).every((key) => OF_WHOLE_FAMILIES.has(key)),
    )
    .flatMap(({ match, id }) => (id === 'D-FAST-PASSWORD' ? [] : (match.family ?? []))),
);

const wordOf = (words: string) => words.split(' ')[0]?.replace(/[=@#:].*/, '') ?? '';
const FAMILIES = [...knownFamilies()].map(([family, { words }]) => ({ family, word: wordOf(words) }));

function judge(name: string, primitive: string | undefined) {
  const ingredients = algorithmUsesOf(name, primitive === undefined ? {} : { primitive });
  return { ingredients, verdict: engine.judge({ kind: 'algorithm', ingredients }) };
}

describe('a broken family', () => {
  it('is listed in this test if the rules rate it as broken, including hashes and ciphers', () => {
    for (const family of [
      'MD2',
      'MD4',
      'MD5',
      'SHA-0',
      'SHA-1',
      'RIPEMD',
      'GOST3411',
      'DES',
      '3DES',
      'RC4',
      'RC2',
      'NULL',
      'SIKE',
      'FEAL',
      'NTLM',
    ])
      expect(BROKEN).toContain(family);
    expect(BROKEN.size).toBeGreaterThan(60);
  });

  it('is never rated safe and always matches a rule, whatever primitive a document states', () => {
    const safe: string[] = [];
    for (const { family, word } of FAMILIES.filter((one) => BROKEN.has(one.family)))
      for (const primitive of [undefined, ...PRIMITIVES]) {
        const { ingredients, verdict } = judge(word, primitive);
        expect(ingredients.map((one) => one.family)).toContain(family);
        if (verdict.level === 'NONE' || verdict.rule === null)
          safe.push(`${family} as ${primitive}: ${verdict.level} by ${verdict.rule}`);
      }
    expect(safe).toEqual([]);
  });

  it('is not rated safe next to the scheme that uses it', () => {
    const names = [...BROKEN].flatMap((family) =>
      knownFamilies().get(family)?.role === 'hash' && ['MD2', 'MD4', 'MD5', 'SHA-0', 'SHA-1'].includes(family)
        ? [`HMAC-${family}`, `PBKDF2-HMAC-${family}`, `HKDF-${family}`]
        : [],
    );
    expect(names.length).toBe(15);
    expect(names.filter((name) => judge(name, undefined).verdict.level === 'NONE')).toEqual([]);
  });

  it.each([
    '{SHA}',
    '{SSHA}',
    '{MD5}',
    '{SMD5}',
    'mysql_native_password',
    'PostgreSQL md5',
    'md5($pass.$salt)',
    '{SSHA512}',
  ])('is rated HIGH as the password hash %s', (name) =>
    expect(judge(name, 'kdf').verdict).toMatchObject({ level: 'HIGH' }),
  );
});

it('every family matches a rule, whatever primitive a document states', () => {
  const silent: string[] = [];
  for (const { family, word } of FAMILIES)
    for (const primitive of [undefined, ...PRIMITIVES]) {
      const { ingredients, verdict } = judge(word, primitive);
      if (ingredients.length > 0 && verdict.rule === null) silent.push(`${family} (${word}) as ${primitive}`);
    }
  expect(silent).toEqual([]);
});

/** Names that look similar to the name of another algorithm, each with the family and level under which it must be listed. */
const LOOK_ALIKES: readonly (readonly [name: string, family: string, level: string])[] = [
  ['Streebog-512', 'Streebog', 'LOW'],
  ['GOST R 34.11-2012', 'Streebog', 'LOW'],
  ['id-tc26-gost3411-12-512', 'Streebog', 'LOW'],
  ['md_gost12_512', 'Streebog', 'LOW'],
  ['GOST R 34.11-94', 'GOST3411', 'MEDIUM'],
  ['gost94_cryptopro', 'GOST3411', 'MEDIUM'],
  ['SPECK-128', 'SPECK', 'LOW'],
  ['Speck128/256', 'SPECK', 'LOW'],
  ['Speck64/128', 'SPECK', 'HIGH'],
  ['Simon48/96', 'SIMON', 'HIGH'],
  ['SIMON128/256', 'SIMON', 'LOW'],
  ['CHAM-128/256', 'CHAM', 'LOW'],
  ['CHAM-64/128', 'CHAM', 'HIGH'],
  ['CKM_DES2_KEY_GEN', '3DES', 'HIGH'],
  ['CKK_DES2', '3DES', 'HIGH'],
  ['DES2', '3DES', 'HIGH'],
  ['DES', 'DES', 'CRITICAL'],
  ['Kupyna-512', 'Kupyna', 'LOW'],
  ['DSTU7564-256', 'Kupyna', 'LOW'],
  ['Skein-512', 'Skein', 'LOW'],
  ['Adiantum', 'Adiantum', 'LOW'],
  ['xchacha12,aes-adiantum-plain64', 'Adiantum', 'LOW'],
  ['XChaCha12', 'XChaCha12', 'LOW'],
  ['XChaCha20', 'XChaCha20', 'NONE'],
  ['BN254', 'BN', 'HIGH'],
  ['alt_bn128', 'BN', 'HIGH'],
  ['bn256', 'BN', 'HIGH'],
  ['BLS12-381', 'BLS', 'MEDIUM'],
  ['SHA-0', 'SHA-0', 'HIGH'],
];

it.each(LOOK_ALIKES)('%s belongs to the family %s, level %s', (name, family, level) => {
  expect(judge(name, undefined).verdict).toMatchObject({ family, level });
});

it('the number after a curve name is its size: MNT4-753 is not a 240-bit curve', () => {
  expect(judge('MNT4-753', undefined).verdict.bits).toBe(753);
  expect(judge('mnt5/1-298', undefined).verdict.bits).toBe(298);
  expect(judge('P-256', undefined).verdict.bits).toBe(256);
});

/** Parameter sets written as full names, with the facts contained in each name. */
const SETS: readonly (readonly [name: string, set: string, said: object])[] = [
  ['AES', 'AES-256-CTR', { level: 'NONE', bits: 256 }],
  ['Rijndael', 'AES-256-CTR', { level: 'NONE', bits: 256 }],
  ['AES', 'AES-128-CBC', { level: 'LOW', bits: 128 }],
  ['AES', 'AES256', { level: 'NONE', bits: 256 }],
  ['AES', '256-bit', { level: 'NONE', bits: 256 }],
  ['Camellia', 'CAMELLIA-256-CBC', { bits: 256 }],
  ['DH', 'modp768', { level: 'CRITICAL', bits: 768 }],
  ['DH', 'group2', { level: 'CRITICAL', bits: 1024 }],
  ['DH', 'ffdhe3072', { level: 'HIGH', bits: 3072 }],
  ['RSA', 'rsa1024', { level: 'CRITICAL', bits: 1024 }],
  ['ECDH', 'secp192r1', { level: 'CRITICAL', bits: 192 }],
  ['ML-KEM', 'MLKEM512', { level: 'LOW', bits: 512 }],
  ['RSA', 'SHA-256', { bits: null }],
];

it.each(SETS)('%s with the parameter set %s is read from both', (name, set, said) => {
  const ingredients = algorithmUsesOf(name, { parameterSetIdentifier: set });
  expect(engine.judge({ kind: 'algorithm', ingredients })).toMatchObject(said);
});

it('SLH-DSA keeps the parameter set of a full name in FIPS 205 spelling', () => {
  for (const set of ['SLH-DSA-SHA2-128s', 'SLH_DSA_SHA2_128S'])
    expect(algorithmUsesOf('SLH-DSA', { parameterSetIdentifier: set })).toMatchObject([{ param: 'SHA2-128s' }]);
});
