import { randomBytes } from 'node:crypto';
import { CKA, CKO } from '../../formats/pkcs/cryptoki.js';
import { type KeyDirectory, publicKeyInfoOf } from './key-directory.js';
import type {
  KeyIdentity,
  TokenKey,
  GeneratedKey,
  KeyEvidence,
  KeyType,
  SignatureScheme,
  TokenKeyType,
} from '../key-vault.js';
import { KeyProcessFault } from './key-process-fault.js';
import { generationPlan } from './key-templates.js';
import type { Handle, KeyPair } from './pkcs11-token.js';
import { padsSha3, type SigningParts, type TokenSigner } from './token-signer.js';

/**
 * Time limit for key generation, as a multiple of the limit for signing. Key generation takes one to two orders of magnitude longer than signing, in hardware
 * and in software.
 */
const SIGNING_LIMITS = 12;

export interface GenerateOrder {
  readonly ckaId: Buffer;
  readonly identity: KeyIdentity;
  readonly type: KeyType;
}

export interface TokenGenerateOrder extends TokenKey {
  readonly type: TokenKeyType;
  /** The digest that the key pair signs as a test. */
  readonly trial?: Buffer;
}

/** TokenGenerator generates key pairs in the token, tests them, and reads the attributes that the token reports. */
export class TokenGenerator {
  private readonly parts: SigningParts;
  private readonly signer: TokenSigner;

  constructor(parts: SigningParts, signer: TokenSigner) {
    this.parts = parts;
    this.signer = signer;
  }

  /**
   * Generates a key pair. If the token does not confirm that the private key was generated in the token and cannot be extracted, the key pair is destroyed.
   *
   * @throws KeyProcessFault `refused` without this confirmation, or if the CKA_ID is in use
   */
  async generate(order: TokenGenerateOrder): Promise<GeneratedKey> {
    const { token, pool, directory, limitMs } = this.parts;
    const taken = [CKO.PRIVATE_KEY, CKO.PUBLIC_KEY].some((kind) => directory.withId(kind, order.ckaId).length > 0);
    if (taken) throw new KeyProcessFault('refused', 'the token already contains a key with this ID');
    const plan = generationPlan({ ...order, label: order.labels[0], rawRsa: !padsSha3(token) });
    const session = token.openSession(true);
    directory.noteCreation();
    try {
      const pair = await pool.use(limitMs * SIGNING_LIMITS, () =>
        token.generateKeyPair(session, plan.mechanism, plan.publicKey, plan.privateKey),
      );
      return await this.vouched(order, session, pair);
    } finally {
      token.closeSession(session);
    }
  }

  private async vouched(order: TokenGenerateOrder, session: Handle, pair: KeyPair): Promise<GeneratedKey> {
    try {
      const publicKey = publicKeyInfoOf(this.parts.directory, pair.publicKey, order.type);
      const evidence = this.evidenceOf(pair.privateKey);
      const { local, sensitive, extractable, alwaysSensitive, neverExtractable } = evidence;
      if (!local || !sensitive || extractable || !alwaysSensitive || !neverExtractable) {
        throw new KeyProcessFault(
          'refused',
          'the token does not confirm that the private key was generated on it and is not extractable',
        );
      }
      const scheme: SignatureScheme = order.type.startsWith('rsa-') ? 'rsa-pkcs1v15' : 'ecdsa-raw';
      const digest = order.trial ?? randomBytes(32);
      await this.signer.signWith({ key: { ...order, publicKey }, scheme, algorithm: 'sha256', digest });
      return { publicKey, evidence };
    } catch (error) {
      this.destroy(session, pair);
      throw error;
    }
  }

  /** Destroys a new key pair. The handles come from key generation, so no other key can be affected. */
  private destroy(session: Handle, pair: KeyPair): void {
    for (const object of [pair.privateKey, pair.publicKey]) {
      try {
        this.parts.token.destroyObject(session, object);
      } catch {
        // The original error is reported. A key pair that could not be destroyed signs nothing, because no database row refers to it.
      }
    }
  }

  private evidenceOf(privateKey: Handle): KeyEvidence {
    const { token, directory } = this.parts;
    const flag = (attribute: number): boolean => flagOf(directory, privateKey, attribute);
    return {
      tokenLabel: token.identity.label,
      tokenSerial: token.identity.serial,
      tokenModel: token.identity.model,
      local: flag(CKA.LOCAL),
      sensitive: flag(CKA.SENSITIVE),
      extractable: flag(CKA.EXTRACTABLE),
      alwaysSensitive: flag(CKA.ALWAYS_SENSITIVE),
      neverExtractable: flag(CKA.NEVER_EXTRACTABLE),
    };
  }
}

function flagOf(directory: KeyDirectory, object: Handle, attribute: number): boolean {
  const value = directory.attribute(object, attribute);
  if (value.length !== 1) throw new KeyProcessFault('refused', 'the token returned a flag that is not a single byte');
  return value[0] !== 0;
}
