import { CKF, CKR, CKS } from '../../../formats/pkcs11/cryptoki.js';
import type { SigningOperation } from './mechanisms.js';
import { CryptokiFault } from './rpc-message.js';

/** Open sessions of one program; tools open a few. */
const MAX_SESSIONS = 128;

/** A session of a program: one search and one signing operation at a time. */
export class CryptokiSession {
  /** Handles that a search has not answered yet. */
  search: number[] | undefined;
  operation: SigningOperation | undefined;
  /** Whether data arrived by C_SignUpdate: then C_Sign is out of order. */
  inParts = false;
  /** A signature that is being waited for. */
  private waiting: AbortController | undefined;

  constructor(readonly flags: number) {}

  get isReadWrite(): boolean {
    return (this.flags & CKF.RW_SESSION) !== 0;
  }

  begin(operation: SigningOperation): void {
    if (this.operation !== undefined || this.waiting !== undefined) throw new CryptokiFault(CKR.OPERATION_ACTIVE);
    this.operation = operation;
    this.inParts = false;
  }

  active(): SigningOperation {
    if (this.operation === undefined) throw new CryptokiFault(CKR.OPERATION_NOT_INITIALIZED);
    return this.operation;
  }

  /** Does `work` under a signal that closing the session aborts. */
  async waitFor<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const waiting = new AbortController();
    this.waiting = waiting;
    try {
      return await work(waiting.signal);
    } finally {
      this.waiting = undefined;
    }
  }

  /** Ends the operation; a signature that is being waited for is given up. */
  cancel(): void {
    this.operation = undefined;
    this.search = undefined;
    this.waiting?.abort(new CryptokiFault(CKR.FUNCTION_CANCELED));
  }
}

/** The sessions of one program, and whether it has logged in. */
export class CryptokiSessions {
  private readonly open = new Map<number, CryptokiSession>();
  private last = 0;
  isLoggedIn = false;

  get count(): number {
    return this.open.size;
  }

  get readWriteCount(): number {
    return [...this.open.values()].filter(({ isReadWrite }) => isReadWrite).length;
  }

  add(flags: number): number {
    if ((flags & CKF.SERIAL_SESSION) === 0) throw new CryptokiFault(CKR.SESSION_PARALLEL_NOT_SUPPORTED);
    if (this.open.size >= MAX_SESSIONS) throw new CryptokiFault(CKR.SESSION_COUNT);
    this.last += 1;
    this.open.set(this.last, new CryptokiSession(flags));
    return this.last;
  }

  get(handle: number): CryptokiSession {
    const session = this.open.get(handle);
    if (session === undefined) throw new CryptokiFault(CKR.SESSION_HANDLE_INVALID);
    return session;
  }

  close(handle: number): void {
    this.get(handle).cancel();
    this.open.delete(handle);
    // PKCS #11 section 5.6: the last session that is closed logs out.
    if (this.open.size === 0) this.isLoggedIn = false;
  }

  closeAll(): void {
    for (const session of this.open.values()) session.cancel();
    this.open.clear();
    this.isLoggedIn = false;
  }

  stateOf({ isReadWrite }: CryptokiSession): number {
    if (isReadWrite) return this.isLoggedIn ? CKS.RW_USER : CKS.RW_PUBLIC;
    return this.isLoggedIn ? CKS.RO_USER : CKS.RO_PUBLIC;
  }
}
