import { setTimeout as sleep } from 'node:timers/promises';
import pkcs11js from 'pkcs11js';
import { CKA, CKM, CKR } from '../../formats/pkcs/cryptoki.js';
import { ckrOf } from './pkcs11-errors.js';

/** CK_OBJECT_HANDLE or CK_SESSION_HANDLE, as returned by the library. */
export type Handle = Buffer;
export type Mechanism = pkcs11js.Mechanism;
export type Template = pkcs11js.Template;
export type KeyPair = pkcs11js.KeyPair;

export interface TokenIdentity {
  readonly label: string;
  readonly serial: string;
  readonly model: string;
  /** Maximum number of sessions per process; undefined if the token has no limit or does not report a limit. */
  readonly maxSessions?: number;
}

/** Smallest value that counts as unknown. CK_UNAVAILABLE_INFORMATION is all ones (4 or 8 bytes, rounded by the conversion); CK_EFFECTIVELY_INFINITE is 0. */
const UNKNOWN_COUNT = 0xffffffff;
/** Size of signature buffers. The longest supported signatures (RSA-4096) have 512 bytes. */
export const SIGNATURE_BUFFER_BYTES = 1024;
const GCM_TAG_BYTES = 16;
const FIND_AT_MOST = 64;
/** When another process logs in, SoftHSM rewrites the token file, which then cannot be read for a few milliseconds. */
const OPEN_ATTEMPTS = 8;
const OPEN_PAUSE_MS = 40;

/**
 * Pkcs11Token is the only caller of the HSM library. Locking uses the primitives of the operating system (CKF_OS_LOCKING_OK), because without them concurrent
 * calls crash SoftHSM. Signing, verification and key generation run on libuv's threads through the `…Async` calls, which keep their buffers alive. C_Finalize
 * and C_Logout are never called, because they crash while calls are in progress. A library that has lost its token recovers only in a new process.
 */
export class Pkcs11Token {
  private readonly library: pkcs11js.PKCS11;
  private readonly slot: Handle;
  readonly identity: TokenIdentity;

  private constructor(library: pkcs11js.PKCS11, slot: Handle, identity: TokenIdentity) {
    this.library = library;
    this.slot = slot;
    this.identity = identity;
  }

  /** Loads the module and finds the token by its label, because slot IDs can change. Throws if no token or several tokens have the label. */
  static async open(modulePath: string, label: string): Promise<Pkcs11Token> {
    const library = new pkcs11js.PKCS11();
    library.load(modulePath);
    library.C_Initialize({ flags: pkcs11js.CKF_OS_LOCKING_OK });
    for (let attempt = 1; ; attempt += 1) {
      try {
        return Pkcs11Token.locate(library, label);
      } catch (error) {
        if (ckrOf(error) !== CKR.GENERAL_ERROR || attempt === OPEN_ATTEMPTS) throw error;
        await sleep(OPEN_PAUSE_MS * (0.5 + Math.random()));
      }
    }
  }

  private static locate(library: pkcs11js.PKCS11, label: string): Pkcs11Token {
    const named = library
      .C_GetSlotList(true)
      .map((slot) => ({ slot, identity: identify(library, slot) }))
      .filter(({ identity }) => identity.label === label);
    const [found] = named;
    if (found === undefined) throw new Error(`no token has the label "${label}"`);
    if (named.length > 1) throw new Error(`${named.length} tokens have the label "${label}"`);
    return new Pkcs11Token(library, found.slot, found.identity);
  }

  /** Logs in as the user (C_Login). The login applies to the whole process. */
  login(session: Handle, pin: string): void {
    try {
      this.library.C_Login(session, pkcs11js.CKU_USER, pin);
    } catch (error) {
      if (ckrOf(error) !== CKR.USER_ALREADY_LOGGED_IN) throw error;
    }
  }

  /** Asserts that the token is present. Unlike C_GetSessionInfo, C_GetTokenInfo fails if the token was removed. */
  assertPresent(): void {
    this.library.C_GetTokenInfo(this.slot);
  }

  openSession(readWrite = false): Handle {
    const flags = pkcs11js.CKF_SERIAL_SESSION | (readWrite ? pkcs11js.CKF_RW_SESSION : 0);
    return this.library.C_OpenSession(this.slot, flags);
  }

  /** Closes a session. Never throws: the caller may have another error to report, and a session that cannot be closed is already lost. */
  closeSession(session: Handle): void {
    try {
      this.library.C_CloseSession(session);
    } catch {
      // A lost session causes an error in the next call that needs it.
    }
  }

  /** Returns the mechanisms (CKM_…) that the token supports. */
  mechanisms(): ReadonlySet<number> {
    return new Set(this.library.C_GetMechanismList(this.slot));
  }

  /** Returns the objects of a class (CKO_…) with this CKA_ID, at most 64. */
  find(session: Handle, objectClass: number, id: Buffer): Handle[] {
    return this.search(session, [
      { type: CKA.CLASS, value: objectClass },
      { type: CKA.ID, value: id },
    ]);
  }

  /** Returns the objects of a class with this CKA_LABEL, at most 64. */
  findLabelled(session: Handle, objectClass: number, label: string): Handle[] {
    return this.search(session, [
      { type: CKA.CLASS, value: objectClass },
      { type: CKA.LABEL, value: label },
    ]);
  }

  /** Returns all objects of a class (CKO_…), or only the objects with this CKA_LABEL. */
  findAll(session: Handle, objectClass: number, label?: string): Handle[] {
    const found: Handle[] = [];
    const labelled = label === undefined ? [] : [{ type: CKA.LABEL, value: label }];
    this.library.C_FindObjectsInit(session, [{ type: CKA.CLASS, value: objectClass }, ...labelled]);
    try {
      for (;;) {
        const more = this.library.C_FindObjects(session, FIND_AT_MOST);
        found.push(...more);
        if (more.length < FIND_AT_MOST) return found;
      }
    } finally {
      this.library.C_FindObjectsFinal(session);
    }
  }

  private search(session: Handle, template: Template): Handle[] {
    this.library.C_FindObjectsInit(session, template);
    try {
      return this.library.C_FindObjects(session, FIND_AT_MOST);
    } finally {
      this.library.C_FindObjectsFinal(session);
    }
  }

  /** Reads one attribute. Attributes are read separately, because one attribute that the token does not reveal would make the whole call fail. */
  attribute(session: Handle, object: Handle, type: number): Buffer {
    const [attribute] = this.library.C_GetAttributeValue(session, object, [{ type }]);
    if (!Buffer.isBuffer(attribute?.value))
      throw new Error(`the token returned no value for attribute 0x${type.toString(16)}`);
    return attribute.value;
  }

  createObject(session: Handle, template: Template): Handle {
    return this.library.C_CreateObject(session, template);
  }

  destroyObject(session: Handle, object: Handle): void {
    this.library.C_DestroyObject(session, object);
  }

  generateKeyPair(session: Handle, mechanism: number, publicKey: Template, privateKey: Template): Promise<KeyPair> {
    return this.library.C_GenerateKeyPairAsync(session, { mechanism }, publicKey, privateKey);
  }

  generateKey(session: Handle, mechanism: number, template: Template): Promise<Handle> {
    return this.library.C_GenerateKeyAsync(session, { mechanism }, template);
  }

  /** Calls C_EncryptInit and C_Encrypt. The mechanism must not add more than a GCM tag. */
  encrypt(session: Handle, mechanism: Mechanism, key: Handle, plain: Buffer): Promise<Buffer> {
    this.library.C_EncryptInit(session, mechanism, key);
    return this.library.C_EncryptAsync(session, plain, Buffer.alloc(plain.length + GCM_TAG_BYTES));
  }

  /** Calls C_DecryptInit and C_Decrypt. */
  decrypt(session: Handle, mechanism: Mechanism, key: Handle, sealed: Buffer): Promise<Buffer> {
    this.library.C_DecryptInit(session, mechanism, key);
    return this.library.C_DecryptAsync(session, sealed, Buffer.alloc(sealed.length));
  }

  /**
   * Calls C_SignInit and C_Sign. The caller has exclusive use of the session and discards the session on any error. The signature is a view into `buffer`,
   * which must be SIGNATURE_BUFFER_BYTES long.
   */
  sign(session: Handle, mechanism: Mechanism, key: Handle, data: Buffer, buffer: Buffer): Promise<Buffer> {
    this.library.C_SignInit(session, mechanism, key);
    return this.library.C_SignAsync(session, data, buffer);
  }

  /** Calls C_VerifyInit and C_Verify. Rejects with CKR_SIGNATURE_INVALID or CKR_SIGNATURE_LEN_RANGE if the signature is invalid. */
  async verify(session: Handle, mechanism: Mechanism, key: Handle, data: Buffer, signature: Buffer): Promise<void> {
    this.library.C_VerifyInit(session, mechanism, key);
    await this.library.C_VerifyAsync(session, data, signature);
  }
}

/** Returns CKM_RSA_PKCS_PSS with CK_RSA_PKCS_PSS_PARAMS: the CKM_ of the digest, the CKG_MGF1_ of the mask, and the salt length in bytes. */
export function pssMechanism(hashAlg: number, mgf: number, saltLen: number): Mechanism {
  return {
    mechanism: CKM.RSA_PKCS_PSS,
    parameter: { type: pkcs11js.CK_PARAMS_RSA_PSS, hashAlg, mgf, saltLen } as RsaPssParameter,
  };
}

type RsaPssParameter = pkcs11js.IParams & { hashAlg: number; mgf: number; saltLen: number };

/** Returns CKM_AES_GCM with CK_GCM_PARAMS: a 96-bit nonce and a 128-bit tag. */
export function gcmMechanism(iv: Buffer, aad: Buffer): Mechanism {
  const parameter = { type: pkcs11js.CK_PARAMS_GCM, iv, ivBits: iv.length * 8, aad, tagBits: GCM_TAG_BYTES * 8 };
  return { mechanism: CKM.AES_GCM, parameter };
}

function identify(library: pkcs11js.PKCS11, slot: Handle): TokenIdentity {
  const info = library.C_GetTokenInfo(slot);
  const maxSessions =
    info.maxSessionCount > 0 && info.maxSessionCount < UNKNOWN_COUNT ? info.maxSessionCount : undefined;
  return { label: info.label.trim(), serial: info.serialNumber.trim(), model: info.model.trim(), maxSessions };
}
