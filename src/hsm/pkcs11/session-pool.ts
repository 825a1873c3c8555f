import { type Handle, type Pkcs11Token, SIGNATURE_BUFFER_BYTES } from './pkcs11-token.js';

/** Maximum number of public keys that a session contains as session objects. Closing the session destroys the objects. */
const PUBLIC_KEYS_PER_SESSION = 256;

/** A session used exclusively by one holder, with the public keys that were loaded into it. */
export class PooledSession {
  readonly handle: Handle;
  /** Buffer for this session's signatures. Signatures are copied before the session is reused. */
  readonly signatureBuffer = Buffer.alloc(SIGNATURE_BUFFER_BYTES);
  private readonly token: Pkcs11Token;
  private readonly publicKeys = new Map<string, Handle>();

  constructor(token: Pkcs11Token) {
    this.token = token;
    this.handle = token.openSession();
  }

  /** Returns the session object for `name`, or creates it with `create`. If the session is full, the least recently used object is destroyed. */
  publicKey(name: string, create: () => Handle): Handle {
    const known = this.publicKeys.get(name);
    if (known !== undefined) {
      this.publicKeys.delete(name);
      this.publicKeys.set(name, known);
      return known;
    }
    const [oldest] = this.publicKeys;
    if (oldest !== undefined && this.publicKeys.size >= PUBLIC_KEYS_PER_SESSION) {
      this.publicKeys.delete(oldest[0]);
      this.token.destroyObject(this.handle, oldest[1]);
    }
    const made = create();
    this.publicKeys.set(name, made);
    return made;
  }
}

interface Slot {
  session?: PooledSession;
  /** Deadline of the current call, on the clock of performance.now(); Infinity while idle. */
  dueAt: number;
}

/**
 * SessionPool lends sessions for exclusive use, because PKCS #11 allows one operation per session and does not report interleaved operations. A session is
 * closed after any failure, because an operation may still be active. Its slot opens a new session when needed.
 */
export class SessionPool {
  private readonly token: Pkcs11Token;
  private readonly slots: readonly Slot[];
  private readonly idle: Slot[];
  private readonly waiting: ((slot: Slot) => void)[] = [];

  constructor(token: Pkcs11Token, size: number) {
    this.token = token;
    this.slots = Array.from({ length: size }, () => ({ dueAt: Infinity }));
    this.idle = [...this.slots];
  }

  /** Runs `work` with exclusive use of a session. If `work` takes longer than `limitMs`, `overdue` returns true, but `work` is not interrupted. */
  async use<T>(limitMs: number, work: (session: PooledSession) => Promise<T>): Promise<T> {
    const slot = this.idle.pop() ?? (await new Promise<Slot>((resolve) => void this.waiting.push(resolve)));
    slot.dueAt = performance.now() + limitMs;
    try {
      slot.session ??= new PooledSession(this.token);
      return await work(slot.session);
    } catch (error) {
      this.discard(slot);
      throw error;
    } finally {
      slot.dueAt = Infinity;
      const next = this.waiting.shift();
      if (next) next(slot);
      else this.idle.push(slot);
    }
  }

  /** True if work is waiting for a session. */
  get crowded(): boolean {
    return this.waiting.length > 0;
  }

  /** Reports whether a call has exceeded its time limit. The process must then be replaced. */
  overdue(): boolean {
    const now = performance.now();
    return this.slots.some(({ dueAt }) => dueAt < now);
  }

  private discard(slot: Slot): void {
    if (slot.session) this.token.closeSession(slot.session.handle);
    slot.session = undefined;
  }
}
