import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../access/caller.js';
import { DIGEST_BYTES, type DigestAlgorithm, type SignatureScheme } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { keyFactsOf } from '../keys/key-facts.js';
import type { ActiveKey } from '../keys/signing-key.reader.js';
import { needsApproval } from './needs-approval.js';
import { type Admitted, ApprovalGate } from './approval-gate.js';
import { type Ended, SigningAttempts } from './signing-attempts.js';
import { SignRequestValidator } from './sign-request-validator.js';
import type { NewSigningRequest } from './signing-outcome.js';
import { digestAlgorithm, type SigningOrder } from './signing-order.js';
import type { SigningRequest } from '../model/signing-request.entity.js';
import { type ShownRequest, SigningRequestsReader } from './signing-requests.reader.js';

/** Something of our own that a key signs: a certification request, a certificate. */
export interface OwnOrder {
  readonly key: ActiveKey;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** The structure that is signed: ML-DSA signs it itself, all others its digest. */
  readonly toBeSigned: Buffer;
  /** What it is, for whoever reads the list of requests. */
  readonly metadata: Record<string, unknown>;
  readonly use?: IdempotentUse;
}

export interface OwnSignature {
  readonly signature: Buffer;
  /** The version that signed; that of the earlier order when this one repeats it. */
  readonly keyVersion: number;
}

/** How long a caller whose Idempotency-Key meets a request under way is kept waiting for it. */
const REPEAT_WAIT_S = 10;
const PATH = '/api/v1/sign/requests';
const ABOUT_THE_KEY = /^(?:signing-key|key-policy)\./;

/** What is remembered of a key may have been the reason. */
export function isAboutTheKey(error: unknown): boolean {
  return error instanceof Problem && ABOUT_THE_KEY.test(error.code);
}

/** Digests in, signatures out. */
@Injectable()
export class SigningService {
  constructor(
    private readonly gate: ApprovalGate,
    private readonly attempts: SigningAttempts,
    private readonly validator: SignRequestValidator,
    private readonly requests: SigningRequestsReader,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /**
   * Records a request, then signs it while the caller waits, or leaves it to the workers or to the approvers.
   *
   * @param taken what the order was read as, when somebody has read it already
   */
  async submit(caller: Caller, order: SigningOrder, taken?: NewSigningRequest): Promise<ShownRequest> {
    const { acceptance, id, at } = await this.accept(caller, order, taken);
    if (id !== acceptance.request.id) return this.repeated(acceptance, id);
    if (acceptance.status !== 'PROCESSING') return this.requests.shown(asAccepted(acceptance, at));
    return this.requests.shown(await this.signNow(acceptance, at));
  }

  /** What is remembered of a key may be seconds old: before it counts against the caller, it is read anew. */
  private async accept(caller: Caller, order: SigningOrder, taken?: NewSigningRequest): Promise<Admitted> {
    try {
      return await this.gate.admit(taken ?? (await this.validator.newRequestOf(caller, order)));
    } catch (error) {
      if (!isAboutTheKey(error)) throw error;
    }
    this.validator.forgetKeyOf(order);
    return this.gate.admit(await this.validator.newRequestOf(caller, order));
  }

  /**
   * Says before there is a digest what `submit` would say, apart from what counts requests; nothing is recorded.
   *
   * @throws Problem as `submit`, and `approval.needed` (forbidden) where people are asked first.
   */
  async assertSignsAtOnce(caller: Caller, order: Omit<SigningOrder, 'digest'>): Promise<void> {
    const digest = Buffer.alloc(DIGEST_BYTES[digestAlgorithm(order.algorithm)], 0xff).toString('base64');
    const acceptance = await this.validator.newRequestOf(caller, { ...order, digest });
    if (await this.gate.asksPeople(acceptance)) throw needsApproval();
  }

  /** Signs something of our own with any key: recorded, and answered for, like every other request. */
  async signOwn(caller: Caller, order: OwnOrder): Promise<OwnSignature> {
    const { key, scheme, algorithm, toBeSigned, metadata, use } = order;
    const digest = createHash(algorithm).update(toBeSigned).digest();
    const envelope =
      scheme === 'ml-dsa' ? { content: null, toBeSigned, signedDigest: digest, timestamped: false } : undefined;
    const { keyId, name: keyName, version: keyVersion, certificateId } = key;
    const place = { id: use?.resource ?? newId(), keyId, keyName, keyVersion, certificateId };
    const what = { digest, algorithm, scheme, format: 'raw', metadata, reference: null, composed: true } as const;
    const alone = { batchId: null, batchIndex: null };
    const request = { ...place, ...what, ...alone };
    const keyFacts = keyFactsOf(key);
    const judged = { keyRevision: key.revision, keyFacts, limits: {}, status: 'PROCESSING' } as const;
    const acceptance: NewSigningRequest = { request, envelope, ...judged, caller, use };
    const { id, at } = await this.gate.admitOwn(acceptance);
    const made = id === request.id ? await this.signNow(acceptance, at) : await this.repeated(acceptance, id);
    if (made.signature === null) throw late(id);
    return { signature: made.signature, keyVersion: made.keyVersion };
  }

  private async signNow(acceptance: NewSigningRequest, at: Date): Promise<ShownRequest> {
    const { request, envelope, keyRevision, caller } = acceptance;
    const { id: requestedBy, ownerId, origin } = caller;
    const place = { keyRevision, requestedBy, ownerId, correlation: origin.requestId, attempt: 1, strikes: 0 };
    const ended = await this.attempts.attempt({ ...request, ...place, envelope }, 'sync');
    return signedOrThrow(asAccepted(acceptance, at), ended);
  }

  /** The same call again: its answer is the first call's request, awaited as the first caller awaits it. */
  private async repeated({ use, caller, status }: NewSigningRequest, id: string): Promise<ShownRequest> {
    if (use !== undefined) await this.idempotency.assertSameBody(use);
    const request = await this.requests.find(caller, id, status === 'PROCESSING' ? REPEAT_WAIT_S : 0);
    if (request.status === 'FAILED' && status === 'PROCESSING')
      throw failure(id, request.failureCode ?? '', request.failureDetail ?? '');
    return request;
  }
}

/** The row as it was just committed, without reading it back. */
function asAccepted({ request, envelope, status, caller, approvalId }: NewSigningRequest, at: Date): SigningRequest {
  return {
    ...request,
    enveloped: envelope !== undefined,
    status,
    ownerId: caller.ownerId,
    requestedBy: caller.id,
    correlation: caller.origin.requestId,
    approvalId: approvalId ?? null,
    releasedAt: null,
    attempt: 0,
    strikes: 0,
    worker: null,
    leaseUntil: null,
    sweepAt: at,
    signature: null,
    failureCode: null,
    failureDetail: null,
    createdAt: at,
    finishedAt: null,
  };
}

function signedOrThrow(accepted: SigningRequest, ended: Ended | undefined): ShownRequest {
  const { id } = accepted;
  const outcome = ended?.outcome;
  switch (outcome?.kind) {
    case 'SIGNED':
      return Object.assign(accepted, {
        status: 'SIGNED' as const,
        signature: outcome.signature,
        timestampToken: outcome.timestampToken ?? null,
        finishedAt: ended?.at ?? null,
      });
    case 'FAILED':
      throw failure(id, outcome.code, outcome.detail);
    case 'RELEASED':
    case undefined:
      throw late(id, outcome?.code);
  }
}

function late(id: string, code?: string): Problem {
  return new Problem(
    'unavailable',
    code ?? 'signing.late',
    `The HSM did not sign in time. The request is kept and tried again: read ${PATH}/${id}, or repeat the call with the same Idempotency-Key.`,
    { retryAfter: 2, instance: `${PATH}/${id}` },
  );
}

function failure(id: string, code: string, detail: string): Problem {
  return new Problem('refused', code, detail, { instance: `${PATH}/${id}` });
}
