import { Injectable } from '@nestjs/common';
import { X509Certificate } from 'node:crypto';
import { DataSource } from 'typeorm';
import { EVERY_KEY } from '../../access/key-patterns.js';
import type { Caller } from '../../access/caller.js';
import type { SignatureScheme } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { schemeOfFormat } from '../formats/format-writers.js';
import type { SignatureFormat } from '../formats/signature-format.js';
import { keyPurposesFor } from '../keys/signing-key.entity.js';
import { type KnownKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { digestAlgorithm, digestBytes, schemeFor } from '../requests/sign-request-validator.js';
import { type ShownRequest, SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { TimestampClient } from '../timestamping/timestamp-client.js';
import type { FileToVerify } from './signature-readers.js';

export interface VerificationOrder {
  /** Request that provides digest, algorithm, scheme, format and key, and also the signature unless the order contains a signature. */
  readonly requestId?: string;
  /** Base64-encoded hash value. */
  readonly digest?: string;
  /** Defaults to SHA-256. */
  readonly algorithm?: string;
  readonly scheme?: SignatureScheme;
  /** Defaults to `raw`. */
  readonly format?: SignatureFormat;
  readonly key?: string;
  readonly version?: number;
  readonly signature?: Buffer;
  readonly timestamp?: Buffer;
}

export interface VersionToVerify {
  readonly version: number;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  /** Creation time of the version, which the OpenPGP fingerprint covers. */
  readonly madeAt: Date;
  /** Chains of the onboarded certificates, newest first. Each chain starts with the key's certificate. */
  readonly chains: readonly (readonly X509Certificate[])[];
}

/** A key that may have made the signature, with its scheme and format. */
export interface CandidateSigner {
  readonly key: KnownKey;
  readonly scheme: SignatureScheme;
  /** Newest first. */
  readonly versions: readonly VersionToVerify[];
}

/** A key with the public keys of its versions. */
export interface KeyToVerify {
  readonly key: KnownKey;
  readonly versions: readonly Omit<VersionToVerify, 'chains'>[];
}

export interface Subject {
  readonly file: Omit<FileToVerify, 'scheme'>;
  readonly format: SignatureFormat;
  readonly signers: readonly [CandidateSigner, ...CandidateSigner[]];
  /** The key that the caller specified, directly or through a request; otherwise the configured key. */
  readonly wanted: KnownKey;
  readonly isNamed: boolean;
  readonly timestampToken?: Buffer;
}

type Version = Omit<VersionToVerify, 'chains'> & { readonly keyId: string };
interface OnboardedChain {
  readonly keyId: string;
  readonly version: number;
  readonly chain: Buffer[];
}

/** Maximum number of onboarded certificates per key version that are compared with a message. */
const MAX_CERTIFICATES = 100;
/** Maximum number of signing keys considered for one digest. */
const MAX_SIGNERS = 100;

/** VerificationSubjects finds the keys and certificates with which a signature is verified. Every caller can verify signatures made by any key. */
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
      ? this.ofFile(order)
      : this.ofRequest(order, await this.requests.find(caller, order.requestId));
  }

  /** Returns the root certificates for timestamps: current and earlier roots of the service's own authority, and the trusted roots of external authorities. */
  async timestampRoots(): Promise<X509Certificate[]> {
    const rows: { root: Buffer }[] = await this.db.query(
      `SELECT DISTINCT chain[cardinality(chain)] AS root FROM certificate WHERE key_id IS NOT NULL AND 'time-stamping' = ANY(purposes)`,
    );
    return [...this.timestamps.roots, ...rows.map(({ root }) => new X509Certificate(root))];
  }

  async signer(nameOrId: string): Promise<KeyToVerify> {
    const key = await this.keys.known(EVERY_KEY, nameOrId);
    return { key, versions: await this.publicKeysOf([key.id], undefined) };
  }

  private async ofFile(order: VerificationOrder): Promise<Subject> {
    const algorithm = digestAlgorithm(order.algorithm ?? 'sha256');
    const digest = digestBytes(order.digest ?? '', algorithm);
    const { format = 'raw', signature, timestamp: timestampToken } = order;
    if (signature === undefined) throw missing('/signature', 'is required: send the signature to verify');
    const [first, ...others] = order.key === undefined ? await this.signersOf(digest, order) : [];
    const file = { digest, algorithm, signature };
    const isNamed = order.key !== undefined;
    const wanted = await this.keys.known(EVERY_KEY, order.key);
    return { file, format, signers: [first ?? (await this.named(order)), ...others], wanted, isNamed, timestampToken };
  }

  private async named({
    key: nameOrId,
    format = 'raw',
    scheme: asked,
    version,
  }: VerificationOrder): Promise<CandidateSigner> {
    const key = await this.keys.known(EVERY_KEY, nameOrId);
    const scheme = format === 'raw' ? schemeFor(key.type, asked) : schemeOfFormat(format, key.type, asked);
    return { key, scheme, versions: await this.versionsOf([key.id], version) };
  }

  /**
   * Returns the keys that signed this digest, regardless of the number of requests, so that the caller does not have to specify the key. A key for a purpose
   * other than code or documents must be specified, because its signature over a digest proves nothing about a file.
   */
  private async signersOf(digest: Buffer, { scheme, version, format }: VerificationOrder): Promise<CandidateSigner[]> {
    const rows: (KnownKey & { scheme: SignatureScheme })[] = await this.db.query(
      `SELECT k.id, k.name, k.type, r.scheme FROM (
         SELECT DISTINCT key_id, scheme FROM signing_request
         WHERE digest = $1 AND status = 'SIGNED' AND NOT composed AND ($2::text IS NULL OR scheme = $2)) r
       JOIN signing_key k ON k.id = r.key_id AND k.purpose = ANY($3) ORDER BY k.id LIMIT ${MAX_SIGNERS}`,
      [digest, scheme ?? null, keyPurposesFor(format === 'openpgp' ? 'openpgp' : undefined)],
    );
    const versions = await this.versionsOf([...new Set(rows.map(({ id }) => id))], version);
    return rows.map(({ scheme: used, ...key }) => ({
      key,
      scheme: used,
      versions: versions.filter(({ keyId }) => keyId === key.id),
    }));
  }

  private async ofRequest(order: VerificationOrder, request: ShownRequest): Promise<Subject> {
    const { digest, algorithm, scheme, format, keyId, keyVersion } = request;
    const signature = order.signature ?? request.signature;
    if (signature === null)
      throw missing('/requestId', 'the signing request has no signature yet; send the signature in `signature`');
    await this.assertConsistent(order, request);
    const signer = {
      key: await this.keys.known(EVERY_KEY, keyId),
      scheme,
      versions: await this.versionsOf([keyId], keyVersion),
    };
    const { message, hashedPart } = await this.envelopeOf(request);
    return {
      file: { digest, algorithm, signature, message, hashedPart },
      format,
      signers: [signer],
      wanted: signer.key,
      isNamed: true,
      timestampToken: order.timestamp ?? request.timestampToken ?? undefined,
    };
  }

  /** Rejects an order whose digest, key, version, algorithm, format or scheme differs from the request. */
  private async assertConsistent(order: VerificationOrder, request: ShownRequest): Promise<void> {
    const { digest, algorithm, keyId } = request;
    const isOtherKey = order.key !== undefined && (await this.keys.known(EVERY_KEY, order.key)).id !== keyId;
    const isOtherDigest = order.digest !== undefined && !digest.equals(digestBytes(order.digest, algorithm));
    const differing = [
      ...(isOtherDigest ? ['digest'] : []),
      ...(isOtherKey ? ['key'] : []),
      ...(differs(order.version, request.keyVersion) ? ['version'] : []),
      ...(['algorithm', 'format', 'scheme'] as const).filter((name) => differs(order[name], request[name])),
    ];
    const [first] = differing;
    if (first !== undefined) throw missing(`/${first}`, 'differs from the request; omit it to verify the request');
  }

  /**
   * Returns the data that the key signed in addition to the digest: the ML-DSA message of a request that the service composed, and the hashed part of
   * OpenPGP.
   */
  private async envelopeOf(request: ShownRequest): Promise<Pick<FileToVerify, 'message' | 'hashedPart'>> {
    const { id, composed, scheme, format } = request;
    const [isMessage, isOpenPgp] = [composed && scheme === 'ml-dsa', format === 'openpgp'];
    if (!isMessage && !isOpenPgp) return {};
    const [row]: { toBeSigned: Buffer | null; content: Buffer | null }[] = await this.db.query(
      `SELECT to_be_signed AS "toBeSigned", content FROM signing_envelope WHERE request_id = $1`,
      [id],
    );
    return {
      message: isMessage ? (row?.toBeSigned ?? undefined) : undefined,
      hashedPart: isOpenPgp ? (row?.content ?? undefined) : undefined,
    };
  }

  private publicKeysOf(keyIds: readonly string[], version: number | undefined): Promise<Version[]> {
    return this.db.query(
      `SELECT v.key_id AS "keyId", v.version, v.public_key AS "publicKey", v.created_at AS "madeAt" FROM signing_key_version v
       WHERE v.key_id = ANY($1) AND ($2::int IS NULL OR v.version = $2) AND v.public_key IS NOT NULL ORDER BY v.version DESC`,
      [keyIds, version ?? null],
    );
  }

  private async versionsOf(keyIds: readonly string[], version: number | undefined) {
    const rows = await this.publicKeysOf(keyIds, version);
    const chains = await this.chainsOf(keyIds);
    return rows.map((row) => ({
      ...row,
      chains: chains
        .filter(({ keyId, version: certified }) => keyId === row.keyId && certified === row.version)
        .map(({ chain }) => chain.map((der) => new X509Certificate(der))),
    }));
  }

  /** Returns the newest certificates of each version. A signature may be older than the current certificate. */
  private async chainsOf(keyIds: readonly string[]): Promise<OnboardedChain[]> {
    return this.db.query(
      `SELECT c.key_id AS "keyId", c.key_version AS version, c.chain FROM signing_key_version v
       CROSS JOIN LATERAL (SELECT key_id, key_version, chain FROM certificate WHERE key_id = v.key_id AND key_version = v.version
         ORDER BY id DESC LIMIT ${MAX_CERTIFICATES}) c
       WHERE v.key_id = ANY($1) ORDER BY v.version DESC`,
      [keyIds],
    );
  }
}

function differs<Value>(asked: Value | undefined, known: Value): boolean {
  return asked !== undefined && asked !== known;
}

function missing(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'verify.incomplete', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
