import { CKA, CKO } from '../../formats/pkcs/cryptoki.js';
import { isStaleHandle } from './pkcs11-errors.js';
import type { Handle, Pkcs11Token } from './pkcs11-token.js';
import type { HeldKey, TokenKey, KeyType, KeyIdentity } from '../key-vault.js';
import { KeyProcessFault } from './key-process-fault.js';
import { isCurve } from '../signatures/ecdsa.js';
import { ecPublicKeyInfo, rsaPublicKeyInfo } from '../signatures/spki.js';

const HANDLES_KEPT = 10_000;

/**
 * KeyDirectory finds private and secret keys by CKA_ID and CKA_LABEL, and caches their handles, which are valid for the whole process. A CKA_ID alone
 * does not identify a key, because CKA_IDs come from the database, which may have been tampered with.
 */
export class KeyDirectory {
  private readonly token: Pkcs11Token;
  private readonly session: Handle;
  private readonly handles = new Map<string, Handle>();
  private created = false;

  /** `session` is used only for searches. Each method finishes its search before it returns. */
  constructor(token: Pkcs11Token, session: Handle) {
    this.token = token;
    this.session = session;
  }

  /**
   * Records that this process has created token objects. SoftHSM may then miss objects that other processes created at the same time, until another object
   * changes. If a key seems to be missing, a new process that has not created any objects must search for the key.
   */
  noteCreation(): void {
    this.created = true;
  }

  /**
   * Returns the handle of a private key. Throws KeyProcessFault `key-missing` (see also noteCreation), `other-key` if the object with this CKA_ID has a
   * different label, or `refused` if several objects match both attributes.
   */
  privateKey(key: TokenKey): Handle {
    return this.known(key) ?? this.lookUp(CKO.PRIVATE_KEY, key);
  }

  /** Returns the handle of a secret key. Throws the same faults as `privateKey`. */
  secretKey(key: TokenKey): Handle {
    return this.known(key) ?? this.lookUp(CKO.SECRET_KEY, key);
  }

  /** Runs `once`. If the cached handle has become invalid, runs `once` again with a new handle. */
  async withFreshHandles<T>(key: TokenKey, once: () => Promise<T>): Promise<T> {
    try {
      return await once();
    } catch (error) {
      if (!isStaleHandle(error)) throw error;
    }
    this.handles.delete(nameOf(key));
    try {
      return await once();
    } catch (error) {
      if (!isStaleHandle(error)) throw error;
      throw new KeyProcessFault('unavailable', 'the token no longer accepts the handles of its keys', true);
    }
  }

  private known(key: TokenKey): Handle | undefined {
    return this.handles.get(nameOf(key));
  }

  private lookUp(objectClass: number, key: TokenKey): Handle {
    const found = this.all(objectClass, key);
    const [handle] = found;
    if (handle === undefined) throw this.absence(objectClass, key);
    if (found.length > 1)
      throw new KeyProcessFault('refused', `the token contains ${found.length} keys with this ID and label`);
    if (this.handles.size >= HANDLES_KEPT) this.handles.clear();
    this.handles.set(nameOf(key), handle);
    return handle;
  }

  private absence(objectClass: number, { ckaId, labels }: TokenKey): KeyProcessFault {
    const [other] = this.withId(objectClass, ckaId);
    if (other === undefined) return this.missing();
    const label = this.attribute(other, CKA.LABEL).toString();
    return new KeyProcessFault('other-key', `its label is "${label}", not "${labels[0]}"`);
  }

  /** Throws KeyProcessFault, which causes the process to be replaced, if this process may be unable to see all keys (see noteCreation). */
  assertSeesAll(): void {
    if (this.created) throw this.missing();
  }

  /** Removes the cached handle of a key that the token no longer contains. */
  forget(key: TokenKey): void {
    this.handles.delete(nameOf(key));
  }

  private missing(): KeyProcessFault {
    return this.created
      ? new KeyProcessFault('unseen', 'a key created by another process was not found')
      : new KeyProcessFault('key-missing', 'the token does not contain the key');
  }

  /** Returns the objects of a class with this CKA_ID and one of these labels. */
  all(objectClass: number, { ckaId, labels }: TokenKey): Handle[] {
    return this.withId(objectClass, ckaId).filter((object) =>
      labels.includes(this.attribute(object, CKA.LABEL).toString()),
    );
  }

  /** Returns all objects of a class with this CKA_ID, including objects of other applications. */
  withId(objectClass: number, ckaId: Buffer): Handle[] {
    return this.token.find(this.session, objectClass, ckaId);
  }

  /** Returns the objects of a class with this CKA_LABEL. */
  labelled(objectClass: number, label: string): Handle[] {
    return this.token.findLabelled(this.session, objectClass, label);
  }

  /** Returns the private and secret keys of this service, recognized by the prefix of their labels. With `wanted`, returns only the keys with this label. */
  holdings(wanted?: string): HeldKey[] {
    const keys = [CKO.PRIVATE_KEY, CKO.SECRET_KEY].flatMap((objectClass) =>
      this.token.findAll(this.session, objectClass, wanted),
    );
    // After creating a key, a process might not see keys created by other processes, so an empty result is not reliable.
    if (keys.length === 0) this.assertSeesAll();
    return keys
      .map((object) => ({ label: this.attribute(object, CKA.LABEL).toString(), object }))
      .filter(({ label }) => label.startsWith(LABEL_STEM))
      .map(({ label, object }) => ({ label, ckaId: this.attribute(object, CKA.ID) }));
  }

  /** Returns the CKA_ID of each object of a class with this CKA_LABEL. */
  idsLabelled(objectClass: number, label: string): Buffer[] {
    return this.labelled(objectClass, label).map((object) => this.attribute(object, CKA.ID));
  }

  attribute(object: Handle, type: number): Buffer {
    return this.token.attribute(this.session, object, type);
  }
}

function nameOf({ ckaId, labels }: TokenKey): string {
  return `${labels[0]}\0${ckaId.toString('latin1')}`;
}

/** Returns the SubjectPublicKeyInfo of a public key object in the token. */
export function publicKeyInfoOf(directory: KeyDirectory, object: Handle, type: KeyType): Buffer {
  if (isCurve(type)) return ecPublicKeyInfo(type, directory.attribute(object, CKA.EC_POINT));
  return rsaPublicKeyInfo(directory.attribute(object, CKA.MODULUS), directory.attribute(object, CKA.PUBLIC_EXPONENT));
}

/** Prefix of every CKA_LABEL of this service. */
const LABEL_STEM = 'sealwright';
/** CKA_LABEL of the audit log's key. */
export const LOG_LABEL = 'sealwright-log';

const SIGNING_OWNER = /^([a-z0-9][a-z0-9._-]{0,62} v\d{1,9}) [0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the CKA_LABELs of a key, current label first. Keys with different purposes or owners never share a label, because owners have a fixed form. In
 * earlier versions, the label of a signing key contained only its name and version.
 *
 * @throws KeyProcessFault `refused` if the owner does not have the required form
 */
export function labelsOf({ purpose, owner }: KeyIdentity): readonly [string, ...string[]] {
  if (purpose === 'ssh-ca' || purpose === 'ssh-key') {
    if (!UUID.test(owner)) throw malformed();
    return [purpose === 'ssh-ca' ? `sealwright ssh ca ${owner}` : `sealwright ssh ${owner}`];
  }
  const nameAndVersion = SIGNING_OWNER.exec(owner)?.[1];
  if (nameAndVersion === undefined) throw malformed();
  return [`sealwright ${purpose} ${owner}`, `sealwright ${nameAndVersion}`];
}

function malformed(): KeyProcessFault {
  return new KeyProcessFault('refused', 'the order does not name the owner of the key');
}
