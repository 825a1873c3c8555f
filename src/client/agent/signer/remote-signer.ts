import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { base64Bytes } from '../../../formats/encoding/base64.js';
import type { ApiClient } from '../../api/api-client.js';
import { isFinalRequestStatus, type Request } from '../../api/request-polling.js';
import { ClientError } from '../../api/exit-codes.js';
import { type AgentKey, usesCertificate } from './agent-keys.js';
import { expiryOf } from './key-certificates.js';
import { keySigns, type Protocol, type AgentPurpose, serves } from './purposes.js';
import { type AskingProgram, agentMetadataOf, requestNameOf } from './agent-metadata.js';

/** Scheme is a signature scheme of the service. `ecdsa-raw` encodes the signature as r ‖ s. `rsa-pss` uses a salt of the same length as the digest. */
export type Scheme = 'rsa-pkcs1v15' | 'rsa-pss' | 'ecdsa-der' | 'ecdsa-raw';
export type DigestName = 'sha256' | 'sha384' | 'sha512';

export interface SignatureOrder {
  readonly key: AgentKey;
  readonly digest: Buffer;
  readonly algorithm: DigestName;
  readonly scheme: Scheme;
  readonly purpose: AgentPurpose;
  /** Container that the service creates from content that the client prepared. Default: a bare signature. */
  readonly container?: { readonly format: 'openpgp'; readonly content: Buffer };
  /** Additional information for approvers that was read from the message itself, such as the host of a login. */
  readonly shown?: Readonly<Record<string, string>>;
  /** Signal that is aborted when the requesting program disconnects. The signing request is then withdrawn. */
  readonly signal: AbortSignal;
}

/**
 * SignatureResult is the result of an order. `pending`: no decision was made during the wait, and the request remains open. `rejected`, `expired` and
 * `withdrawn`: the approval was rejected, has expired or was withdrawn. `refused`: the service rejected the request, for example because of a key constraint or
 * a missing permission. `unavailable`: the service or its HSM could not be reached; the request may still be signed later.
 */
export type SignatureResult =
  | { readonly kind: 'signed'; readonly signature: Buffer; readonly requestId?: string }
  | {
      readonly kind: 'pending' | 'rejected' | 'expired' | 'withdrawn' | 'refused' | 'unavailable';
      readonly detail: string;
      readonly requestId?: string;
    };

/** Patience limits how long a caller waits for a decision. Without a limit, the caller waits until a decision is made. */
export interface Patience {
  readonly seconds: number;
  /** Whether the caller can repeat the order later. If not, the request is withdrawn after the wait. */
  readonly isResumable: boolean;
}

interface SignerSettings {
  readonly protocol: Protocol;
  readonly asking: AskingProgram;
  readonly patience?: Patience | undefined;
  /** Caller-defined reference for the request. */
  readonly reference?: string | undefined;
  /** Prints a line on the user's terminal. */
  note(line: string): void;
}

const POLL_S = 30;
/** HTTP status for a request that is valid but cannot be signed. */
const REFUSED = 422;
/** Maximum time for which the service may be unavailable while an approval is pending, for example during an update. */
const MAX_AWAY_MS = 15 * 60_000;
const AWAY_PAUSE_MS = 5000;
/** Maximum time for which a request is retried. A restarting service is available again within seconds. The limit includes the duration of the calls. */
const MAX_RESTART_MS = 10_000;
/** Maximum number of earlier requests for the same digest to skip because those requests ended without a signature. */
const MAX_EARLIER = 20;
const WITHDRAWAL_MS = 10_000;

/** APPROVAL_ENDS maps the failure codes that end an approval to results. After such a failure, the same request can be made again. */
export const APPROVAL_ENDS: Readonly<Record<string, 'rejected' | 'expired' | 'withdrawn'>> = {
  'approval.rejected': 'rejected',
  'approval.expired': 'expired',
  'approval.withdrawn': 'withdrawn',
};

/**
 * RemoteSigner signs with keys of the service for programs on this machine. All local protocols use RemoteSigner, so that the information for approvers, the
 * waiting time, and the withdrawal of abandoned requests are the same for all protocols.
 */
export class RemoteSigner {
  private readonly open = new Set<Promise<SignatureResult>>();

  constructor(
    private readonly api: ApiClient,
    private readonly settings: SignerSettings,
  ) {}

  /** Signs an order. Never throws. Results other than signatures are printed on the terminal. */
  async sign(order: SignatureOrder): Promise<SignatureResult> {
    const work = this.result(order);
    this.open.add(work);
    const result = await work;
    this.open.delete(work);
    if (result.kind !== 'signed') this.settings.note(`sealwright: not signed (${result.kind}): ${result.detail}`);
    return result;
  }

  /** Waits until every order has ended. Call this before the process exits, so that abandoned requests are withdrawn first. */
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
        detail: `Key "${key.name}" is for ${key.purpose}, but ${protocol} requires a key for ${purpose}.`,
      };
    try {
      const request = await this.asked(order);
      return resultOf(order, await this.awaited(order, request));
    } catch (error) {
      if (error instanceof OutOfPatience) return error.result;
      return order.signal.aborted ? WITHDRAWN : failureOf(error);
    }
  }

  /** Returns the request for an order: a new request, or a request from an earlier run that can still be signed. */
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

  /** Submits the request, and retries while the service restarts. The idempotency key ensures that the request is recorded only once. */
  private async recorded(body: object, name: string, signal: AbortSignal): Promise<Request> {
    const until = performance.now() + MAX_RESTART_MS;
    for (;;) {
      try {
        return await this.submitted(body, name);
      } catch (error) {
        if (!isAway(error) || signal.aborted || performance.now() > until) throw error;
        this.settings.note(`sealwright: retrying: ${messageOf(error)}`);
      }
    }
  }

  /**
   * Submits the request with the given idempotency key. If a request from an earlier run was rejected, sends the request once more with a new key, because the
   * reason may no longer apply. The signal does not abort the call, because a request can be withdrawn only if its ID is known.
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

  /** Waits until the request is final. Withdraws its approval if the program disconnects. */
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
        await this.withdraw(request, `${this.name} has exited`);
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
    if (request.status === 'SIGNED') this.settings.note(`sealwright: signed with key ${order.key.name}`);
    return request;
  }

  private async outOfPatience(request: Request, { seconds, isResumable }: Patience): Promise<OutOfPatience> {
    const { requestId } = request;
    const detail = `Request ${requestId} was not approved or rejected within ${seconds} seconds.`;
    if (isResumable) return new OutOfPatience({ kind: 'pending', detail, requestId });
    await this.withdraw(request, 'the wait timed out');
    return new OutOfPatience({ kind: 'withdrawn', detail, requestId });
  }

  /**
   * Withdraws a request. Reads the current approval first, because a request can get a new approval. A request that is already being signed cannot be
   * withdrawn.
   */
  private async withdraw({ requestId }: Request, why: string): Promise<void> {
    try {
      const limit = { limitMs: WITHDRAWAL_MS };
      const { approvalId, status }: Request = await this.api.call('GET', `/api/v1/sign/requests/${requestId}`, limit);
      if (status !== 'PENDING_APPROVAL' || approvalId === undefined) return;
      await this.api.call('POST', `/api/v1/approvals/${approvalId}/withdraw`, { body: {}, repeatable: true, ...limit });
      this.settings.note(`sealwright: ${why}, so request ${requestId} was withdrawn`);
    } catch (error) {
      this.settings.note(`sealwright: could not withdraw request ${requestId}: ${messageOf(error)}`);
    }
  }

  private async tellWhoIsAsked({ key, digest, algorithm, signal }: SignatureOrder, request: Request): Promise<void> {
    const what = `${algorithm} ${digest.toString('hex').slice(0, 16)}…`;
    this.settings.note(`sealwright: ${this.name} requests a signature over ${what} with key ${key.name}`);
    const whom = await this.askedPeople(request, signal);
    this.settings.note(`sealwright: waiting for ${whom} (request ${request.requestId}); press Ctrl-C to withdraw it`);
  }

  /** Describes the approvals that are still required, if the credential has permission to read approvals. */
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

/** NotSigned is a result that is not a signature. */
export type NotSigned = Exclude<SignatureResult, { kind: 'signed' }>;

interface ShownApproval {
  readonly stages: readonly {
    readonly group: { readonly name: string };
    readonly threshold: number;
    readonly approvals: number;
  }[];
  readonly expiresAt: string;
}

/** Thrown when the caller's waiting time has elapsed. */
class OutOfPatience extends Error {
  constructor(readonly result: NotSigned) {
    super(result.detail);
  }
}

const WITHDRAWN: SignatureResult = { kind: 'withdrawn', detail: 'The calling program has exited.' };

function resultOf(
  { key, purpose, signal }: SignatureOrder,
  { requestId, signature, failure, key: used }: Request,
): SignatureResult {
  if (signal.aborted) return WITHDRAWN;
  if (signature === undefined) {
    const detail = failure === undefined ? 'The request was not signed.' : `${failure.detail} [${failure.code}]`;
    return { kind: APPROVAL_ENDS[failure?.code ?? ''] ?? 'refused', detail, requestId };
  }
  // The program has the public key of the offered version, so a signature by another version would not verify.
  if (used.version !== key.version)
    return {
      kind: 'refused',
      detail: `Key "${key.name}" was rotated to version ${used.version}. Start the program again.`,
    };
  // The certificate may have expired while the approval was pending.
  const expired = usesCertificate(purpose) ? expiryOf(key) : undefined;
  if (expired !== undefined) return { kind: 'refused', detail: expired, requestId };
  return { kind: 'signed', signature: base64Bytes(signature), requestId };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Reports whether the service did not respond, or responded that it is busy or unavailable (RFC 9110 section 15). */
function isAway(error: unknown): boolean {
  return !(error instanceof ClientError) || error.status === undefined || error.status === 429 || error.status >= 500;
}

function failureOf(error: unknown): SignatureResult {
  const detail = messageOf(error);
  const ended = error instanceof ClientError ? APPROVAL_ENDS[error.problem ?? ''] : undefined;
  return { kind: ended ?? (isAway(error) ? 'unavailable' : 'refused'), detail };
}
