import { Injectable } from '@nestjs/common';
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Config } from '../config/config.js';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts small secrets for the database: AES-256-GCM, nonce ‖ tag ‖ ciphertext. Each purpose has a key of its own, derived
 * from SVC_JWT_SECRET with HKDF (RFC 5869), so that setting and the database together are enough to read them; a copy of the database
 * alone is not enough. What is sealed for one purpose and place cannot be opened as another.
 */
@Injectable()
export class Seal {
  constructor(private readonly config: Config) {}

  /** `place` is bound to the ciphertext, for example the id of the row. */
  close(purpose: string, place: string, plain: Buffer): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.key(purpose), nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /** Throws when the bytes, the purpose or the place are not those of `close`, or the secret is another. */
  open(purpose: string, place: string, sealed: Buffer): Buffer {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.key(purpose), nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place)).setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  }

  private key(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.config.jwtSecret, '', `sealwright seal ${purpose}`, 32));
  }
}
