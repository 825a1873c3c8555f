import { CKO } from './cryptoki.js';
import type { Handle, Pkcs11Token } from './pkcs11-token.js';
import { KeyProcessFault } from './key-process-fault.js';

const HANDLES_KEPT = 10_000;

/** Finds private keys by CKA_ID and remembers their handles, which count for the whole process. */
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
    const name = ckaId.toString('latin1');
    const known = this.handles.get(name);
    if (known !== undefined) return known;
    const found = this.token.find(this.session, CKO.privateKey, ckaId);
    const [handle] = found;
    if (handle === undefined) throw this.missing();
    if (found.length > 1)
      throw new KeyProcessFault('refused', `the token holds ${found.length} private keys of this id`);
    if (this.handles.size >= HANDLES_KEPT) this.handles.clear();
    this.handles.set(name, handle);
    return handle;
  }

  private missing(): KeyProcessFault {
    return this.created
      ? new KeyProcessFault('unavailable', 'a key was not seen by the process that created another', true)
      : new KeyProcessFault('key-missing', 'the token holds no such private key');
  }

  forget(ckaId: Buffer): void {
    this.handles.delete(ckaId.toString('latin1'));
  }

  all(objectClass: number, ckaId: Buffer): Handle[] {
    return this.token.find(this.session, objectClass, ckaId);
  }

  attribute(object: Handle, type: number): Buffer {
    return this.token.attribute(this.session, object, type);
  }
}
