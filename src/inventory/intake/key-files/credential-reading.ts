import { X509Certificate } from 'node:crypto';
import { Problem } from '../../../platform/errors/problem.js';
import type { Draft, DraftOccurrence, Rejection, Remark } from '../../model/document.js';
import { addRejection, addRemark } from '../../model/document-remarks.js';
import { withoutSecretMembers } from '../../model/secrets.js';
import { readX509Certificate, type X509CertificateContent } from './x509-certificate.js';
import { firstElement } from '../../../formats/asn1/der-reader.js';
import { CredentialComponents } from './credential-components.js';
import { type DerivationBudget, MAX_ROUNDS } from '../../../formats/pkcs/password-encryption.js';
import { truncate } from '../../../platform/text/truncate.js';

const MAX_NAME = 500;

interface Issued {
  readonly ref: string;
  readonly certificate: X509CertificateContent;
  readonly der: Buffer;
}

/** CredentialReading collects the certificates and keys found in one body. */
export class CredentialReading {
  readonly found = new CredentialComponents();
  format = '';
  private readonly issued: Issued[] = [];
  private readonly rejected: Rejection[] = [];
  private readonly warnings: Remark[] = [];
  private items = 0;

  /**
   * @param source location of the body; undefined if the sender did not specify the location
   * @param budget key derivation rounds that may be spent on the body
   */
  constructor(
    readonly source: string | undefined,
    readonly budget: DerivationBudget,
  ) {}

  /** Adds a certificate. Trust settings that OpenSSL appends to a certificate are ignored. */
  certificate(bytes: Buffer, at: DraftOccurrence[]): X509CertificateContent | undefined {
    return this.item(() => {
      const der = firstOf(bytes);
      const certificate = readX509Certificate(der);
      this.issued.push({ ref: this.found.certificate(certificate, at), certificate, der });
      return certificate;
    }, 'is not an X.509 certificate');
  }

  /** Adds a private key in a key store, identified by the public key in its certificate. */
  storedKey(
    name: string,
    { key, fingerprint }: X509CertificateContent,
    securedBy: string | undefined,
    at: DraftOccurrence[],
  ): void {
    const title = name === '' ? `private key ${fingerprint.slice(0, 16)}` : clean(name);
    const { fingerprint: own } = key;
    this.found.privateKey({ name: truncate(title, MAX_NAME), fingerprint: own, algorithm: key, securedBy }, at);
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

  place(line: number | null, symbol: string | null): DraftOccurrence[] {
    if (this.source === undefined) return [];
    return [
      {
        location: withoutSecretMembers(this.source),
        line,
        position: null,
        symbol: symbol === null ? null : clean(symbol),
        context: null,
      },
    ];
  }

  /** Reads one item. An unreadable item is rejected without affecting the other items. */
  item<T>(read: () => T, otherwise: string): T | undefined {
    try {
      const result = read();
      this.items += 1;
      return result;
    } catch (error) {
      if (error instanceof Problem) throw error;
      this.reject(otherwise);
      return undefined;
    }
  }

  /** Reads a key store. An error rejects the whole key store. */
  whole<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw nothingHere();
    }
  }

  reject(detail: string): void {
    const index = this.items;
    this.items += 1;
    addRejection(this.rejected, { index, pointer: `/${index}`, code: 'asset.invalid', detail });
  }

  /** Counts an item that is recognized but is not listed in the inventory. */
  passOver(code: string, detail: string): void {
    this.items += 1;
    this.warn(code, detail);
  }

  warn(code: string, detail: string): void {
    addRemark(this.warnings, { pointer: '', code, detail });
  }

  /** Links certificates to their issuers in the same body. As in OpenSSL, names and key identifiers are compared. */
  private linkIssuers(): void {
    const bySubject = Map.groupBy(this.issued, ({ certificate }) => certificate.subject);
    for (const { ref, certificate, der } of this.issued)
      for (const issuer of bySubject.get(certificate.issuer)?.slice(0, 10) ?? [])
        if (issuer.ref !== ref && isIssuedBy(der, issuer.der)) this.found.issuedBy(ref, issuer.ref);
  }
}

export function clean(text: string): string {
  return withoutSecretMembers(text.replaceAll('\u0000', '')).toWellFormed();
}

export function nothingHere(): Problem {
  const detail = 'contains no readable certificate, key store, SSH key or OpenPGP key';
  return new Problem('refused', 'document.format', `The body ${detail}.`, { errors: [{ pointer: '', detail }] });
}

/** closedByPassword returns the problem for a store that cannot be opened because the password is missing or wrong. */
export function closedByPassword(password: string): Problem {
  const detail = password === '' ? 'requires a password (X-Key-Store-Password)' : 'cannot be opened with this password';
  return new Problem('refused', 'key-store.password', `The key store ${detail}.`);
}

/** tooManyRounds returns the problem for a key store that requires more key derivation rounds than are allowed for one document. */
export function tooManyRounds(): Problem {
  const detail = `requires more than ${MAX_ROUNDS.toLocaleString('en')} password hashing rounds`;
  return new Problem(
    'refused',
    'document.too-costly',
    `The key store ${detail}; save the key store again with fewer rounds.`,
    {
      errors: [{ pointer: '', detail }],
    },
  );
}

/** derivationsUsedUp returns the problem for a sender that has no key derivation rounds left for this minute. */
export function derivationsUsedUp(): Problem {
  const detail = 'You have reached the limit of password hashing rounds per minute. Send the key store again later.';
  return new Problem('overloaded', 'ingest.derivations', detail);
}

/** Returns the first DER element. If the bytes do not begin with an element, returns all bytes, which the caller then rejects. */
function firstOf(bytes: Buffer): Buffer {
  try {
    return firstElement(bytes).raw;
  } catch {
    return bytes;
  }
}

function isIssuedBy(der: Buffer, issuer: Buffer): boolean {
  try {
    return new X509Certificate(der).checkIssued(new X509Certificate(issuer));
  } catch {
    return false;
  }
}
