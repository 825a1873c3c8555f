import { Injectable } from '@nestjs/common';
import { createPublicKey } from 'node:crypto';
import type { Caller } from '../../access/caller.js';
import { EVERY_KEY } from '../../access/key-patterns.js';
import { KEY_TYPES, type KeyType } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { isRsa } from '../formats/signature-format.js';
import { keyPurposesFor } from '../keys/signing-key.entity.js';
import { type KnownKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { SigningKeysService } from '../keys/signing-keys.service.js';
import type { KeyToVerify } from '../verification/verification-subjects.js';
import { VerificationService } from '../verification/verification.service.js';
import type { FacadeOrder } from './earlier-requests.js';
import { type BatchSignature, FacadeSigning } from './facade-signing.js';
import { type BatchResult, eachOf, valueOrError } from './transit-batch.js';
import {
  assertSaltLength,
  transitDigest,
  type TransitOptions,
  transitScheme,
  type TransitSignature,
  transitSignature,
} from './transit-order.js';
import type { WeakValues } from './weak-values.js';
import { truncate } from '../../platform/text/truncate.js';

export interface TransitKey {
  readonly name: string;
  readonly type: string;
  readonly latest: number;
  readonly versions: readonly { readonly version: number; readonly publicKey: string; readonly createdAt: Date }[];
}

export interface TransitSigned {
  /** `vault:vN:` followed by the signature. */
  readonly signature: string;
  readonly version: number;
}

/** Vault's names of key types. A type that is not listed has the same name in Vault. */
const TYPE: Partial<Record<KeyType, string>> = {
  'ec-p256': 'ecdsa-p256',
  'ec-p384': 'ecdsa-p384',
  'ec-p521': 'ecdsa-p521',
};
/** Permitted names of new keys. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const MAX_LISTED = 200;
/** Maximum number of items in a verify call. An ECDSA verification takes about 10 to 40 ms. */
const MAX_VERIFIED = 100;

/** Purposes of the keys that are listed. Vault clients do not specify a purpose. */
const SERVED = keyPurposesFor(undefined);

/** KeyOfCall is the signing key that a call specifies. */
interface KeyOfCall {
  readonly name: string;
  readonly type: KeyType;
  /** Current version; 0 if the call names no version. */
  readonly current: number;
}

/** TransitService implements HashiCorp Vault's transit engine. Every signature is a regular signing request. */
@Injectable()
export class TransitService {
  constructor(
    private readonly signing: FacadeSigning,
    private readonly verification: VerificationService,
    private readonly keys: SigningKeyReader,
    private readonly made: SigningKeysService,
  ) {}

  /** Returns the names of the signing keys that the caller can use, sorted. */
  async names(caller: Caller): Promise<string[]> {
    const names: string[] = [];
    for (let cursor: string | undefined; ;) {
      const { items, nextCursor } = await this.keys.list(caller, { limit: MAX_LISTED, cursor });
      names.push(
        ...items.filter(({ purpose, state }) => SERVED.includes(purpose) && state !== 'FAILED').map(({ name }) => name),
      );
      if (nextCursor === null) return names.sort();
      cursor = nextCursor;
    }
  }

  async key(caller: Caller, name: string): Promise<TransitKey> {
    const { id, type } = await this.keys.known(caller, name);
    const versions = (await this.keys.versions(caller, id)).flatMap(({ version, publicKey, createdAt }) =>
      publicKey === null ? [] : [{ version, createdAt, publicKey: pem(publicKey) }],
    );
    const { version: latest } = await this.keys.get(caller, id);
    return { name, type: TYPE[type] ?? type, latest, versions };
  }

  /**
   * Creates a key. As in Vault, an existing key is not changed.
   *
   * @throws Problem `request.invalid` if the type cannot sign or a property is not supported, because the created key would differ from the requested
   * one
   */
  async create(caller: Caller, name: string, order: WeakValues): Promise<TransitKey> {
    const wanted = typeWanted(order);
    const type = KEY_TYPES.find((one) => (TYPE[one] ?? one) === wanted);
    if (type === undefined) throw unknownType(wanted);
    const isThere = await this.keys.known(caller, name).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Problem && error.code === 'signing-key.unknown') return false;
        throw error;
      },
    );
    if (isThere) return this.key(caller, name);
    if (!NAME.test(name)) throw refusal('/name', 'the name of a new key can contain only a-z, 0-9, ".", "_" and "-"');
    assertOffered(order);
    await this.made.create(caller, { name, type, purpose: 'signing', constraints: {} });
    return this.key(caller, name);
  }

  /** Signs one item. Throws Problem `approval.needed` (forbidden) if approval is required, because the client cannot wait. */
  async sign(caller: Caller, name: string, item: WeakValues, options: TransitOptions): Promise<TransitSigned> {
    const digest = transitDigest(item, options);
    const key = await this.keyFor(caller, name, options);
    return shownAs(await this.signing.sign(caller, orderOf(key, digest, options)), options);
  }

  /** Signs all items of a call as one batch, which shares one approval if approval is required. Returns a signature or an error for each item. */
  async signAll(
    caller: Caller,
    name: string,
    items: readonly WeakValues[],
    options: TransitOptions,
  ): Promise<BatchResult<TransitSigned>[]> {
    const key = await this.keyFor(caller, name, options);
    const checked = await eachOf(items, async (item) => ({
      order: orderOf(key, transitDigest(item, options), options),
    }));
    const orders = checked.flatMap((one) => ('order' in one ? [one.order] : []));
    const outcomes = (await this.signing.signAll(caller, orders)).values();
    return checked.map(({ reference, ...one }) => {
      if (!('order' in one)) return { ...one, reference };
      const outcome = outcomes.next().value;
      return { ...valueOrError(() => shownAs(outcome, options)), reference };
    });
  }

  /** Returns the key of a call. The current version is read only if the call names a version. */
  private async keyFor(caller: Caller, name: string, { version }: TransitOptions): Promise<KeyOfCall> {
    const { id, type } = await this.keys.known(caller, name);
    return { name, type, current: version === 0 ? 0 : (await this.keys.get(caller, id)).version };
  }

  /** Reports whether this key made the signature. As in Vault, a malformed signature is an error. */
  async verify(caller: Caller, name: string, item: WeakValues, options: TransitOptions): Promise<boolean> {
    const claim = claimOf(item, options);
    return this.holds(caller, await this.signerOf(name), claim, options);
  }

  /**
   * Verifies all items of a call, one after the other, reading the key once.
   *
   * @param isOpen whether the caller is still waiting
   */
  async verifyAll(
    caller: Caller,
    name: string,
    items: readonly WeakValues[],
    options: TransitOptions,
    isOpen: () => boolean,
  ): Promise<BatchResult<{ valid: boolean }>[]> {
    const signer = await this.signerOf(name);
    const verified = async (item: WeakValues) => ({
      valid: await this.holds(caller, signer, claimOf(item, options), options),
    });
    return eachOf(items, verified, { max: MAX_VERIFIED, atOnce: 1, isOpen });
  }

  private async signerOf(name: string): Promise<TransitSigner> {
    const signer = await this.verification.signer(name);
    return { ...signer, latest: (await this.keys.get(EVERY_KEY, signer.key.id)).version };
  }

  private async holds(
    caller: Caller,
    signer: TransitSigner,
    { digest, signature }: TransitClaim,
    options: TransitOptions,
  ): Promise<boolean> {
    const { bytes, version } = signature;
    if (version > signer.latest) throw refusal('/signature', 'invalid signature: version is too new');
    const { algorithm } = options;
    for (const one of paddingsOf(signer.key, options)) {
      const scheme = transitScheme(signer.key.type, one);
      const signed = { digest, algorithm, scheme, signature: bytes };
      if (await this.verification.isMadeBy(caller, signer, version, signed)) return true;
    }
    return false;
  }
}

function orderOf({ name, type, current }: KeyOfCall, digest: Buffer, options: TransitOptions): FacadeOrder {
  const scheme = transitScheme(type, options);
  assertSaltLength(options, scheme);
  if (options.version !== 0) assertCurrent(options, current);
  return { digest: digest.toString('base64'), algorithm: options.algorithm, key: name, scheme, metadata: {} };
}

type TransitSigner = KeyToVerify & { readonly latest: number };
interface TransitClaim {
  readonly digest: Buffer;
  readonly signature: TransitSignature;
}

function claimOf(item: WeakValues, options: TransitOptions): TransitClaim {
  const signature = transitSignature(item, options);
  return { signature, digest: transitDigest(item, options) };
}

/** Returns a signature in Vault's format. Throws the Problem of the item, or Problem `signing-key.version` if the key was rotated in the meantime. */
function shownAs(outcome: BatchSignature | Problem | undefined, options: TransitOptions): TransitSigned {
  if (outcome === undefined || outcome instanceof Problem) throw outcome ?? new Error('an order has no outcome');
  const { signature, keyVersion: version } = outcome;
  if (options.version !== 0) assertCurrent(options, version);
  const encoding = options.marshaling === 'jws' ? 'base64url' : 'base64';
  return { signature: `vault:v${version}:${signature.toString(encoding)}`, version };
}

/** Returns the options to verify with. A client that omits the padding when it verifies, as cosign does, may have signed with either padding. */
function paddingsOf({ type }: KnownKey, options: TransitOptions): TransitOptions[] {
  if (options.padding !== '' || !isRsa(type)) return [options];
  return ['pkcs1v15', 'pss'].map((padding) => ({ ...options, padding }));
}

function assertCurrent({ version }: TransitOptions, current: number): void {
  if (version === current) return;
  throw new Problem(
    'conflict',
    'signing-key.version',
    `only version ${current} of the key can sign, not version ${version}`,
  );
}

/** Returns the requested key type. Vault specifies the parameter set of ML-DSA separately from the type. */
function typeWanted(order: WeakValues): string {
  const type = order.text('type') ?? '';
  return type === 'ml-dsa' ? `ml-dsa-${order.text('parameter_set') ?? ''}` : type;
}

/** Properties of Vault keys that this service does not support. */
const NOT_OFFERED = ['exportable', 'allow_plaintext_backup', 'derived', 'convergent_encryption'];

function assertOffered(order: WeakValues): void {
  const asked = NOT_OFFERED.find((name) => order.flag(name) === true);
  if (asked !== undefined)
    throw refusal(`/${asked}`, `${asked} is not supported because private keys never leave the HSM; omit it`);
}

function unknownType(wanted: string): Problem {
  const names = KEY_TYPES.map((one) => TYPE[one] ?? one).join(', ');
  return refusal(
    '/type',
    `unsupported key type "${truncate(wanted, 40)}": this service has only signing keys, so use one of ${names}`,
  );
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'request.invalid', detail, { errors: [{ pointer, detail }] });
}

function pem(spki: Buffer): string {
  return createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }).toString();
}
