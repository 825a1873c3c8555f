import { randomBytes } from 'node:crypto';
import type { AgentKey } from '../signer/agent-keys.js';
import type { SignatureOrder, SignatureResult } from '../signer/remote-signer.js';
import { CKF, CKR, CKU_USER } from '../../../formats/pkcs/cryptoki.js';
import { SigningOperation } from './mechanisms.js';
import { type CryptokiSession, CryptokiSessions } from './sessions.js';
import { TokenObjects, valueOf } from './token-objects.js';
import { CryptokiFault, type ReturnValue, type Room, type RpcAttribute, type RpcMechanism } from './rpc-message.js';

/** TokenSource provides the keys of a token, signs digests, and determines how the token presents itself. */
export interface TokenSource {
  keys(): Promise<readonly AgentKey[]>;
  sign(order: Omit<SignatureOrder, 'purpose'>): Promise<SignatureResult>;
  /** Prints to the terminal a message that the tool itself would not print. */
  note(line: string): void;
  /**
   * Whether the token requires a PIN. Some programs sign only with tokens that require a PIN. Any PIN is accepted, because the socket is the security boundary.
   */
  readonly asksForPin: boolean;
}

export const SLOT = 0;
const MAX_RANDOM_BYTES = 64 << 10;

/** CK_RV for each unsuccessful result of a signing request. */
const CODES: Readonly<Record<Exclude<SignatureResult['kind'], 'signed'>, ReturnValue>> = {
  rejected: CKR.FUNCTION_REJECTED,
  expired: CKR.FUNCTION_REJECTED,
  pending: CKR.FUNCTION_CANCELED,
  withdrawn: CKR.FUNCTION_CANCELED,
  refused: CKR.KEY_FUNCTION_NOT_PERMITTED,
  unavailable: CKR.DEVICE_ERROR,
};

interface TokenInfo {
  readonly flags: number;
  readonly sessions: number;
  readonly readWriteSessions: number;
}

/** Token is one program's view of a token, with the program's sessions and operations. The methods are the functions of PKCS #11 and throw CryptokiFault. */
export class Token {
  readonly sessions = new CryptokiSessions();
  private objects: TokenObjects | undefined;
  private isClosed = false;

  constructor(private readonly source: TokenSource) {}

  async initialize(): Promise<void> {
    const keys = await this.source.keys().catch(() => {
      throw new CryptokiFault(CKR.DEVICE_ERROR);
    });
    this.objects = new TokenObjects(keys);
  }

  /** Implements C_Finalize, and is also called when the program ends. Abandons pending signatures. */
  finalize(): void {
    this.sessions.closeAll();
    this.objects = undefined;
  }

  /** Closes the token after the program has disconnected. */
  close(): void {
    this.isClosed = true;
    this.finalize();
  }

  info(slot: number): TokenInfo {
    this.assertSlot(slot);
    const login = this.source.asksForPin ? CKF.LOGIN_REQUIRED : 0;
    const flags = CKF.RNG | CKF.WRITE_PROTECTED | CKF.TOKEN_INITIALIZED | CKF.USER_PIN_INITIALIZED | login;
    return { flags, sessions: this.sessions.count, readWriteSessions: this.sessions.readWriteCount };
  }

  mechanisms(slot: number): readonly number[] {
    this.assertSlot(slot);
    return this.content.mechanisms;
  }

  assertMechanism(slot: number, type: number): void {
    if (!this.mechanisms(slot).includes(type)) throw new CryptokiFault(CKR.MECHANISM_INVALID);
  }

  assertSlot(slot: number): void {
    if (slot !== SLOT) throw new CryptokiFault(CKR.SLOT_ID_INVALID);
    void this.content;
  }

  openSession(slot: number, flags: number): number {
    this.assertSlot(slot);
    // Programs request read-write sessions even if they do not write to the token. The session is opened, but every write is rejected.
    return this.sessions.add(flags);
  }

  closeAllSessions(slot: number): void {
    this.assertSlot(slot);
    this.sessions.closeAll();
  }

  login(handle: number, user: number): void {
    this.sessions.get(handle);
    if (user !== CKU_USER) throw new CryptokiFault(CKR.USER_TYPE_INVALID);
    if (this.sessions.isLoggedIn) throw new CryptokiFault(CKR.USER_ALREADY_LOGGED_IN);
    this.sessions.isLoggedIn = true;
  }

  logout(handle: number): void {
    this.sessions.get(handle);
    if (!this.sessions.isLoggedIn) throw new CryptokiFault(CKR.USER_NOT_LOGGED_IN);
    this.sessions.isLoggedIn = false;
  }

  attributes(handle: number, object: number, rooms: readonly { type: number; size: number }[]): AttributeAnswer {
    this.sessions.get(handle);
    const found = this.content.get(object);
    let code: ReturnValue = CKR.OK;
    const values = rooms.map(({ type, size }): RpcAttribute => {
      const answer = valueOf(found, type);
      // Reports the last error. PKCS #11 section 5.7 does not define which error takes precedence.
      if (answer.code !== CKR.OK) code = answer.code;
      else if (size > 0 && answer.value !== undefined && answer.value.length > size) code = CKR.BUFFER_TOO_SMALL;
      return { type, value: answer.value };
    });
    return { values, code };
  }

  findInit(handle: number, template: readonly RpcAttribute[]): void {
    const session = this.sessions.get(handle);
    if (session.search !== undefined) throw new CryptokiFault(CKR.OPERATION_ACTIVE);
    session.search = this.content.find(template);
  }

  find(handle: number, { size }: Room): number[] {
    const session = this.sessions.get(handle);
    if (session.search === undefined) throw new CryptokiFault(CKR.OPERATION_NOT_INITIALIZED);
    return session.search.splice(0, size);
  }

  findFinal(handle: number): void {
    const session = this.sessions.get(handle);
    if (session.search === undefined) throw new CryptokiFault(CKR.OPERATION_NOT_INITIALIZED);
    session.search = undefined;
  }

  signInit(handle: number, mechanism: RpcMechanism, object: number): void {
    const session = this.sessions.get(handle);
    if (mechanism.type === undefined) session.cancel();
    else session.begin(SigningOperation.begin(this.content.privateKey(object), mechanism));
  }

  signUpdate(handle: number, part: Buffer): void {
    const session = this.sessions.get(handle);
    const operation = session.active();
    session.inParts = true;
    try {
      operation.update(part);
    } catch (error) {
      session.operation = undefined;
      throw error;
    }
  }

  /**
   * Implements C_Sign. Returns the signature. If there is too little room, returns the length of the signature, signs nothing, and leaves the operation active.
   */
  async sign(handle: number, data: Buffer, room: Room): Promise<Buffer | number> {
    const session = this.sessions.get(handle);
    const operation = session.active();
    if (session.inParts) throw new CryptokiFault(CKR.OPERATION_ACTIVE);
    if (room.size < operation.length) return operation.length;
    session.operation = undefined;
    operation.update(data);
    return this.finish(session, operation);
  }

  /** Implements C_SignFinal. Returns the signature, or its length if there is too little room. */
  async signFinal(handle: number, room: Room): Promise<Buffer | number> {
    const session = this.sessions.get(handle);
    const operation = session.active();
    if (room.size < operation.length) return operation.length;
    session.operation = undefined;
    return this.finish(session, operation);
  }

  /** Implements C_SessionCancel. */
  cancel(handle: number): void {
    this.sessions.get(handle).cancel();
  }

  random(handle: number, { size }: Room): Buffer {
    this.sessions.get(handle);
    if (size > MAX_RANDOM_BYTES) throw new CryptokiFault(CKR.ARGUMENTS_BAD);
    return randomBytes(size);
  }

  private async finish(session: CryptokiSession, operation: SigningOperation): Promise<Buffer> {
    const { algorithm, digest } = operation.digest();
    const { key, mechanism } = operation;
    const order = { key, digest, algorithm, scheme: mechanism.scheme };
    const result = await session.waitFor((signal) => this.source.sign({ ...order, signal }));
    if (result.kind !== 'signed') throw new CryptokiFault(CODES[result.kind]);
    if (this.isClosed) throw new CryptokiFault(CKR.FUNCTION_CANCELED);
    if (result.signature.length !== operation.length) throw new CryptokiFault(CKR.DEVICE_ERROR);
    return result.signature;
  }

  private get content(): TokenObjects {
    if (this.objects === undefined) throw new CryptokiFault(CKR.CRYPTOKI_NOT_INITIALIZED);
    return this.objects;
  }
}

interface AttributeAnswer {
  readonly values: readonly RpcAttribute[];
  readonly code: ReturnValue;
}
