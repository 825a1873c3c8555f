import { CKF, CKR, CKS } from '../../../formats/pkcs/cryptoki.js';
import type { SigningOperation } from './mechanisms.js';
import { CryptokiFault } from './rpc-message.js';

/** Maximum number of open sessions per program. Tools open only a few. */
const MAX_SESSIONS = 128;

/** CryptokiSession is a session of a program, with at most one search and one signing operation at a time. */
export class CryptokiSession {
  /** Object handles that the search has not returned yet. */
  search: number[] | undefined;
  operation: SigningOperation | undefined;
  /** Whether data was passed with C_SignUpdate. If so, C_Sign is no longer allowed. */
  inParts = false;
  /** Aborts the pending signature. */
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

  /** Runs `work` with a signal that is aborted when the session is cancelled or closed. */
  async waitFor<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const waiting = new AbortController();
    this.waiting = waiting;
    try {
      return await work(waiting.signal);
    } finally {
      this.waiting = undefined;
    }
  }

  /** Ends the current operation and abandons a pending signature. */
  cancel(): void {
    this.operation = undefined;
    this.search = undefined;
    this.waiting?.abort(new CryptokiFault(CKR.FUNCTION_CANCELED));
  }
}

/** CryptokiSessions manages the sessions of one program and its login state. */
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
    // PKCS #11 section 5.6: closing the last session logs the program out.
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
