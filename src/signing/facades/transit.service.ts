import { Injectable } from '@nestjs/common';
import { createHash, createPublicKey } from 'node:crypto';
import type { Caller } from '../../auth/caller.js';
import { isMlDsa, type KeyType, type SignatureScheme } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/http/problem.js';
import { needsApproval } from '../approval/needs-approval.js';
import { isRsa } from '../formats/signature-format.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { digestAlgorithm } from '../requests/signing-order.js';
import { SigningService } from '../requests/signing.service.js';
import { VerificationService } from '../verification/verification.service.js';

export interface TransitOrder {
  /** Base64 of the hash value with `prehashed`, else of what is to be hashed. */
  readonly input: string;
  readonly prehashed: boolean;
  readonly hash: string;
  readonly padding: 'pss' | 'pkcs1v15' | undefined;
  readonly marshaling: 'asn1' | 'jws' | undefined;
  /** 0 is the newest. */
  readonly version: number;
}

export interface TransitKey {
  readonly name: string;
  readonly type: string;
  readonly latest: number;
  readonly versions: readonly { readonly version: number; readonly publicKey: string; readonly createdAt: Date }[];
}

const SIGNATURE = /^vault:v(\d{1,9}):([A-Za-z0-9+/_-]+={0,2})$/;
/** Names of Vault for types of key; what it has no name for is not offered. */
const TYPE: Partial<Record<KeyType, string>> = {
  'rsa-2048': 'rsa-2048',
  'rsa-3072': 'rsa-3072',
  'rsa-4096': 'rsa-4096',
  'ec-p256': 'ecdsa-p256',
  'ec-p384': 'ecdsa-p384',
  'ec-p521': 'ecdsa-p521',
};

/** What clients of the transit engine of HashiCorp Vault call. Every signature is a signing request like any other. */
@Injectable()
export class TransitService {
  constructor(
    private readonly signing: SigningService,
    private readonly verification: VerificationService,
    private readonly keys: SigningKeyReader,
  ) {}

  async key(name: string): Promise<TransitKey> {
    const { id, type } = await this.keys.known(name);
    const versions = (await this.keys.versions(id)).flatMap(({ version, publicKey, createdAt }) =>
      publicKey === null ? [] : [{ version, createdAt, publicKey: pem(publicKey) }],
    );
    const { version: latest } = await this.keys.get(id);
    return { name, type: TYPE[type] ?? type, latest, versions };
  }

  /** `vault:vN:` and the signature. Problem `approval.needed` (forbidden) when people are asked first: the client cannot wait. */
  async sign(caller: Caller, name: string, order: TransitOrder): Promise<{ signature: string; version: number }> {
    const { id, type } = await this.keys.known(name);
    if (order.version !== 0) assertCurrent(order, (await this.keys.get(id)).version);
    const request = await this.signing.submit(caller, {
      digest: digestOf(order).toString('base64'),
      algorithm: order.hash,
      key: name,
      scheme: schemeOf(type, order),
      format: 'raw',
      timestamp: false,
      metadata: {},
      reference: null,
      background: false,
    });
    if (request.signature === null) throw needsApproval(request.id);
    // The key may have been rotated since.
    if (order.version !== 0) assertCurrent(order, request.keyVersion);
    const encoding = order.marshaling === 'jws' ? 'base64url' : 'base64';
    return {
      signature: `vault:v${request.keyVersion}:${request.signature.toString(encoding)}`,
      version: request.keyVersion,
    };
  }

  /** A client that names no padding to verify, as cosign's does not, may have named either to sign. */
  async verify(caller: Caller, name: string, order: TransitOrder, signature: string): Promise<boolean> {
    const [, version, encoded] = SIGNATURE.exec(signature) ?? [];
    if (version === undefined || encoded === undefined) return false;
    const { type } = await this.keys.known(name);
    const paddings = order.padding === undefined && isRsa(type) ? (['pkcs1v15', 'pss'] as const) : [order.padding];
    for (const padding of paddings) {
      const verification = await this.verification.verify(caller, {
        digest: digestOf(order).toString('base64'),
        algorithm: order.hash,
        key: name,
        version: Number(version),
        scheme: schemeOf(type, { ...order, padding }),
        format: 'raw',
        // Reads base64url as well.
        signature: Buffer.from(encoded, 'base64'),
      });
      if (verification.checks.some(({ check, ok }) => check === 'signature' && ok)) return true;
    }
    return false;
  }
}

function assertCurrent({ version }: TransitOrder, current: number): void {
  if (version === current) return;
  throw new Problem('conflict', 'signing-key.version', `Only version ${current} of the key signs.`);
}

function digestOf({ input, prehashed, hash }: TransitOrder): Buffer {
  const bytes = Buffer.from(input, 'base64');
  return prehashed ? bytes : createHash(digestAlgorithm(hash)).update(bytes).digest();
}

/** PSS is Vault's default for RSA keys, and so it is here; clients that want PKCS #1 v1.5 say so. */
function schemeOf(type: KeyType, { padding, marshaling }: TransitOrder): SignatureScheme {
  if (isMlDsa(type)) return 'ml-dsa';
  if (isRsa(type)) return padding === 'pkcs1v15' ? 'rsa-pkcs1v15' : 'rsa-pss';
  return marshaling === 'jws' ? 'ecdsa-raw' : 'ecdsa-der';
}

function pem(spki: Buffer): string {
  return createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }).toString();
}
