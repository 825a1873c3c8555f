import { CKA, CKO, isStaleHandle } from './cryptoki.js';
import type { Handle, Pkcs11Token } from './pkcs11-token.js';
import { KeyProcessFault } from './key-process-fault.js';

const HANDLES_KEPT = 10_000;

/** Finds private and secret keys by CKA_ID and remembers their handles, which count for the whole process. */
export class KeyDirectory {
  private readonly token: Pkcs11Token;
  private readonly session: Handle;
  private readonly handles = new Map<string, Handle>();
  private created = false;

  /** `session` is used for searches alone, each of which ends before it returns. */
  constructor(token: Pkcs11Token, session: Handle) {
    this.token = token;
    this.session = session;
  }

  /**
   * To be called when this process created token objects. SoftHSM then believes to have seen what other processes
   * created at the same time, and does not see it until something else changes: a key that seems missing has to be
   * looked for by a new process, which has created nothing yet.
   */
  noteCreation(): void {
    this.created = true;
  }

  /** Throws KeyProcessFault `key-missing` (see also noteCreation), or `refused` when the CKA_ID is not unique. */
  privateKey(ckaId: Buffer): Handle {
    return this.known(ckaId) ?? this.lookUp(CKO.privateKey, ckaId);
  }

  /** Throws as `privateKey` does. */
  secretKey(ckaId: Buffer): Handle {
    return this.known(ckaId) ?? this.lookUp(CKO.secretKey, ckaId);
  }

  /** Does `once`, and again with a handle that was looked up anew when the token no longer knows the one that was kept. */
  async withFreshHandles<T>(ckaId: Buffer, once: () => Promise<T>): Promise<T> {
    try {
      return await once();
    } catch (error) {
      if (!isStaleHandle(error)) throw error;
    }
    this.handles.delete(nameOf(ckaId));
    try {
      return await once();
    } catch (error) {
      if (!isStaleHandle(error)) throw error;
      throw new KeyProcessFault('unavailable', 'the token no longer accepts the handles of its keys', true);
    }
  }

  private known(ckaId: Buffer): Handle | undefined {
    return this.handles.get(nameOf(ckaId));
  }

  private lookUp(objectClass: number, ckaId: Buffer): Handle {
    const found = this.token.find(this.session, objectClass, ckaId);
    const [handle] = found;
    if (handle === undefined) throw this.missing();
    if (found.length > 1) throw new KeyProcessFault('refused', `the token holds ${found.length} keys of this id`);
    if (this.handles.size >= HANDLES_KEPT) this.handles.clear();
    this.handles.set(nameOf(ckaId), handle);
    return handle;
  }

  /** Throws KeyProcessFault, which replaces the process, when there may be keys that this process cannot see (see noteCreation). */
  assertSeesAll(): void {
    if (this.created) throw this.missing();
  }

  /** The key is gone from the token. */
  forget(ckaId: Buffer): void {
    this.handles.delete(nameOf(ckaId));
  }

  private missing(): KeyProcessFault {
    return this.created
      ? new KeyProcessFault('unseen', 'a key was not seen by the process that created another', true)
      : new KeyProcessFault('key-missing', 'the token holds no such key');
  }

  all(objectClass: number, ckaId: Buffer): Handle[] {
    return this.token.find(this.session, objectClass, ckaId);
  }

  /** CKA_ID of each object of a class with this CKA_LABEL. */
  idsLabelled(objectClass: number, label: string): Buffer[] {
    return this.token
      .findLabelled(this.session, objectClass, label)
      .map((object) => this.token.attribute(this.session, object, CKA.id));
  }

  attribute(object: Handle, type: number): Buffer {
    return this.token.attribute(this.session, object, type);
  }
}

function nameOf(ckaId: Buffer): string {
  return ckaId.toString('latin1');
}
