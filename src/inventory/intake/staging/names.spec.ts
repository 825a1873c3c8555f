import { describe, expect, it } from 'vitest';
import type { CdxComponent } from '../../model/document.js';
import type { AlgorithmPurpose } from '../../model/risk-subject.js';
import type { RiskVerdict } from '../../model/risk-verdict.js';
import { knownFamilies } from '../../judgement/vocabularies/families.js';
import curvesFile from '../../judgement/vocabularies/curves.json' with { type: 'json' };
import namesFile from '../../judgement/vocabularies/opaque-names.json' with { type: 'json' };
import { findByOid } from '../../judgement/vocabularies/object-identifiers.js';
import oidsFile from '../../judgement/vocabularies/oids.json' with { type: 'json' };
import suitesFile from '../../judgement/vocabularies/tls-suites.json' with { type: 'json' };
import { algorithmUsesOf, readAlgorithm } from '../../judgement/names/algorithm-uses.js';
import { mainUse } from '../../judgement/names/crypto-use.js';
import { AssetGraph } from '../../judgement/risk/asset-graph.js';
import { traitsOf } from '../../judgement/risk/asset-traits.js';
import { DEFAULT_RULES } from '../../judgement/risk/default-rules.js';
import { RiskEngine } from '../../judgement/risk/risk-engine.js';
import { SubjectReader } from '../../judgement/risk/subject-reader.js';
import { isWithoutPublicKey } from '../../judgement/names/suite-mentions.js';

const engine = new RiskEngine(DEFAULT_RULES);

function judged(kind: 'algorithm' | 'related-crypto-material', name: string): RiskVerdict {
  const facts = kind === 'algorithm' ? {} : { relatedCryptoMaterialProperties: { type: 'key' } };
  const component: CdxComponent = {
    type: 'cryptographic-asset',
    name,
    cryptoProperties: { assetType: kind, ...facts },
  };
  const asset = { id: 'a', kind, name, traits: traitsOf(kind, component), edges: [] };
  return engine.judge(new SubjectReader(new AssetGraph([asset])).read(asset).subject);
}

const familyOf = (name: string) => mainUse(algorithmUsesOf(name))?.family;
const natureOf = (family: string) => knownFamilies().get(family)?.nature;

describe('an algorithm name', () => {
  it.each([
    ['SHA256withECNR', 'MEDIUM', 'ECNR'],
    ['MD5withRSAandMGF1', 'CRITICAL', 'RSA'],
    ['RSA-OAEP-256', 'HIGH', 'RSA'],
    ['SHA-2', 'NONE', 'SHA-2'],
    ['DES3', 'HIGH', '3DES'],
    ['PBEWithSHA256And256BitAES', 'NONE', 'AES'],
    ['ChaCha20-Poly1305', 'NONE', 'ChaCha20'],
    ['DHE-RSA-AES256-SHA', 'HIGH', 'DH'],
    ['ECDiffieHellmanCng', 'HIGH', 'ECDH'],
    ['ml_kem::MlKem768', 'NONE', 'ML-KEM'],
    ['aes_gcm::Aes256Gcm', 'NONE', 'AES'],
    ['P192', 'CRITICAL', 'EC'],
    ['EC-256', 'HIGH', 'EC'],
    ['DES-MAC', 'CRITICAL', 'DES'],
    ['ecdsa-sha2-1.3.132.0.10', 'MEDIUM', 'ECDSA'],
    ['crypto/algorithm/rsa@1.2.840.113549.1.1.7', 'HIGH', 'RSA'],
    ['x509.SHA384WithRSAPSS', 'MEDIUM', 'RSA'],
    ['aes256gcm16-prfsha384-ecp384', 'HIGH', 'EC'],
    ['PKCS1WithMD5', 'CRITICAL', 'RSA'],
    ['github.com/dedis/kyber/v4', 'HIGH', 'EC'],
    ['Any-KEM(ML-KEM-1024,X448)', 'NONE', 'hybrid'],
    ['ISO/IEC 9797-1 MAC Algorithm 3', 'HIGH', 'CBC-MAC'],
    ['StarkCurve ECDSA', 'MEDIUM', 'ECDSA'],
    ['Homomorphic ElGamal', 'HIGH', 'ElGamal'],
    ['SSL_CK_DES_192_EDE3_CBC_WITH_MD5', 'HIGH', '3DES'],
    ['PQXDH_CRYSTALS-KYBER-1024', 'MEDIUM', 'hybrid'],
    ['EMSA4(SHA-512)', 'MEDIUM', 'RSA'],
    ['EME1(SHA-1)', 'HIGH', 'RSA'],
    ['NTRU+KEM768', 'MEDIUM', 'NTRU+'],
    ['MGF1-SHA256', 'NONE', 'MGF1'],
    ['chacha20poly1305::XChaCha20Poly1305', 'NONE', 'XChaCha20'],
    ['$6$rounds=5000', 'NONE', 'sha-crypt'],
    ['{SSHA}', 'HIGH', 'SHA-1'],
    ['Kerberos 5, etype 23, TGS-REP', 'CRITICAL', 'RC4'],
    ['ГОСТ Р 34.10-2012', 'MEDIUM', 'GOST'],
    ['ＡＥＳ-256', 'NONE', 'AES'],
    ['Advanced Encryption Standard (AES) 256-bit in Galois/Counter Mode', 'NONE', 'AES'],
    ['Triple Data Encryption Algorithm', 'HIGH', '3DES'],
    ['Rivest-Shamir-Adleman', 'HIGH', 'RSA'],
    ['Elliptic-curve Diffie–Hellman', 'HIGH', 'ECDH'],
    ['Elliptic Curve Digital Signature Algorithm', 'MEDIUM', 'ECDSA'],
    ['Module-Lattice-Based Key-Encapsulation Mechanism', 'LOW', 'ML-KEM'],
    ['Message-Digest Algorithm 5', 'HIGH', 'MD5'],
  ])('%s is %s, %s', (name, level, family) => {
    expect(judged('algorithm', name)).toMatchObject({ level, family });
  });

  it.each(['SHA256withFOO', 'AcmeSign-SHA256', 'XyzKEM AES-256', 'newsig SHA-512'])(
    'like %s has an unread part that looks like a public-key algorithm, and is not rated safe',
    (name) => {
      const verdict = judged('algorithm', name);
      expect(verdict.quantum.status).toBe('unknown');
      expect(verdict.level).not.toBe('NONE');
    },
  );

  it.each([
    ['scrypt DES-CBC', 'CRITICAL'],
    ['Argon2id with RC4', 'CRITICAL'],
    ['ML-KEM-768 3DES', 'HIGH'],
    ['ssh-mldsa65 Blowfish', 'HIGH'],
  ])('with a cipher next to a scheme without ciphers counts both: %s is %s', (name, level) => {
    expect(judged('algorithm', name).level).toBe(level);
  });

  it.each(['CTR_DRBG AES-256', 'FrodoKEM-640-AES', 'Kyber512-90s AES'])(
    'includes the cipher as a parameter in %s',
    (name) => {
      expect(algorithmUsesOf(name).map(({ family }) => family)).not.toContain('AES');
    },
  );

  it('of a signature encoding that any key may use is not rated safe', () => {
    expect(judged('algorithm', 'EMSA1(SHA-256)').level).not.toBe('NONE');
  });

  it.each([
    ['AES-256 reduced to 9 rounds', 'MEDIUM', 'AES'],
    ['7-round AES-128', 'MEDIUM', 'AES'],
    ['SHA-256 (24 rounds)', 'MEDIUM', 'SHA-2'],
    ['proprietary AES-256', 'MEDIUM', 'AES'],
    ['AES-256 (14 rounds)', 'NONE', 'AES'],
    ['sha512crypt rounds=5000', 'NONE', 'sha-crypt'],
    ['chacha20poly1305::ChaCha8Poly1305', 'LOW', 'ChaCha20'],
    ['SHA-256 truncated to 64 bits', 'MEDIUM', 'SHA-2'],
    ['SHA-256/64', 'MEDIUM', 'SHA-2'],
    ['SHA-512/256', 'NONE', 'SHA-2'],
    ['HMAC-CRC32', 'HIGH', 'HMAC'],
    ['HMAC-SHA-256-128', 'NONE', 'HMAC'],
    ['CTR_DRBG with 3DES', 'HIGH', 'DRBG'],
    ['RC4-based PRNG', 'CRITICAL', 'RNG'],
    ['acme PRNG', 'LOW', 'RNG'],
    ['FIPS 186-2 PRNG', 'HIGH', 'FIPS-186-2'],
  ])('is rated by its weak variant or part: %s is %s, %s', (name, level, family) => {
    expect(judged('algorithm', name)).toMatchObject({
      level,
      family: expect.stringMatching(new RegExp(`${family}|RC4|3DES`)),
    });
  });

  it.each([
    ['PKINIT DH group 2', 'CRITICAL', 'DH', 1024],
    ['TLS_DHE_RSA_WITH_AES_128_CBC_SHA (dh 1024)', 'CRITICAL', 'DH', 1024],
    ['cipher spec 000A', 'HIGH', 'RSA', null],
    ['{0xC0,0x30}', 'HIGH', 'ECDH', null],
    ['pre-g5-aes128-sha', 'CRITICAL', 'DH', 1536],
    ['crypto.generateKeyPairSync(rsa, { modulusLength: 1024 })', 'CRITICAL', 'RSA', 1024],
    ['JsonWebSignature2020 RS256', 'MEDIUM', 'RSA', null],
    ['random.SystemRandom', 'NONE', 'DRBG', null],
    ['ecb::Encryptor<aes::Aes128>', 'HIGH', 'AES', 128],
    ['COSE alg -7', 'MEDIUM', 'ECDSA', 256],
    ['COSE alg 7', 'NONE', 'HMAC', null],
    ['TiGER-256', 'MEDIUM', 'TiGER', null],
    ['Tiger-192', 'MEDIUM', 'Tiger', null],
  ])('%s is read in its context', (name, level, family, bits) => {
    expect(judged('algorithm', name)).toMatchObject({ level, family, bits });
  });

  it('with a word like "signing" next to a declared MAC is not a signature', () => {
    const uses = (primitive?: string) =>
      readAlgorithm('hmac-sha256 sigstamp', primitive === undefined ? {} : { primitive });
    expect(uses('mac').reading.mayBePublicKey).toBe(false);
    expect(uses().reading.mayBePublicKey).toBe(true);
  });

  it('that is unknown is reported', () => {
    const [finding] = judged('algorithm', 'PaymentCipher').findings;
    expect(finding).toMatchObject({ rule: 'Z-UNKNOWN-ALG', subject: 'PaymentCipher' });
  });
});

describe('a hybrid', () => {
  it.each([
    ['X25519+ML-KEM-768', 'NONE', 'X25519MLKEM768'],
    ['ML-KEM-1024 + P-384', 'NONE', 'hybrid'],
    ['p256_mlkem512', 'LOW', 'hybrid'],
    ['ECDH P-256 and FrodoKEM-976', 'LOW', 'hybrid'],
    ['x25519_kyber512', 'MEDIUM', 'hybrid'],
    ['rsa3072_mldsa44', 'LOW', 'composite-signature'],
    ['MLDSA65-ECDSA-P256-SHA512', 'LOW', 'composite-signature'],
  ])('is recognized in any order and spelling: %s is %s, %s', (name, level, family) => {
    expect(judged('algorithm', name)).toMatchObject({ level, family, quantum: { status: /pq/ } });
  });

  it.each(['ML-KEM-768, X25519', 'X25519 | ML-KEM-768'])('is not a list: %s', (name) => {
    expect(judged('algorithm', name).level).toBe('HIGH');
  });

  it('is not recognized if a part is broken', () => {
    expect(judged('algorithm', 'SIKEp434+X25519').level).toBe('CRITICAL');
  });

  it('is not recognized in the former name of the same algorithm', () => {
    expect(judged('algorithm', 'ML-KEM-768 (Kyber)')).toMatchObject({ level: 'NONE', family: 'ML-KEM' });
  });
});

describe('the name of a key', () => {
  it.each(['Universal API key', 'rainbow-service key', 'Maestro broker key', 'null', 'lms-jwt-key', 'x448.example'])(
    '%s is not an algorithm',
    (name) => {
      expect(judged('related-crypto-material', name)).toMatchObject({ level: 'LOW', family: null });
    },
  );

  it.each([
    ['RSA-2048', 'RSA'],
    ['ed25519', 'EdDSA'],
    ['aes-256', 'AES'],
    ['1.2.840.113549.1.1.1', 'RSA'],
  ])('%s is an algorithm if it contains nothing else', (name, family) => {
    expect(judged('related-crypto-material', name).family).toBe(family);
  });
});

describe('the vocabularies', () => {
  const names = namesFile.vocabularies.flatMap((vocabulary) => Object.keys(vocabulary.names));
  const curves: readonly { readonly name: string; readonly oids?: readonly string[] }[] = curvesFile.curves;
  const oids = new Set([
    ...oidsFile.registries.flatMap((registry) => Object.keys(registry.names)),
    ...curves.flatMap((curve) => curve.oids ?? []),
  ]);
  /** The first name of each suite is the name assigned by IANA. */
  const suites = [...new Set(Object.values(suitesFile.suites).map((spellings) => spellings.split(' ')[0] ?? ''))];

  it('define every name and every algorithm object identifier', () => {
    const unread = [...names, ...oids].filter((name) => {
      const { uses, reading } = readAlgorithm(name);
      return uses.length === 0 && !reading.isNoAlgorithm;
    });
    expect(unread).toEqual([]);
  });

  it('leave no part of any object identifier name unread', () => {
    const unread = [...oids].filter((oid) => readAlgorithm(findByOid(oid)?.name ?? '').reading.unread.length > 0);
    expect(unread).toEqual([]);
  });

  it('have a rule for every family, so that no family is safe by default', () => {
    // A mention of PBE is always read as PBES1 or PBES2.
    const families = [...knownFamilies().keys()].filter((family) => family !== 'PBE');
    const silent = families.filter((family) =>
      [{}, { bits: 256 }].some((sizes) => {
        const [use] = algorithmUsesOf('RSA');
        if (use === undefined) throw new Error('RSA is not read');
        const purpose: AlgorithmPurpose = natureOf(family) === undefined ? 'unknown' : 'signature';
        const ingredients = [{ ...use, family, purpose, ...sizes }];
        return engine.judge({ kind: 'algorithm', ingredients }).findings.length === 0;
      }),
    );
    expect(silent).toEqual([]);
  });

  it('map every TLS cipher suite to its key exchange', () => {
    expect(suites.length).toBeGreaterThan(340);
    const wrong = suites.filter((suite) => {
      const uses = algorithmUsesOf(suite);
      const isVulnerable = uses.some(({ family }) => natureOf(family) === 'classical');
      return isVulnerable !== (suite.includes('_WITH_') && !isWithoutPublicKey(suite)) || uses.length < 2;
    });
    expect(wrong).toEqual([]);
  });

  it('know every curve by name', () => {
    expect(curves.filter(({ name }) => natureOf(familyOf(name) ?? '') !== 'classical')).toEqual([]);
  });
});

/** Yields a reproducible sequence of pseudorandom numbers. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    yield state / 2 ** 32;
  }
}

describe('ten thousand names generated from vocabularies and spelling habits', () => {
  const words = [...knownFamilies()].flatMap(([family, { words: own }]) =>
    own.split(' ').map((entry) => ({ family, word: /^[^=@:]+/.exec(entry)?.[0] ?? '' })),
  );
  const HABITS: readonly ((word: string) => string)[] = [
    (word) => word,
    (word) => word.toUpperCase(),
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
    (word) => `Acme-${word.toUpperCase()}`,
    (word) => `${word}_ALGORITHM`,
    (word) => `SHA256with${word.toUpperCase()}`,
    (word) => `AES-256-GCM+${word}`,
    (word) => `com.example.${word}.Cipher`,
    (word) => `CKM_${word.toUpperCase()}`,
    (word) => `${word} (SHA-512)`,
    (word) => `ML-KEM-768, ${word}`,
    (word) => `${word}/HMAC-SHA384`,
  ];

  it('are never safe with a public-key family, unless all their families are quantum-resistant', () => {
    const random = numbers(7);
    const next = (count: number) => Math.floor((random.next().value as number) * count);
    const falselySafe: string[] = [];
    for (let count = 0; count < 10_000; count += 1) {
      const one = words[next(words.length)];
      const other = words[next(words.length)];
      const habit = HABITS[next(HABITS.length)];
      if (one === undefined || other === undefined || habit === undefined) throw new Error('no word');
      const isPair = next(3) === 0;
      const name = habit(isPair ? `${one.word}-${other.word}` : one.word);
      const natures = (isPair ? [one, other] : [one]).map(({ family }) => natureOf(family));
      const isHybrid = natures.includes('post-quantum');
      const verdict = judged('algorithm', name);
      if (natures.includes('classical') && !isHybrid && verdict.level === 'NONE') falselySafe.push(name);
      if (natures.includes('broken') && verdict.level === 'NONE') falselySafe.push(name);
    }
    expect(falselySafe).toEqual([]);
  });
});
