import { createPublicKey, X509Certificate } from 'node:crypto';
import { Problem } from '../../platform/http/problem.js';
import type { Draft, DraftOccurrence } from '../ingest/draft.js';
import type { Rejection, Remark } from '../ingest/ingest-outcome.js';
import { withoutSecrets } from '../ingest/secrets.js';
import { readCertificate, type ReadCertificate } from './certificate-reader.js';
import { type DerElement, derElements, dotted } from './der-elements.js';
import { FoundAssets } from './found-assets.js';
import { isJavaKeyStore, isPasswordOf, readJavaKeyStore } from './java-key-store.js';
import { type PemBlock, pemBlocks } from './pem-blocks.js';
import { isPkcs12, readPkcs12 } from './pkcs12-store.js';
import { describePublicKey, describeSpki, readPrivateKey } from './private-key-reader.js';
import { readSshPublicKey, sshKeyLine } from './ssh-public-key.js';
import { truncate } from '../../platform/text/truncate.js';

export interface CredentialOptions {
  /** Where it lay, and what it stands for: a file on a host. */
  readonly source: string | undefined;
  /** Of a key store. */
  readonly password: string | undefined;
}

interface Issued {
  readonly ref: string;
  readonly certificate: ReadCertificate;
  readonly der: Buffer;
}

/**
 * Reads certificates and keys: PEM, DER, PKCS #7, PKCS #12, JKS, JCEKS, and SSH keys as authorized_keys, known_hosts and .pub files
 * have them. Of a private key only its public half is told.
 *
 * @throws Problem 422 `document.format` when there is nothing of that, `key-store.password`, `key-store.cipher`.
 */
export function readCredentials(bytes: Buffer, { source, password = '' }: CredentialOptions): Draft {
  const reading = new CredentialReading(source);
  if (isJavaKeyStore(bytes)) reading.javaKeyStore(bytes, password);
  else if (isPkcs12(bytes)) reading.pkcs12(bytes, password);
  else if (bytes[0] === 0x30) reading.der(bytes);
  else reading.text(bytes.toString('latin1'));
  return reading.draft();
}

class CredentialReading {
  private readonly found = new FoundAssets();
  private readonly issued: Issued[] = [];
  private readonly rejected: Rejection[] = [];
  private readonly warnings: Remark[] = [];
  private format = '';
  private items = 0;

  constructor(private readonly source: string | undefined) {}

  javaKeyStore(bytes: Buffer, password: string): void {
    if (password !== '' && !isPasswordOf(bytes, password))
      throw new Problem('refused', 'key-store.password', 'The key store is not opened by this password.');
    const { type, entries, unread } = this.whole(() => readJavaKeyStore(bytes));
    this.format = type;
    for (const { alias, isKey, certificates } of entries) {
      const at = this.place(null, alias);
      const [own] = certificates.map((der) => this.certificate(der, at));
      if (isKey && own !== undefined) this.storedKey(alias, own, type, at);
    }
    if (unread > 0) this.warn('key-store.secret-keys', `${unread} entries from the first secret key on were not read`);
  }

  pkcs12(bytes: Buffer, password: string): void {
    this.format = 'PKCS #12';
    const { certificates, keys } = this.whole(() => readPkcs12(bytes, password));
    const byKeyId = new Map<string | undefined, ReadCertificate | undefined>();
    for (const { der, keyId } of certificates) {
      const read = this.certificate(der, this.place(null, null));
      if (keyId !== undefined) byKeyId.set(keyId, read);
    }
    for (const { name, keyId, securedBy } of keys) {
      const own = byKeyId.get(keyId);
      if (own === undefined) this.reject('holds a private key without its certificate');
      else this.storedKey(name ?? '', own, securedBy, this.place(null, name ?? null));
    }
  }

  der(bytes: Buffer): void {
    this.format = 'DER';
    const signed = signedCertificates(bytes);
    if (signed !== undefined) for (const der of signed) this.certificate(der, this.place(null, null));
    else this.certificate(bytes, this.place(null, null));
  }

  text(text: string): void {
    const blocks = pemBlocks(text);
    this.format = blocks.length > 0 ? 'PEM' : 'SSH keys';
    for (const block of blocks) this.block(block);
    if (blocks.length > 0) return;
    text.split('\n').forEach((line, index) => {
      const key = sshKeyLine(line.trim());
      if (key === undefined) return;
      const at = this.place(index + 1, null);
      this.item(() => this.found.publicKey(readSshPublicKey(key.blob, clean(key.comment)), at), 'is no SSH public key');
    });
  }

  draft(): Draft {
    if (this.items === 0) throw nothingHere();
    this.linkIssuers();
    const assets = [...this.found.assets.values()];
    return {
      format: this.format,
      serialNumber: null,
      version: null,
      time: null,
      source: undefined,
      whole: true,
      assets: () => assets,
      received: assets.length + this.rejected.length,
      ignored: 0,
      rejected: this.rejected,
      repairs: [],
      warnings: this.warnings,
    };
  }

  private block(block: PemBlock): void {
    const at = this.place(block.line, null);
    const { label, bytes, text } = block;
    if (/^(?:X509 |TRUSTED )?CERTIFICATE$/.test(label)) this.certificate(bytes, at);
    else if (label === 'PKCS7' || label === 'CMS')
      for (const der of signedCertificates(bytes) ?? []) this.certificate(der, at);
    else if (label.endsWith('PRIVATE KEY'))
      this.item(
        () => this.found.privateKey(readPrivateKey(block), at),
        'is a private key that does not tell which one it is',
      );
    else if (label.endsWith('PUBLIC KEY')) this.item(() => this.publicKey(label, bytes, text, at), 'is no public key');
    else this.reject(`is a PEM block of a kind that is not taken: ${label.slice(0, 60)}`);
  }

  private publicKey(label: string, bytes: Buffer, text: string, at: DraftOccurrence[]): void {
    if (label === 'SSH2 PUBLIC KEY') return void this.found.publicKey(readSshPublicKey(bytes, ''), at);
    const { algorithm, fingerprint } =
      label === 'PUBLIC KEY' ? describeSpki(bytes) : describePublicKey(createPublicKey(text));
    this.found.publicKey(
      { name: `public key ${fingerprint.slice(0, 16)}`, fingerprint, algorithm, format: 'X.509' },
      at,
    );
  }

  private certificate(der: Buffer, at: DraftOccurrence[]): ReadCertificate | undefined {
    return this.item(() => {
      const certificate = readCertificate(der);
      this.issued.push({ ref: this.found.certificate(certificate, at), certificate, der });
      return certificate;
    }, 'is no X.509 certificate');
  }

  private storedKey(
    name: string,
    { key, fingerprint }: ReadCertificate,
    securedBy: string | undefined,
    at: DraftOccurrence[],
  ) {
    const title = name === '' ? `private key ${fingerprint.slice(0, 16)}` : clean(name);
    this.found.privateKey({ name: truncate(title, 500), fingerprint: key.fingerprint, algorithm: key, securedBy }, at);
  }

  /** Within what was sent: by the names and key identifiers, as OpenSSL matches them. */
  private linkIssuers(): void {
    const bySubject = Map.groupBy(this.issued, ({ certificate }) => certificate.subject);
    for (const { ref, certificate, der } of this.issued)
      for (const issuer of bySubject.get(certificate.issuer)?.slice(0, 10) ?? [])
        if (issuer.ref !== ref && isIssuedBy(der, issuer.der)) this.found.issuedBy(ref, issuer.ref);
  }

  private place(line: number | null, symbol: string | null): DraftOccurrence[] {
    if (this.source === undefined) return [];
    return [
      {
        location: withoutSecrets(this.source),
        line,
        position: null,
        symbol: symbol === null ? null : clean(symbol),
        context: null,
      },
    ];
  }

  private item<T>(read: () => T, otherwise: string): T | undefined {
    try {
      const result = read();
      this.items += 1;
      return result;
    } catch {
      this.reject(otherwise);
      return undefined;
    }
  }

  /** A store is read as a whole or not at all. */
  private whole<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw nothingHere();
    }
  }

  private reject(detail: string): void {
    const index = this.items;
    this.items += 1;
    this.rejected.push({ index, pointer: `/${index}`, code: 'asset.invalid', detail });
  }

  private warn(code: string, detail: string): void {
    this.warnings.push({ pointer: '', code, detail });
  }
}

function clean(text: string): string {
  return withoutSecrets(text.replaceAll('\u0000', '')).toWellFormed();
}

function nothingHere(): Problem {
  const detail = 'holds no certificate, key store or SSH key that can be read';
  return new Problem('refused', 'document.format', `The body ${detail}.`, { errors: [{ pointer: '', detail }] });
}

function isIssuedBy(der: Buffer, issuer: Buffer): boolean {
  try {
    return new X509Certificate(der).checkIssued(new X509Certificate(issuer));
  } catch {
    return false;
  }
}

const SIGNED_DATA = '1.2.840.113549.1.7.2';
const IMPLICIT_CERTIFICATES = 0xa0;

/** The certificates of a PKCS #7 or CMS SignedData (RFC 5652 section 5.1), byte for byte; undefined when it is something else. */
function signedCertificates(bytes: Buffer): Buffer[] | undefined {
  try {
    const [type, content] = inside(derElements(bytes)[0]);
    if (type === undefined || dotted(type.contents) !== SIGNED_DATA) return undefined;
    const [signedData] = inside(content);
    const certificates = inside(signedData).find(({ tag }) => tag === IMPLICIT_CERTIFICATES);
    return inside(certificates).map(({ raw }) => raw);
  } catch {
    return undefined;
  }
}

function inside(element: DerElement | undefined): DerElement[] {
  return element === undefined ? [] : derElements(element.contents);
}
