import { Injectable } from '@nestjs/common';
import { X509Certificate } from 'node:crypto';
import { DataSource } from 'typeorm';
import type { Caller } from '../../auth/caller.js';
import type { KeyType, SignatureScheme } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/http/problem.js';
import { schemeOfFormat } from '../formats/format-writers.js';
import type { SignatureFormat } from '../formats/signature-format.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { digestAlgorithm, digestBytes, schemeFor } from '../requests/signing-order.js';
import { type ShownRequest, SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { TimestampClient } from '../timestamping/timestamp-client.js';
import type { SignedFile } from './signature-claim.js';

export interface VerificationOrder {
  /** Takes digest, algorithm, scheme, format and key from this request, and its signature unless another is sent. */
  readonly requestId?: string;
  /** Base64 of the hash value. */
  readonly digest?: string;
  readonly algorithm: string;
  readonly scheme?: SignatureScheme;
  readonly format: SignatureFormat;
  readonly key?: string;
  readonly version?: number;
  readonly signature?: Buffer;
  readonly timestamp?: Buffer;
}

export interface VersionToVerify {
  readonly version: number;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  /** Of its certificate on record, that of the key first; empty without one. */
  readonly chain: readonly X509Certificate[];
}

export interface Subject {
  readonly file: SignedFile;
  readonly format: SignatureFormat;
  readonly key: { readonly id: string; readonly name: string; readonly type: KeyType };
  /** Newest first. */
  readonly versions: readonly VersionToVerify[];
  readonly timestampToken?: Buffer;
}

type Version = Omit<VersionToVerify, 'chain'> & { readonly chain: Buffer[] | null };

/** Finds what a signature is to be verified with. */
@Injectable()
export class VerificationSubjects {
  constructor(
    private readonly db: DataSource,
    private readonly requests: SigningRequestsReader,
    private readonly keys: SigningKeyReader,
    private readonly timestamps: TimestampClient,
  ) {}

  async of(caller: Caller, order: VerificationOrder): Promise<Subject> {
    return order.requestId === undefined
      ? this.ofKey(order)
      : this.ofRequest(order, await this.requests.find(caller, order.requestId));
  }

  /** Roots of timestamps: those of our own authority, then and now, and those that are trusted from outside. */
  async timestampRoots(): Promise<X509Certificate[]> {
    const rows: { root: Buffer }[] = await this.db.query(
      `SELECT DISTINCT chain[cardinality(chain)] AS root FROM certificate WHERE key_id IS NOT NULL AND 'time-stamping' = ANY(purposes)`,
    );
    return [...this.timestamps.roots, ...rows.map(({ root }) => new X509Certificate(root))];
  }

  private async ofKey(order: VerificationOrder): Promise<Subject> {
    const key = await this.keys.known(order.key);
    const algorithm = digestAlgorithm(order.algorithm);
    const digest = digestBytes(order.digest ?? '', algorithm);
    if (order.signature === undefined) throw missing('/signature', 'send the signature that is to be verified');
    const { format } = order;
    const scheme =
      format === 'raw' ? schemeFor(key.type, order.scheme) : schemeOfFormat(format, key.type, order.scheme);
    return {
      file: { digest, algorithm, scheme, signature: order.signature },
      format,
      key,
      versions: await this.versionsOf(key.id, order.version),
      timestampToken: order.timestamp,
    };
  }

  private async ofRequest(order: VerificationOrder, request: ShownRequest): Promise<Subject> {
    const { digest, algorithm, scheme, format, keyId, keyVersion } = request;
    const signature = order.signature ?? request.signature;
    if (signature === null) throw missing('/requestId', 'the request is not signed; send the signature');
    if (order.digest !== undefined && !digest.equals(digestBytes(order.digest, algorithm)))
      throw missing('/digest', 'is not that of the request');
    return {
      file: { digest, algorithm, scheme, signature, message: await this.messageOf(request) },
      format,
      key: await this.keys.known(keyId),
      versions: await this.versionsOf(keyId, keyVersion),
      timestampToken: order.timestamp ?? request.timestampToken ?? undefined,
    };
  }

  /** What ML-DSA signed in place of the digest, in a request that the service composed. */
  private async messageOf({ id, composed, scheme }: ShownRequest): Promise<Buffer | undefined> {
    if (!composed || scheme !== 'ml-dsa') return undefined;
    const rows: { toBeSigned: Buffer | null }[] = await this.db.query(
      `SELECT to_be_signed AS "toBeSigned" FROM signing_envelope WHERE request_id = $1`,
      [id],
    );
    return rows[0]?.toBeSigned ?? undefined;
  }

  private async versionsOf(keyId: string, version: number | undefined): Promise<VersionToVerify[]> {
    const rows: Version[] = await this.db.query(
      `SELECT v.version, v.public_key AS "publicKey", c.chain FROM signing_key_version v
       LEFT JOIN LATERAL (SELECT chain FROM certificate WHERE key_id = v.key_id AND key_version = v.version ORDER BY id DESC LIMIT 1) c ON true
       WHERE v.key_id = $1 AND ($2::int IS NULL OR v.version = $2) AND v.public_key IS NOT NULL ORDER BY v.version DESC`,
      [keyId, version ?? null],
    );
    return rows.map((row) => ({ ...row, chain: (row.chain ?? []).map((der) => new X509Certificate(der)) }));
  }
}

function missing(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'verify.incomplete', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
