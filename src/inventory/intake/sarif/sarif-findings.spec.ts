import { describe, expect, it } from 'vitest';
import { DraftRefs } from '../../model/draft-refs.js';
import { readSarif } from './sarif-reader.js';

type Json = Record<string, unknown>;

function readLog(more: Json, source?: string) {
  const log = { version: '2.1.0', ...more };
  return readSarif(log, source, JSON.stringify(log).length);
}

const CIPHER = { id: 'R1', name: 'RiskyCipher', properties: { tags: ['external/cwe/cwe-327'] } };
const at = (uri: string, startLine = 3) => ({ physicalLocation: { artifactLocation: { uri }, region: { startLine } } });
const result = (more: Json = {}) => ({
  ruleId: 'R1',
  message: { text: 'RC4 is used' },
  locations: [at('a.c')],
  ...more,
});

function run(more: Json = {}, rules: Json[] = [CIPHER]): Json {
  return { tool: { driver: { name: 'scan', rules } }, results: [result()], ...more };
}

/** Returns the algorithms in the only draft of a log, with their locations. */
function found(log: Json) {
  const [draft] = readLog(log);
  if (draft === undefined) throw new Error('no draft');
  const assets = [...draft.assets(new DraftRefs())];
  return {
    names: assets.map(({ component }) => component.name),
    places: assets.flatMap(({ occurrences }) => occurrences.map(({ location, line }) => [location, line])),
    draft,
  };
}
const of = (more: Json, rules?: Json[]) => found({ runs: [run(more, rules)] });

describe('a SARIF rule is cryptographic', () => {
  const CWE = {
    name: 'CWE',
    guid: '11111111-2222-4333-8444-555555555555',
    taxa: [{ id: '79' }, { id: '327', guid: 'AAAAAAAA-0000-4000-8000-000000000001' }],
  };
  const rule = (more: Json) => ({ id: 'X9', name: 'x', ...more });
  const relation = (target: Json, kinds?: string[]) =>
    rule({ relationships: [{ target, ...(kinds === undefined ? {} : { kinds }) }] });
  const plain = result({ ruleId: 'X9' });

  it.each<[string, Json, Json, Json?]>([
    ['by a relationship with a weakness', relation({ id: 'CWE-327', toolComponent: { name: 'CWE' } }), {}],
    ['by a relationship that is a superset', relation({ id: '327', toolComponent: { name: 'CWE' } }, ['superset']), {}],
    ['by an index into a taxonomy', relation({ index: 1, toolComponent: { index: 0 } }), { taxonomies: [CWE] }],
    [
      'by the guid of a taxon, in another case',
      relation({ guid: 'aaaaaaaa-0000-4000-8000-000000000001', toolComponent: { guid: CWE.guid.toUpperCase() } }),
      { taxonomies: [CWE] },
    ],
    [
      'by a list of targets, which is none of the standard',
      rule({ relationships: [null, { target: [{ id: 'CAT1' }, { id: 'CWE-327' }] }] }),
      {},
    ],
    ['by a bare number in its properties', rule({ properties: { cwe: 327 } }), {}],
    ['by a list in its properties', rule({ properties: { cwe: ['CWE-327: broken algorithm'] } }), {}],
    ['by a list that is called otherwise', rule({ properties: { CWE_IDs: ['327'] } }), {}],
    ['by a tag', rule({ properties: { tags: ['security', 'CWE-327'] } }), {}],
    ['by a tag in a list of its own', rule({ properties: { tags: [['CWE-327: Risky'], 'security'] } }), {}],
    ['by the taxa of the result', rule({}), {}, { taxa: [{ id: '327', toolComponent: { name: 'CWE' } }] }],
    [
      'by the taxa of the result, by index',
      rule({}),
      { taxonomies: [{ name: 'OWASP', taxa: [] }, CWE] },
      { taxa: [{ index: 1, toolComponent: { index: 1 } }] },
    ],
    ['by the tags of the result', rule({}), {}, { properties: { tags: ['cwe-328'] } }],
  ])('%s', (_, described, more, ofResult = {}) => {
    expect(of({ results: [{ ...plain, ...ofResult }], ...more }, [described]).names).toEqual(['RC4']);
  });

  it.each<[string, Json, Json?]>([
    ['by a weakness of another kind', relation({ id: 'CWE-79', toolComponent: { name: 'CWE' } })],
    ['by a number of another taxonomy', relation({ id: '327', toolComponent: { name: 'OWASP' } })],
    [
      'by a weakness that it is disjoint from',
      relation({ id: 'CWE-327', toolComponent: { name: 'CWE' } }, ['disjoint']),
    ],
    ['by a number that only begins so', rule({ properties: { cwe: 'CWE-3271' } })],
    ['by a number in a tag', rule({ properties: { tags: ['327'] } })],
  ])('but not %s', (_, described, more = {}) => {
    expect(of({ results: [plain], ...more }, [described]).names).toEqual([]);
  });

  it('for every reference from the result: by index, reference, or hierarchical ID', () => {
    const extension = {
      name: 'plug-in',
      guid: '00000000-0000-4000-8000-00000000000A',
      rules: [{ id: 'other' }, { id: 'E1', guid: '00000000-0000-4000-8000-0000000000E1', properties: { cwe: '327' } }],
    };
    const tool = { driver: { name: 'scan', rules: [{ id: 'other' }, CIPHER] }, extensions: [extension] };
    const message = { text: 'RC4' };
    const forms: Json[] = [
      { ruleIndex: 1 },
      { rule: { index: 1 } },
      { ruleId: 'R1/deep/er' },
      { rule: { id: 'E1', toolComponent: { name: 'plug-in' } } },
      { rule: { index: 1, toolComponent: { index: 0 } } },
      {
        rule: {
          guid: '00000000-0000-4000-8000-0000000000e1',
          toolComponent: { guid: '00000000-0000-4000-8000-00000000000a' },
        },
      },
      { ruleId: 'E1', ruleIndex: -1 },
    ];
    for (const form of forms) expect(of({ tool, results: [{ message, ...form }] }).names).toEqual(['RC4']);
    expect(of({ tool, results: [{ message, ruleIndex: 0 }] }).names).toEqual([]);
  });
});

describe('a SARIF result message', () => {
  const messageStrings = { used: { text: '{0} with {{braces}} in {1}' } };
  it.each<[string, Json, Json]>([
    ['by the id of a string of the rule', { ...CIPHER, messageStrings }, { id: 'used', arguments: ['Blowfish', 'x'] }],
    ['in its own text', CIPHER, { text: 'Avoid {0}', arguments: ['Blowfish'] }],
    ['in markdown', CIPHER, { text: 'Avoid this', markdown: 'Avoid **Blowfish**' }],
  ])('is read %s', (_, rule, message) => {
    expect(of({ results: [{ ruleId: 'R1', message }] }, [rule]).names).toEqual(['Blowfish']);
  });

  it('inserts a long argument into many placeholders without exceeding the maximum length of a string', () => {
    const message = { text: `MD5 ${'{0}'.repeat(6600)}`, arguments: ['x'.repeat(100_000)] };
    expect(of({ results: [{ ruleId: 'R1', message }] }).names).toEqual(['MD5']);
  });

  it('may reference a string of the tool; a missing string is empty', () => {
    const tool = { driver: { name: 'scan', rules: [CIPHER], globalMessageStrings: { g: { markdown: 'uses MD4' } } } };
    expect(of({ tool, results: [{ ruleId: 'R1', message: { id: 'g' } }] }).names).toEqual(['MD4']);
    expect(of({ tool, results: [{ ruleId: 'R1', message: { id: 'constructor' } }] }).names).toEqual([]);
  });

  it('falls back to the quoted code if it names no algorithm', () => {
    const location = {
      physicalLocation: { artifactLocation: { uri: 'A.java' }, region: { snippet: { text: 'getInstance("MD5")' } } },
    };
    expect(of({ results: [result({ message: { text: 'Weak.' }, locations: [location] })] }).names).toEqual(['MD5']);
  });
});

describe('the algorithm of a finding', () => {
  const named = (text: string, more: Json = {}) => of({ results: [result({ message: { text }, ...more })] }).names[0];
  const quoted = (text: string) => ({
    locations: [{ physicalLocation: { artifactLocation: { uri: 'a' }, region: { startLine: 1, snippet: { text } } } }],
  });

  it.each([
    ['Triple DES should not be used', '3DES'],
    ['Triple-DES should not be used', '3DES'],
    ['new TripleDESCryptoServiceProvider()', '3DES'],
    ['kCCAlgorithm3DES', '3DES'],
    ['DES_ede3_cbc_encrypt() is called', '3DES'],
    ['Crypto.Cipher.DES3 is insecure. Replace it with AES.', '3DES'],
    ['EVP_md5 is called', 'MD5'],
    ['Uses CC_SHA1 of CommonCrypto', 'SHA-1'],
    ['SHA1Managed', 'SHA-1'],
    ['DES_ecb_encrypt', 'DES'],
    ['DESCryptoServiceProvider', 'DES'],
    ["createCipheriv('des-cbc', key, iv)", 'DES'],
    ['Blocklisted import crypto/des: weak cryptographic primitive', 'DES'],
    ['getInstance("MD5withRSA")', 'MD5'],
    ['getInstance("SHA256withRSA")', 'RSA'],
    ['Mac.getInstance("HmacMD5")', 'MD5'],
    ['PBEWithMD5AndTripleDES', '3DES'],
    ['DigestUtils.md5Hex(text)', 'MD5'],
    ['cipher MODE_ECB', 'AES-ECB'],
    ['IDEA has a block of 64 bits', 'IDEA'],
    ['SHA256withECDSA', 'ECDSA'],
    ['KeyAgreement.getInstance("ECDH")', 'ECDH'],
    ['ECDiffieHellmanCng', 'ECDH'],
    ['Use of insecure cipher Crypto.Cipher.ARC2.new. Replace with a known secure cipher such as AES.', 'RC2'],
    ['RIPEMD-160 is deprecated', 'RIPEMD'],
    ['Cipher.getInstance("RSA/ECB/PKCS1Padding")', 'RSA'],
    ['Cipher.getInstance("AES/ECB/NoPadding")', 'AES-ECB'],
    ['new NullCipher()', 'NULL'],
  ])('in %s is %s', (text, expected) => {
    expect(named(text)).toBe(expected);
  });

  it.each([
    'Evitez des algorithmes anciens',
    'the idea is bad',
    'SecureRandom.getInstance("SHA1PRNG")',
    'EdDSA is fine',
    'provIDES nothing',
    'Replace it with AES.',
  ])('in %s is undefined', (text) => {
    expect(named(text)).toBeUndefined();
  });

  it.each([
    ['RSA keys should be at least 2048 bits', 'rsa.GenerateKey(rand.Reader, 1024)', 'RSA-1024'],
    ['Weak RSA key', 'generate_private_key(public_exponent=65537, key_size=1024)', 'RSA-1024'],
    ['Weak RSA key', 'if (bits == 1024 || bits == 2048)', 'RSA'],
    ['Weak RSA key', 'port = 8080', 'RSA'],
    ['Insufficient curve size for EC.', 'ec.generate_private_key(curve=ec.SECP192R1)', 'EC-secp192r1'],
    ['MD5 is used', 'md5(1024)', 'MD5'],
  ])('takes its size from the code, never from a recommendation in the message: %s, %s', (text, code, expected) => {
    expect(named(text, quoted(code))).toBe(expected);
  });

  const LIST = 'Use of insecure MD2, MD4, MD5, or SHA1 hash function.';
  it.each([
    [LIST, 'digest = hashlib.sha1(body)', 'SHA-1'],
    [LIST, 'digest = hashlib.md5(body)', 'MD5'],
    [LIST, 'digest = legacy(body)', 'MD2'],
    [LIST, '{"md4": MD4, "md5": MD5}', 'MD2'],
    ['AES in ECB mode', 'Cipher.getInstance("AES")', 'AES-ECB'],
    ['MD5 is weak, use RSA or AES', 'rsa = RSA()', 'MD5'],
    ['Weak: MD5', 'SHA1()', 'MD5'],
  ])('is the one in the code if the message lists several: %s, %s', (text, code, expected) => {
    expect(named(text, quoted(code))).toBe(expected);
  });

  it('is read from the finding lines if only the context is quoted', () => {
    const around = (region: Json, contextRegion: Json) => ({
      locations: [{ physicalLocation: { artifactLocation: { uri: 'a' }, region, contextRegion } }],
    });
    const code = { text: 'x = RC4()\r\ny = 1\r\nhashlib.md5(y)\r\nhashlib.sha1(y)\r\n' };
    expect(named('Weak.', around({ startLine: 12 }, { startLine: 10, snippet: code }))).toBe('MD5');
    expect(named('Weak.', around({ startLine: 11, endLine: 12 }, { startLine: 10, snippet: code }))).toBe('MD5');
    expect(named('Weak.', around({ startLine: 11 }, { startLine: 10, snippet: code }))).toBeUndefined();
    expect(named('Weak.', around({ startLine: 9 }, { startLine: 10, snippet: code }))).toBeUndefined();
    expect(named('Weak.', around({ startLine: 12 }, { snippet: code }))).toBeUndefined();
    expect(named('Weak.', around({}, { startLine: 10, snippet: code }))).toBeUndefined();
  });
});

it('cryptographic results without an algorithm are counted separately, other results are not', () => {
  const advice =
    "Using CBC with PKCS5Padding is susceptible to padding oracle attacks. Use 'AES/GCM/NoPadding' instead.";
  const rules = [{ id: 'cbc-padding-oracle' }, { id: 'unused-import' }];
  const results = [
    result({ ruleId: 'cbc-padding-oracle', message: { text: 'Padding is susceptible to oracle attacks.' } }),
    result({ ruleId: 'cbc-padding-oracle', message: { text: advice } }),
    result({ ruleId: 'unused-import', message: { text: 'unused import rsa' } }),
  ];
  const { draft } = of({ results }, rules);
  expect(draft.received).toBe(0);
  expect(draft.warnings).toMatchObject([
    {
      code: 'sarif.no-algorithm',
      detail: expect.stringMatching(/^2 results of cryptographic rules do not name an algorithm/),
    },
  ]);
});

describe('a rule without a CWE', () => {
  const taken = (rule: Json) => of({ results: [result({ ruleId: rule['id'] })] }, [rule]).names.length === 1;

  it.each<[string, Json]>([
    [
      'by its short description',
      { id: 'CA5350', shortDescription: { text: 'Do Not Use Weak Cryptographic Algorithms' } },
    ],
    ['by its full description', { id: 'S1', fullDescription: { text: 'Broken encryption algorithms are found.' } }],
    ['by a title with a slash', { id: 'D1', shortDescription: { text: 'Weak/Broken Hash Algorithm' } }],
    ['by its name', { id: 'D2', name: 'WeakBrokenHashAlgorithm' }],
    ['by an identifier with underscores', { id: 'DES_USAGE' }],
    ['by an identifier of its longer form', { id: 'TDES_USAGE' }],
    ['by a title with underscores', { id: 'Java.Use_of_Broken_or_Risky_Cryptographic_Algorithm' }],
    ['by an identifier of Roslyn', { id: 'CA5385', shortDescription: { text: 'Use RSA with a sufficient key size' } }],
    ['by random numbers', { id: 'B311', properties: { tags: ['external/cwe/cwe-330'] } }],
    ['by the category of the weaknesses of cryptography', { id: 'O1', properties: { tags: ['CWE-310'] } }],
  ])('is cryptographic %s', (_, rule) => {
    expect(taken(rule)).toBe(true);
  });

  it.each<[string, Json]>([
    ['by a title about something else', { id: 'P1', shortDescription: { text: 'Weak password policy' } }],
    ['by a title that praises', { id: 'P2', shortDescription: { text: 'Use strong cryptographic algorithms' } }],
    ['by two sentences', { id: 'P3', fullDescription: { text: 'Weak reference. Hashing is fine.' } }],
  ])('but not %s', (_, rule) => {
    expect(taken(rule)).toBe(false);
  });
});
