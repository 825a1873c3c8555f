import { randomBytes } from 'node:crypto';
import { CKA, CKK, CKM, CKO } from '../../formats/pkcs/cryptoki.js';
import { isNotAuthentic } from './pkcs11-errors.js';
import { RecentValue } from '../../platform/work/recent-value.js';
import type { TokenKey, SealOrder, UnsealOrder } from '../key-vault.js';
import { KeyProcessFault } from './key-process-fault.js';
import { allowedMechanisms } from './key-templates.js';
import { gcmMechanism, type Template } from './pkcs11-token.js';
import type { TokenChanges } from './token-changes.js';
import type { SigningParts } from './token-signer.js';

const LABEL = 'sealwright-sealing';
/** First byte of sealed bytes: AES-256-GCM, computed in the token. */
const GCM = 1;
const ID_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + ID_BYTES + NONCE_BYTES;
const AES_KEY_BYTES = 32;
const LAST_MS = 2 ** 48 - 1;
/** Interval at which keys are reloaded, because another process may have created a newer key. */
const LOOK_EVERY_MS = 60_000;

/**
 * TokenSealer encrypts and decrypts with AES keys that never leave the token. Sealed bytes identify their key: method (1 byte) ‖ CKA_ID (16) ‖ nonce
 * (12) ‖ ciphertext ‖ tag (16). Therefore, it is harmless if processes that start together on a new token each generate a sealing key.
 */
export class TokenSealer {
  private readonly parts: SigningParts;
  private readonly changes: TokenChanges;
  /** CKA_ID of the key that encrypts. All other keys are used only for decryption. */
  private readonly sealingId = new RecentValue(LOOK_EVERY_MS, () => this.findOrCreate());

  constructor(parts: SigningParts, changes: TokenChanges) {
    this.parts = parts;
    this.changes = changes;
  }

  /** Encrypts with the current sealing key. Throws KeyProcessFault, or an error from the HSM library. */
  async seal({ plain, associatedData }: SealOrder): Promise<Buffer> {
    const { token, pool, directory, limitMs } = this.parts;
    const id = await this.sealingId.get();
    const nonce = randomBytes(NONCE_BYTES);
    const sealed = await directory.withFreshHandles(keyOf(id), () =>
      pool.use(limitMs, (session) => {
        const key = directory.secretKey(keyOf(id));
        return token.encrypt(session.handle, gcmMechanism(nonce, Buffer.from(associatedData)), key, Buffer.from(plain));
      }),
    );
    return Buffer.concat([Buffer.from([GCM]), id, nonce, sealed]);
  }

  /** Decrypts sealed bytes. Throws KeyProcessFault `not-authentic` unless the bytes were sealed by this token with this associated data. */
  async unseal({ sealed, associatedData }: UnsealOrder): Promise<Buffer> {
    const { token, pool, directory, limitMs } = this.parts;
    const { id, nonce, body } = readSealed(Buffer.from(sealed));
    try {
      return await directory.withFreshHandles(keyOf(id), () =>
        pool.use(limitMs, (session) => {
          const key = directory.secretKey(keyOf(id));
          return token.decrypt(session.handle, gcmMechanism(nonce, Buffer.from(associatedData)), key, body);
        }),
      );
    } catch (error) {
      if (!isNotAuthentic(error)) throw error;
      throw new KeyProcessFault('not-authentic', 'the token did not decrypt the sealed bytes');
    }
  }

  /** Generates a sealing key and returns its CKA_ID. All processes use the new key within a minute. */
  async newKey(): Promise<Buffer> {
    const id = await this.create();
    this.sealingId.forget();
    return id;
  }

  private async findOrCreate(): Promise<Buffer> {
    const [known] = this.parts.directory.idsLabelled(CKO.SECRET_KEY, LABEL).sort((one, other) => one.compare(other));
    return known ?? (await this.create());
  }

  private create(): Promise<Buffer> {
    return this.changes.run(() => this.generate());
  }

  private async generate(): Promise<Buffer> {
    const { token, pool, directory, limitMs } = this.parts;
    if (!token.mechanisms().has(CKM.AES_GCM))
      throw new KeyProcessFault('refused', 'the token does not support AES-GCM');
    const id = newKeyId();
    const session = token.openSession(true);
    directory.noteCreation();
    try {
      await pool.use(limitMs, () => token.generateKey(session, CKM.AES_KEY_GEN, sealingKey(id)));
      return id;
    } finally {
      token.closeSession(session);
    }
  }
}

/**
 * Returns a CKA_ID that sorts before the CKA_IDs of all earlier sealing keys, because this and earlier versions encrypt with the first key. Layout: two zero
 * bytes, 2^48 − 1 minus the time in milliseconds (6 bytes), random bytes (8). Earlier versions generated random CKA_IDs.
 */
function newKeyId(): Buffer {
  const id = randomBytes(ID_BYTES);
  id.writeUInt16BE(0, 0);
  id.writeUIntBE(LAST_MS - Date.now(), 2, 6);
  return id;
}

function readSealed(sealed: Buffer): { id: Buffer; nonce: Buffer; body: Buffer } {
  if (sealed[0] !== GCM || sealed.length <= HEADER_BYTES + TAG_BYTES)
    throw new KeyProcessFault('not-authentic', 'the bytes were not sealed by this service');
  return {
    id: sealed.subarray(1, 1 + ID_BYTES),
    nonce: sealed.subarray(1 + ID_BYTES, HEADER_BYTES),
    body: sealed.subarray(HEADER_BYTES),
  };
}

/** Returns the sealing key with this CKA_ID. The label ensures that no other key is used for decryption. */
function keyOf(ckaId: Buffer): TokenKey {
  return { ckaId, labels: [LABEL] };
}

/** Returns the template for a key that never leaves the token and can only encrypt and decrypt. */
function sealingKey(id: Buffer): Template {
  const on = [CKA.TOKEN, CKA.PRIVATE, CKA.SENSITIVE, CKA.ENCRYPT, CKA.DECRYPT];
  const off = [CKA.EXTRACTABLE, CKA.WRAP, CKA.UNWRAP, CKA.SIGN, CKA.VERIFY, CKA.DERIVE];
  return [
    { type: CKA.CLASS, value: CKO.SECRET_KEY },
    { type: CKA.KEY_TYPE, value: CKK.AES },
    { type: CKA.ID, value: id },
    { type: CKA.LABEL, value: LABEL },
    { type: CKA.VALUE_LEN, value: AES_KEY_BYTES },
    ...on.map((type) => ({ type, value: true })),
    ...off.map((type) => ({ type, value: false })),
    allowedMechanisms(CKM.AES_GCM),
  ];
}
