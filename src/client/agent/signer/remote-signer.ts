import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { base64Bytes } from '../../../formats/encoding/base64.js';
import type { ApiClient } from '../../api/api-client.js';
import { isFinalRequestStatus, type Request } from '../../api/awaiting.js';
import { ClientError } from '../../api/exit-codes.js';
import { type AgentKey, usesCertificate } from './agent-keys.js';
import { expiryOf } from './key-certificates.js';
import { keySigns, type Protocol, type AgentPurpose, serves } from './purposes.js';
import { type AskingProgram, agentMetadataOf, requestNameOf } from './said-by-client.js';

/** Schemes of the service; `ecdsa-raw` is r ‖ s, PSS has the salt as long as the digest. */
export type Scheme = 'rsa-pkcs1v15' | 'rsa-pss' | 'ecdsa-der' | 'ecdsa-raw';
export type DigestName = 'sha256' | 'sha384' | 'sha512';

export interface SignatureOrder {
  readonly key: AgentKey;
  readonly digest: Buffer;
  readonly algorithm: DigestName;
  readonly scheme: Scheme;
  readonly purpose: AgentPurpose;
  /** What the service makes of the signature, from what the client composed; the bare signature without it. */
  readonly container?: { readonly format: 'openpgp'; readonly content: Buffer };
  /** More to show to approvers, in words that the protocol read from the message itself, such as the host of a login. */
  readonly shown?: Readonly<Record<string, string>>;
  /** Aborted when the program that asked is gone: the request is then withdrawn. */
  readonly signal: AbortSignal;
}

/**
 * How an order ended. `pending`: nobody decided in the time that the caller waits; the request goes on. `rejected`, `expired` and `withdrawn` are about its approval. `refused` is the service's own no: a constraint of the
 * key, a missing right. `unavailable`: the service could not be reached, or its HSM; the request may still be signed later.
 */
export type SignatureResult =
  | { readonly kind: 'signed'; readonly signature: Buffer; readonly requestId?: string }
  | {
      readonly kind: 'pending' | 'rejected' | 'expired' | 'withdrawn' | 'refused' | 'unavailable';
      readonly detail: string;
      readonly requestId?: string;
    };

/** How long a caller waits for people; without it, until they have decided. */
export interface Patience {
  readonly seconds: number;
  /** Whether the same order can be given again later. If not, the request is withdrawn when the time is up. */
  readonly isResumable: boolean;
}

interface SignerSettings {
  readonly protocol: Protocol;
  readonly asking: AskingProgram;
  readonly patience?: Patience | undefined;
  /** The caller's own name for the request. */
  readonly reference?: string | undefined;
  /** Tells the person at the terminal. */
  note(line: string): void;
}

const POLL_S = 30;
/** HTTP status of a request that was understood and cannot be signed. */
const REFUSED = 422;
/** The service may be away for so long while people are asked, for example to be updated. */
const MAX_AWAY_MS = 15 * 60_000;
const AWAY_PAUSE_MS = 5000;
/** A request is sent again for so long: a service that is restarted answers within seconds. The calls themselves take some of it. */
const MAX_RESTART_MS = 10_000;
/** So many earlier requests about the same digest are looked at, each ended without a signature. */
const MAX_EARLIER = 20;
const WITHDRAWAL_MS = 10_000;

/** Failures that end one approval, after which the same may be asked again. */
export const APPROVAL_ENDS: Readonly<Record<string, 'rejected' | 'expired' | 'withdrawn'>> = {
  'approval.rejected': 'rejected',
  'approval.expired': 'expired',
  'approval.withdrawn': 'withdrawn',
};

/**
 * Signs with keys of the service for a program on this machine. All local protocols sign by this class, so that what approvers are shown,
 * how long is waited, and what happens to a request whose program died is the same for all.
 */
export class RemoteSigner {
  private readonly open = new Set<Promise<SignatureResult>>();

  constructor(
    private readonly api: ApiClient,
    private readonly settings: SignerSettings,
  ) {}

  /** Never throws: every end is a result. What did not end in a signature is reported at the terminal. */
  async sign(order: SignatureOrder): Promise<SignatureResult> {
    const work = this.result(order);
    this.open.add(work);
    const result = await work;
    this.open.delete(work);
    if (result.kind !== 'signed') this.settings.note(`sealwright: not signed, ${result.kind}: ${result.detail}`);
    return result;
  }

  /** Waits until every order has ended; to be called before the process ends, so that what is given up is withdrawn first. */
  async settled(): Promise<void> {
    await Promise.all(this.open);
  }

  private async result(order: SignatureOrder): Promise<SignatureResult> {
    const { key, purpose } = order;
    const { protocol } = this.settings;
    const expired = usesCertificate(purpose) ? expiryOf(key) : undefined;
    if (expired !== undefined) return { kind: 'refused', detail: expired };
    if (!serves(protocol, purpose) || !keySigns(key.purpose, purpose))
      return {
        kind: 'refused',
        detail: `The key "${key.name}" is for ${key.purpose}, and ${protocol} asks for ${purpose}.`,
      };
    try {
      const request = await this.asked(order);
      return resultOf(order, await this.awaited(order, request));
    } catch (error) {
      if (error instanceof OutOfPatience) return error.result;
      return order.signal.aborted ? WITHDRAWN : failureOf(error);
    }
  }

  /** The request for this order: a new one, or the one that an earlier run of the program made and that can still be signed. */
  private async asked(order: SignatureOrder): Promise<Request> {
    const { key, digest, algorithm, scheme, purpose, container, shown } = order;
    const { asking, protocol, reference } = this.settings;
    const metadata = {
      ...agentMetadataOf(asking, protocol, purpose),
      ...(shown === undefined ? {} : { message: shown }),
    };
    const made = container && { format: container.format, content: container.content.toString('base64') };
    const body = {
      digest: digest.toString('base64'),
      algorithm,
      key: key.id,
      scheme,
      purpose,
      ...made,
      metadata,
      reference,
    };
    let after: string | undefined;
    for (let turn = 0; ; turn += 1) {
      const request = await this.recorded(body, requestNameOf(body, key, after), order.signal);
      if (request.status !== 'FAILED' || turn === MAX_EARLIER) return request;
      after = request.requestId;
    }
  }

  /** Sends the request, also to a service that is just restarted: under one name it is recorded once, however often it is sent. */
  private async recorded(body: object, name: string, signal: AbortSignal): Promise<Request> {
    const until = performance.now() + MAX_RESTART_MS;
    for (;;) {
      try {
        return await this.submitted(body, name);
      } catch (error) {
        if (!isAway(error) || signal.aborted || performance.now() > until) throw error;
        this.settings.note(`sealwright: trying again: ${messageOf(error)}`);
      }
    }
  }

  /**
   * Sends the request under this name. One that an earlier run sent may have failed for a reason that is past: then it is sent once more under
   * another name. The call is not ended by a signal: a request that was recorded must be known, so that it can be withdrawn.
   */
  private async submitted(body: object, name: string): Promise<Request> {
    const send = (headers: Record<string, string>): Promise<Request> =>
      this.api.call('POST', '/api/v1/sign/digest', { body, headers, repeatable: true });
    try {
      return await send({ 'idempotency-key': name });
    } catch (error) {
      if (!(error instanceof ClientError) || error.status !== REFUSED) throw error;
      return send({ 'idempotency-key': `${name}-${randomUUID()}` });
    }
  }

  /** Waits until the request is final. When the program goes away, its approval is withdrawn. */
  private async awaited(order: SignatureOrder, first: Request): Promise<Request> {
    const { signal } = order;
    if (isFinalRequestStatus(first)) return first;
    let request = first;
    if (request.status === 'PENDING_APPROVAL') await this.tellWhoIsAsked(order, request);
    let seenAt = performance.now();
    const { patience } = this.settings;
    const until = seenAt + (patience?.seconds ?? Infinity) * 1000;
    while (!isFinalRequestStatus(request)) {
      if (signal.aborted) {
        await this.withdraw(request, `${this.name} is gone`);
        throw signal.reason;
      }
      const left = Math.max(0, until - performance.now()) / 1000;
      if (patience !== undefined && left === 0) throw await this.outOfPatience(request, patience);
      try {
        const wait = Math.min(POLL_S, Math.ceil(left));
        request = await this.api.call('GET', `/api/v1/sign/requests/${request.requestId}?wait=${wait}`, { signal });
        seenAt = performance.now();
      } catch (error) {
        if (signal.aborted) continue;
        if (!isAway(error) || performance.now() - seenAt > MAX_AWAY_MS) throw error;
        await sleep(AWAY_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    if (request.status === 'SIGNED') this.settings.note(`sealwright: signed by the key ${order.key.name}`);
    return request;
  }

  private async outOfPatience(request: Request, { seconds, isResumable }: Patience): Promise<OutOfPatience> {
    const { requestId } = request;
    const detail = `The request ${requestId} was not decided within ${seconds} seconds.`;
    if (isResumable) return new OutOfPatience({ kind: 'pending', detail, requestId });
    await this.withdraw(request, 'the time to wait is up');
    return new OutOfPatience({ kind: 'withdrawn', detail, requestId });
  }

  /** The approval of a request may have been asked for anew, so its present one is read. A request that is being signed cannot be withdrawn. */
  private async withdraw({ requestId }: Request, why: string): Promise<void> {
    try {
      const limit = { limitMs: WITHDRAWAL_MS };
      const { approvalId, status }: Request = await this.api.call('GET', `/api/v1/sign/requests/${requestId}`, limit);
      if (status !== 'PENDING_APPROVAL' || approvalId === undefined) return;
      await this.api.call('POST', `/api/v1/approvals/${approvalId}/withdraw`, { body: {}, repeatable: true, ...limit });
      this.settings.note(`sealwright: ${why}, so the request ${requestId} was withdrawn`);
    } catch (error) {
      this.settings.note(`sealwright: the request ${requestId} could not be withdrawn: ${messageOf(error)}`);
    }
  }

  private async tellWhoIsAsked({ key, digest, algorithm, signal }: SignatureOrder, request: Request): Promise<void> {
    const what = `${algorithm} ${digest.toString('hex').slice(0, 16)}…`;
    this.settings.note(`sealwright: ${this.name} requests a signature over ${what} with the key ${key.name}`);
    const whom = await this.askedPeople(request, signal);
    this.settings.note(`sealwright: waiting for ${whom} (request ${request.requestId}); Ctrl-C withdraws it`);
  }

  /** Who must say yes, where the credential may read it. */
  private async askedPeople({ approvalId }: Request, signal: AbortSignal): Promise<string> {
    try {
      const approval: ShownApproval = await this.api.call('GET', `/api/v1/approvals/${approvalId}`, { signal });
      const stages = approval.stages.map(
        ({ group, threshold, approvals }) => `${threshold - approvals} of ${group.name}`,
      );
      return `${stages.join(', then ')}, until ${approval.expiresAt}`;
    } catch {
      return 'approval';
    }
  }

  private get name(): string {
    return this.settings.asking.program ?? 'a program';
  }
}

/** Why an order did not end in a signature. */
export type NotSigned = Exclude<SignatureResult, { kind: 'signed' }>;

interface ShownApproval {
  readonly stages: readonly {
    readonly group: { readonly name: string };
    readonly threshold: number;
    readonly approvals: number;
  }[];
  readonly expiresAt: string;
}

/** The caller's time to wait is up. */
class OutOfPatience extends Error {
  constructor(readonly result: NotSigned) {
    super(result.detail);
  }
}

const WITHDRAWN: SignatureResult = { kind: 'withdrawn', detail: 'The calling program has ended.' };

function resultOf(
  { key, purpose, signal }: SignatureOrder,
  { requestId, signature, failure, key: used }: Request,
): SignatureResult {
  if (signal.aborted) return WITHDRAWN;
  if (signature === undefined) {
    const detail = failure === undefined ? 'The request was not signed.' : `${failure.detail} [${failure.code}]`;
    return { kind: APPROVAL_ENDS[failure?.code ?? ''] ?? 'refused', detail, requestId };
  }
  // The program has the public key of the version that it was offered: a signature by another one would not verify.
  if (used.version !== key.version)
    return {
      kind: 'refused',
      detail: `The key "${key.name}" was rotated to version ${used.version}: start the program again.`,
    };
  // People may have taken days to decide.
  const expired = usesCertificate(purpose) ? expiryOf(key) : undefined;
  if (expired !== undefined) return { kind: 'refused', detail: expired, requestId };
  return { kind: 'signed', signature: base64Bytes(signature), requestId };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** No answer at all, or one that says that the service is busy or away (RFC 9110 section 15). */
function isAway(error: unknown): boolean {
  return !(error instanceof ClientError) || error.status === undefined || error.status === 429 || error.status >= 500;
}

function failureOf(error: unknown): SignatureResult {
  const detail = messageOf(error);
  const ended = error instanceof ClientError ? APPROVAL_ENDS[error.problem ?? ''] : undefined;
  return { kind: ended ?? (isAway(error) ? 'unavailable' : 'refused'), detail };
}
