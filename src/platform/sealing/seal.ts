import { Injectable } from '@nestjs/common';
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { Config } from '../config/config.js';
import { Problem } from '../errors/problem.js';
import { type DerivedKeys, derivedKeys } from './derived-keys.js';
import { SealFormat } from './seal-format.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 8;
/**
 * Prefix of ciphertexts that identify their key. Ciphertexts of earlier versions start with a random nonce, which matches this prefix with a probability of
 * 2^-64.
 */
export const KEY_MARK = Buffer.from('sealkey1');

/**
 * Seal encrypts short-lived secrets with AES-256-GCM: `sealkey1` ‖ key ID (8 bytes) ‖ nonce (12) ‖ tag (16) ‖ ciphertext; ciphertexts of earlier versions
 * have neither prefix nor key ID. Each purpose has its own key derived from SVC_JWT_SECRET, so decryption requires both this setting and the database. A
 * ciphertext can be decrypted only for the purpose and place for which it was encrypted.
 */
@Injectable()
export class Seal {
  private readonly ids: readonly [Buffer, ...Buffer[]];

  constructor(
    private readonly config: Config,
    private readonly format: SealFormat,
  ) {
    const [present, ...earlier] = derivedKeys(config, 'sealwright seal key id');
    const idOf = (key: KeyObject) => key.export().subarray(0, KEY_ID_BYTES);
    this.ids = [idOf(present), ...earlier.map(idOf)];
  }

  /** Prefix of new ciphertexts, or undefined until ciphertexts include a key ID. */
  get prefix(): Buffer | undefined {
    return this.format.namesKeys ? Buffer.concat([KEY_MARK, this.ids[0]]) : undefined;
  }

  /** Prefixes of the ciphertexts with a key ID that this process can decrypt. */
  get knownPrefixes(): Buffer[] {
    return this.ids.map((id) => Buffer.concat([KEY_MARK, id]));
  }

  /** @param place associated data to which the ciphertext is bound, such as the ID of the row */
  close(purpose: string, place: string, plain: Buffer): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.keys(purpose)[0], nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([this.prefix ?? Buffer.alloc(0), nonce, cipher.getAuthTag(), sealed]);
  }

  /** Decrypts a ciphertext. Throws Problem `secret.not-openable` if no known secret decrypts the ciphertext for this purpose and place. */
  open(purpose: string, place: string, sealed: Buffer): Buffer {
    const at = this.knownPrefixes.findIndex((prefix) => sealed.subarray(0, prefix.length).equals(prefix));
    const keys = this.keys(purpose);
    const named = keys[at];
    const body = named === undefined ? sealed : sealed.subarray(KEY_MARK.length + KEY_ID_BYTES);
    for (const key of named === undefined ? keys : [named]) {
      const plain = opened(key, place, body);
      if (plain !== undefined) return plain;
    }
    throw notOpenable();
  }

  private keys(purpose: string): DerivedKeys {
    return derivedKeys(this.config, `sealwright seal ${purpose}`);
  }
}

function opened(key: KeyObject, place: string, sealed: Buffer): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function notOpenable(): Problem {
  const detail =
    'A stored secret cannot be decrypted, because the secret was modified or was encrypted with an SVC_JWT_SECRET that this process does not have. An operator must add the earlier secret to SVC_JWT_SECRET_PREVIOUS.';
  return new Problem('unavailable', 'secret.not-openable', detail);
}
