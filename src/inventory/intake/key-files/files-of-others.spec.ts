import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DraftRefs } from '../../model/draft-refs.js';
import { readCredentialFile } from './credential-reader.js';

const PASSWORD = 'changeit';

function read(bytes: Buffer | string, password?: string) {
  const draft = readCredentialFile(Buffer.from(bytes), { source: 'host:/file', password });
  const components = [...draft.assets(new DraftRefs())].map(({ component }) => component);
  const names = components.map(({ name, cryptoProperties }) => `${cryptoProperties?.assetType} ${name}`);
  return { ...draft, names: names.filter((name) => !name.startsWith('algorithm')).sort() };
}

/** Certificate for files.example with a P-256 key, created with OpenSSL. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIUMdy2WuSY3vH7Iivk50PrutXgLS8wCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNZmlsZXMuZXhhbXBsZTAgFw0yNjExMjYyMzQxNDBaGA8yMTI2
MTEwMjIzNDE0MFowGDEWMBQGA1UEAwwNZmlsZXMuZXhhbXBsZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABPLN62RIdc3GWUHExzmkJhkeqlai1prLVXLC48X95a1t
7/L39QzkFNUwwdIsHO0F8oY8hO1vPXCvWaBFt3osJxOjUzBRMB0GA1UdDgQWBBTA
PRW9ad3E72Kzt3TRTFs6CgsZpzAfBgNVHSMEGDAWgBTAPRW9ad3E72Kzt3TRTFs6
CgsZpzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIEVG09sODJjU
S+bAGkn4Ec7MPCnnmEy8vDMZIWL89g3tAiEA84JngFBDIfxft+miviAysFSOSYWx
TAVzkpZ8rzrKKdQ=
-----END CERTIFICATE-----`;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PKCS8 = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
const PKCS1 = String(privateKey.export({ type: 'pkcs1', format: 'pem' }));
const ENCRYPTED = String(
  privateKey.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: PASSWORD }),
);

const eachLine = (text: string, change: (line: string) => string) => text.trimEnd().split('\n').map(change).join('\n');

describe('PEM written by other programs', () => {
  it.each<[string, (text: string) => string]>([
    ['indented, as YAML holds it', (text) => eachLine(text, (line) => `    ${line}`)],
    ['quoted by a mail', (text) => eachLine(text, (line) => `> ${line}`)],
    ['with the ends of its lines escaped, as JSON and .env files hold it', (text) => text.replaceAll('\n', '\\n')],
    ['with CR and LF escaped', (text) => text.replaceAll('\n', '\\r\\n')],
    ['with blanks behind its lines', (text) => eachLine(text, (line) => `${line}  `)],
    ['with a comment before it', (text) => `Bag Attributes: <No Attributes>\n\n${text}`],
  ])('is read %s', (_, change) => {
    const plain = [CERTIFICATE, PKCS8, PKCS1, ENCRYPTED].map((text) => read(text, PASSWORD));
    const changed = [CERTIFICATE, PKCS8, PKCS1, ENCRYPTED].map((text) => read(change(text), PASSWORD));
    expect(changed.map(({ names }) => names)).toEqual(plain.map(({ names }) => names));
    expect(changed.flatMap(({ rejected }) => rejected)).toEqual([]);
  });

  it.each([
    ['a comment', `# my root\n${CERTIFICATE}`],
    ['attributes of OpenSSL', `Bag Attributes\n    friendlyName: a\nsubject=CN = a\n${CERTIFICATE}`],
    ['blank lines', `\n\n${CERTIFICATE}\n\n`],
  ])('causes no warning for %s around the blocks', (_, text) => {
    expect(read(text).warnings).toEqual([]);
  });

  it('causes a warning for other text outside the blocks, with its size', () => {
    const { names, warnings } = read(`protocol TLSv1\n${CERTIFICATE}\ncipher RC4-SHA\n`);
    expect(names).toContain('certificate files.example');
    const detail = '28 bytes outside the PEM blocks were ignored';
    expect(warnings).toEqual([{ pointer: '', code: 'pem.outside', detail }]);
  });

  it('reports that only the certificate in a scanner result was read', () => {
    const csv = `"id","fqdn/ip","port","severity","finding","cve","cwe"\n"SSLv3","a/10.0.0.1","443","OK","not offered","",""\n"cert","a/10.0.0.1","443","INFO","${CERTIFICATE}","",""`;
    const [warning] = read(csv).warnings;
    expect(warning?.detail).toContain(
      'result of testssl.sh, whose protocols, cipher suites and findings are not supported',
    );
    const json = JSON.stringify({ server_scan_results: [{ chain: [{ as_pem: CERTIFICATE }], tls_1_0: 'accepted' }] });
    expect(read(json)).toMatchObject({ rejected: [], warnings: [{ code: 'pem.outside' }] });
    expect(read(json).warnings[0]?.detail).toContain('SSLyze');
    expect(read(json).names).toEqual(read(CERTIFICATE).names);
  });

  it('is read when on a single line', () => {
    const { names, rejected } = read(PKCS8.replaceAll('\n', ''));
    expect(rejected).toEqual([]);
    expect(names).toEqual(read(PKCS8).names);
  });

  it.each([
    ['PKCS #7 SIGNED DATA', ['is not PKCS #7 SignedData'], []],
    ['X9.42 DH PARAMETERS', [], ['pem.passed-over']],
    ['RSA PRIVATE KEY', ['is a private key that does not contain its public key'], []],
  ])('is recognized by the label %s, and reported when empty', (label, faults, notes) => {
    const { names, warnings, rejected } = read(`-----BEGIN ${label}-----\n-----END ${label}-----\n${CERTIFICATE}`);
    expect(names).toContain('certificate files.example');
    expect(rejected.map(({ detail }) => detail)).toEqual(faults);
    expect(warnings.map(({ code }) => code)).toEqual(notes);
  });
});

describe('truncated PEM', () => {
  it('is reported, and the blocks before and after it are read', () => {
    const half = CERTIFICATE.slice(0, 300);
    for (const text of [`${CERTIFICATE}\n${half}`, `${half}\n${CERTIFICATE}`]) {
      const { names, rejected } = read(text);
      expect(names).toContain('certificate files.example');
      expect(rejected).toMatchObject([{ detail: expect.stringContaining('without an END line') }]);
    }
    expect(() => read(half)).toThrow(/begins like PEM, but its END line is missing/);
  });

  it('is read in one pass, however many times a block starts', () => {
    expect(read(`${'-----BEGIN CERTIFICATE-----\n'.repeat(10_000)}${CERTIFICATE}`).rejected).toHaveLength(10_000);
    expect(() => read('-----BEGIN CERTIFICATE-----\n'.repeat(1_000_000))).toThrow('10000');
  });
});

it.each([
  [
    'a certificate request',
    'MIHHMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGNppT48KdRNe7oSoWx+ZxgWKAeljcIiFCqmBFMeZ4sbnbh3B2r19xi9fT7y8/0fV1t0Zn7G0u3+ivJvfG73CbCgADAKBggqhkjOPQQDAgNJADBGAiEAx0cLhUyPSQ9RpGxmfxcwZLFmZWUuSlC3drSZs/Iz3m8CIQDB/OhkJxDYt6SyOqiJMLldTX7I+wBVCvCjqHmer+jU+w==',
  ],
  [
    'a CRL',
    'MIGyMFoCAQEwCgYIKoZIzj0EAwMwFTETMBEGA1UEAwwKcHkuZXhhbXBsZRcNMjYwMTAxMDAwMDAwWhcNMjYwMjAxMDAwMDAwWjAUMBICAQUXDTI2MDEwMTAwMDAwMFowCgYIKoZIzj0EAwMDSAAwRQIgfi24Bsohpttl5c6zJg/ch8H1EcuWWH/xIN+aQSGKsWUCIQDiZFJhODDxmYP4fsz3R4pt//FREZduF6QQBgdS7ovhsA==',
  ],
])('DER of %s is handled like its PEM; only a request has a key worth listing', (name, base64) => {
  const { names, rejected, warnings } = read(Buffer.from(base64, 'base64'));
  expect(rejected).toEqual([]);
  const isRequest = name === 'a certificate request';
  expect(names).toHaveLength(isRequest ? 1 : 0);
  expect(warnings).toMatchObject([{ code: isRequest ? 'request.key-listed' : 'der.passed-over' }]);
});

describe('an SSH public key', () => {
  const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';

  it('may have any characters in its comment', () => {
    expect(read(`${KEY} jörg@büro`).names).toEqual(['related-crypto-material jörg@büro']);
    expect(read(Buffer.from(`${KEY} j\u00f6rg`, 'latin1')).names).toEqual(['related-crypto-material jörg']);
  });

  it('may follow a signature algorithm name, as in sshd', () => {
    const { e = '', n = '' } = publicKey.export({ format: 'jwk' });
    const numbers = [e, `AA${n}`].map((part) => counted(Buffer.from(part, 'base64url')));
    const rsa = Buffer.concat([counted('ssh-rsa'), ...numbers]).toString('base64');
    expect(read(`restrict rsa-sha2-512 ${rsa} ops`).names).toEqual(['related-crypto-material ops']);
  });

  it('is reported when damaged or of an unsupported kind', () => {
    const { names, rejected } = read(
      `${KEY}\nssh-ed25519 AAAAbroken\nssh-xmss@openssh.com AAAAFHNzaC14bXNz\n# a comment\n`,
    );
    expect(names).toHaveLength(1);
    expect(rejected.map(({ detail }) => detail)).toEqual(['is not an SSH public key', 'is not an SSH public key']);
  });

  it('may use Ed448 (RFC 8709)', () => {
    const blob = Buffer.concat([counted('ssh-ed448'), counted(Buffer.alloc(57, 1))]).toString('base64');
    expect(read(`ssh-ed448 ${blob} ops`).names).toEqual(['related-crypto-material ops']);
  });

  const counted = (bytes: Buffer | string) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), Buffer.from(bytes)]);
  const blob = () => {
    const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    return Buffer.concat([counted('ssh-ed25519'), counted(Buffer.from(x, 'base64url'))]).toString('base64');
  };

  it.each([
    ['with a comment', 'Comment: "ops at site b"\n', 'ops at site b'],
    ['with headers that go on', 'Subject: ops\nComment: "made by \\\na long program"\nx-note: \\\nmore\n', 'made by'],
  ])('is read in RFC 4716 format, %s', (_, headers, name) => {
    const { names, rejected } = read(
      `---- BEGIN SSH2 PUBLIC KEY ----\n${headers}${blob()}\n---- END SSH2 PUBLIC KEY ----\n`,
    );
    expect(rejected).toEqual([]);
    expect(names).toEqual([expect.stringContaining(name)]);
  });
});

describe('a base64-encoded file', () => {
  it.each([
    ['a certificate without its lines of PEM', Buffer.from(CERTIFICATE.replaceAll(/-----[^-]+-----|\s/g, ''))],
    ['PEM, as a secret of Kubernetes holds it', Buffer.from(Buffer.from(CERTIFICATE).toString('base64'))],
  ])('is read: %s', (_, bytes) => {
    expect(read(bytes).names).toEqual(read(CERTIFICATE).names);
  });

  it('is not treated as a key if it is not a key file', () => {
    expect(() => read(randomBytes(300).fill(0x41, 0, 4).toString('base64'))).toThrow(
      /contains no readable certificate/,
    );
  });
});

/** Returns a JKS with one trusted certificate, followed by a digest that is keyed with the password. */
function javaKeyStore(): Buffer {
  const der = Buffer.from(CERTIFICATE.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  const number = (value: number) => Buffer.from([value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]);
  const text = (value: string) => Buffer.concat([number(value.length).subarray(2), Buffer.from(value)]);
  const entry = [number(2), text('shop'), Buffer.alloc(8), text('X.509'), number(der.length), der];
  const data = Buffer.concat([number(0xfeedfeed), number(2), number(1), ...entry]);
  const password = Buffer.from(PASSWORD, 'utf16le').swap16();
  const digest = createHash('sha1').update(password).update('Mighty Aphrodite').update(data).digest();
  return Buffer.concat([data, digest]);
}

describe('a key store file', () => {
  it('of Java is opened when followed by zeros', () => {
    const padded = Buffer.concat([javaKeyStore(), Buffer.alloc(200)]);
    expect(read(padded, PASSWORD).names).toEqual(read(javaKeyStore(), PASSWORD).names);
    expect(() => read(padded, 'another')).toThrow(/cannot be opened with this password/);
  });

  /** Output of `keytool -genseckey -keyalg AES -keysize 256 -storetype PKCS12`. */
  const SECRET_KEY = Buffer.from(
    'MIIBlwIBAzCCAUEGCSqGSIb3DQEHAaCCATIEggEuMIIBKjCCASYGCSqGSIb3DQEHAaCCARcEggETMIIBDzCCAQsGCyqGSIb3DQEMCgEFoIHDMIHABgsqhkiG9w0BDAoBAqCBsASBrTCBqjBmBgkqhkiG9w0BBQ0wWTA4BgkqhkiG9w0BBQwwKwQU1a3pSBIpMTmNNztXSq1Sw8cTTEUCAicQAgEgMAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBBTZ5NAHpyO/+Dj9Or3MoehBED/rkjXXraL2Izet6U+lYXW+m8oAdmcebreoumOCFrjPMH7MQC0xpfVuMqvZtGyn35lxYqTSXToeFyQHSmyyutcMTYwEQYJKoZIhvcNAQkUMQQeAgBzMCEGCSqGSIb3DQEJFTEUBBJUaW1lIDE3OTU3MzU1MjkwODMwTTAxMA0GCWCGSAFlAwQCAQUABCCmL1gn1Ztu5uJTwZBJiWpnFigVx0Flmu+dlyYPdiKrFQQU8O0a46tgWhBczjJ7lfdor3tPlDACAicQ',
    'base64',
  );

  it('of PKCS #12 lists algorithm and length of its secret keys with the password', () => {
    const sizes = (password?: string) => {
      const draft = readCredentialFile(SECRET_KEY, { source: 'host:/s.p12', password });
      return [...draft.assets(new DraftRefs())].flatMap(
        ({ component }) => component.cryptoProperties?.relatedCryptoMaterialProperties?.['size'] ?? [],
      );
    };
    expect(sizes(PASSWORD)).toEqual([256]);
    expect(read(SECRET_KEY, PASSWORD).warnings).toEqual([]);
    expect(sizes('another')).toEqual([]);
  });

  /** Output of `openssl pkcs12 -export -nocerts` for a P-256 key. */
  const LONELY_KEY = Buffer.from(
    'MIIBngIBAzCCAVQGCSqGSIb3DQEHAaCCAUUEggFBMIIBPTCCATkGCSqGSIb3DQEHAaCCASoEggEmMIIBIjCCAR4GCyqGSIb3DQEMCgECoIHvMIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhfo2cXvjIupAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGw3ty3FwPEqC903v2bi5KYEgZDeW4yveV47+E0YH7QZ8WUJki0XzZfo8RI8bFCBcVkB2FskoKUaWavSKXjKTLVWBE8aCfVlbn7CzeTI5TDJQlcNOHqBnmUoWkneJLvubRIR4t/F/zLSgOIqTQ3xSgtNPaHECBYt6tACcVt0waCUy/MavHZa+XQpEodTK5E0PoDlSXT0NjUQCmwpe+X3jdQzakoxHTAbBgkqhkiG9w0BCRQxDh4MAGwAbwBuAGUAbAB5MEEwMTANBglghkgBZQMEAgEFAAQgGLMfeLe3vWa2n5KM3LK+JLJJEdqsz+qj8RRsc/bFIsUECJRlyLDCx/J9AgIIAA==',
    'base64',
  );

  it('of PKCS #12 with a private key and no certificate lists the key, or the encryption that protects it', () => {
    expect(read(LONELY_KEY, PASSWORD).names).toEqual(['related-crypto-material lonely']);
    const { names, rejected } = read(LONELY_KEY, '');
    expect(names).toEqual(['related-crypto-material lonely']);
    expect(rejected).toEqual([]);
  });
});

it('the public and private half of a key are distinguished', () => {
  const { names } = read(`${String(publicKey.export({ type: 'pkcs1', format: 'pem' }))}\n${PKCS1}`);
  expect(names).toEqual([expect.stringContaining('private key'), expect.stringContaining('public key')]);
});

describe('a file damaged in transit is reported with the remedy', () => {
  const der = Buffer.from(CERTIFICATE.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const counted = (bytes: Buffer, octets: 2 | 4) => {
    const length = Buffer.alloc(octets);
    length.writeUIntBE(bytes.length, 0, octets);
    return Buffer.concat([length, bytes]);
  };
  const text = (words: string) => counted(Buffer.from(words), 2);
  /** A JKS with one trusted certificate. */
  const store = Buffer.concat([
    Buffer.from('feedfeed000000020000000100000002', 'hex'),
    text('alias'),
    Buffer.from('0000018f0a1b0a2c', 'hex'),
    text('X.509'),
    counted(der, 4),
    Buffer.alloc(20),
  ]);
  const asText = (bytes: Buffer) => Buffer.from(bytes.toString('utf8'));
  /** Converts line endings as Windows programs do. */
  const withWindowsEnds = (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replaceAll('\n', '\r\n'), 'latin1');

  it('while intact files are read', () => {
    for (const file of [store, der]) expect(read(file).names).toContain('certificate files.example');
  });

  it.each<[string, Buffer, RegExp]>([
    ['a Java key store cut short', store.subarray(0, 300), /Java key store, but was truncated/],
    ['a certificate cut short', der.subarray(0, 200), /truncated: the header declares 395 bytes, but the file has 200/],
    ['a Java key store that Maven filtered', asText(store), /treated the binary file as text/],
    ['a certificate from a terminal', asText(der), /treated the binary file as text/],
    [
      'PKCS #12 from a terminal',
      asText(Buffer.concat([Buffer.from('308209f0020103', 'hex'), randomBytes(200)])),
      /treated the binary file as text/,
    ],
    ['a Java key store with the line ends of Windows', withWindowsEnds(store), /or changed/],
  ])('%s', (_, file, words) => {
    expect(() => read(file)).toThrow(words);
  });

  it('unless it is text with replacement characters, which is read', () => {
    expect(read(`# J\uFFFDrg\uFFFDs \uFFFD\uFFFD key\n${CERTIFICATE}`).names).toContain('certificate files.example');
  });

  it('unless it was never a key file', () => {
    expect(() => read(Buffer.from('hello'))).toThrow(/contains no readable certificate/);
    for (const file of [Buffer.from('3003020101', 'hex'), '0123 of a text', '0'])
      expect(read(file).rejected).toHaveLength(1);
  });
});
