import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../access/caller.js';
import { DIGEST_BYTES, type DigestAlgorithm, type SignatureScheme } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { keyFactsOf } from '../keys/key-facts.js';
import type { ActiveKey } from '../keys/signing-key.reader.js';
import { ApprovalGate, needsApproval } from './approval-gate.js';
import { digestAlgorithm, type SigningOrder, SignRequestValidator } from './sign-request-validator.js';
import { Signer } from './signer.js';
import { type NewSigningRequest, newRow, type SigningOutcome, type SigningRow } from './signing-attempt.js';
import { SigningOutcomeRepository } from './signing-outcome.repository.js';
import { type ShownRequest, SigningRequestsReader } from './signing-requests.reader.js';

/** A structure that the service composes and a key signs, such as a certification request or a certificate. */
export interface OwnOrder {
  readonly key: ActiveKey;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** The structure itself. ML-DSA signs the structure, all other schemes sign its digest. */
  readonly toBeSigned: Buffer;
  /** Describes the structure in the list of requests. */
  readonly metadata: Record<string, unknown>;
  readonly use?: IdempotentUse;
}

export interface OwnSignature {
  readonly signature: Buffer;
  /** The key version that signed. For a repeated order, the key version that signed the first order. */
  readonly keyVersion: number;
}

const PATH = '/api/v1/sign/requests';
const ABOUT_THE_KEY = /^(?:signing-key|key-policy)\./;
const MAX_ATTEMPTS = 3;
/** Maximum time in seconds that a call with a repeated Idempotency-Key waits for a request in progress. */
const REPEAT_WAIT_S = 10;

/** Reports whether a refusal may be due to the cached state of the key, which can be seconds old. */
export function isAboutTheKey(error: unknown): boolean {
  return error instanceof Problem && ABOUT_THE_KEY.test(error.code);
}

/** SigningService signs digests, for POST /api/v1/sign/digest and for every other interface. */
@Injectable()
export class SigningService {
  constructor(
    private readonly validator: SignRequestValidator,
    private readonly gate: ApprovalGate,
    private readonly signer: Signer,
    private readonly outcomes: SigningOutcomeRepository,
    private readonly requests: SigningRequestsReader,
  ) {}

  /**
   * Signs while the caller waits, or leaves the recorded request to the workers (`background`) or to its approvers.
   *
   * @param known the result of an earlier validation of the order, if any
   */
  async submit(caller: Caller, order: SigningOrder, known?: NewSigningRequest): Promise<ShownRequest> {
    const recorded = await this.readingAnew(order, async (isFirst) => {
      const valid = (isFirst ? known : undefined) ?? (await this.validator.validate(caller, order));
      const request = await this.gate.askPolicies(valid);
      return { request, id: await this.gate.record(request) };
    });
    return this.finish(recorded.request, recorded.id);
  }

  /** Signs a structure composed by the service with any key. The request is recorded like every other request, but no policy is evaluated. */
  async signOwn(caller: Caller, order: OwnOrder): Promise<OwnSignature> {
    const request = ownRequest(caller, order);
    const { id, signature, keyVersion } = await this.finish(request, await this.gate.record(request));
    if (signature === null) throw late(id);
    return { signature, keyVersion };
  }

  /**
   * Checks, before the digest is known, whether `submit` would sign immediately. Limits on the number of requests are not checked. Nothing is recorded.
   *
   * @throws the Problems of `submit`, and `approval.needed` (forbidden) if approval is required
   */
  async assertSignsAtOnce(caller: Caller, order: Omit<SigningOrder, 'digest'>): Promise<void> {
    const digest = Buffer.alloc(DIGEST_BYTES[digestAlgorithm(order.algorithm)], 0xff).toString('base64');
    const request = await this.gate.askPolicies(await this.validator.validate(caller, { ...order, digest }));
    if (request.requirement !== undefined) throw needsApproval();
  }

  /** Signs and settles a recorded request, unless an earlier call, a worker or the approvers are responsible for the request. */
  private async finish(request: NewSigningRequest, id: string): Promise<ShownRequest> {
    const { row, keyRevision, envelope, keyFacts } = request;
    if (id !== row.id) return this.repeated(request, id);
    if (row.status !== 'PROCESSING') return this.requests.shown(row);
    const claimed = { ...row, keyRevision, envelope, publicKeySha256: keyFacts.publicKeySha256 };
    const outcome = await this.signer.sign(claimed);
    const settledAt = await this.outcomes.settle(claimed, outcome, 'sync');
    return this.requests.shown(signedOrThrow(row, outcome, settledAt));
  }

  /** Returns the first call's request if a call is repeated. The repeated call waits for the outcome like the first call. */
  private async repeated({ row, caller, use }: NewSigningRequest, id: string): Promise<ShownRequest> {
    const waits = row.status === 'PROCESSING';
    const request = await this.requests.findRepeated(caller, id, { use, seconds: waits ? REPEAT_WAIT_S : 0 });
    if (request.status === 'FAILED' && waits) throw failure(id, request.failureCode ?? '', request.failureDetail ?? '');
    return request;
  }

  /** Runs `work`, and repeats it with reloaded keys and policies before a cached value causes a refusal. Keys and policies are cached for seconds. */
  private async readingAnew<T>(order: SigningOrder, work: (isFirst: boolean) => Promise<T>): Promise<T> {
    let keyWasRead = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(!keyWasRead);
      } catch (error) {
        const isOutdated = error instanceof Problem && error.code === 'approval.policies-changed';
        if (isOutdated && attempt < MAX_ATTEMPTS) this.gate.forgetPolicies();
        else if (isAboutTheKey(error) && !keyWasRead) {
          this.validator.forgetKeyOf(order);
          keyWasRead = true;
        } else throw error;
      }
    }
  }
}

function ownRequest(caller: Caller, order: OwnOrder): NewSigningRequest {
  const { key, scheme, algorithm, toBeSigned, metadata, use } = order;
  const digest = createHash(algorithm).update(toBeSigned).digest();
  const envelope =
    scheme === 'ml-dsa' ? { content: null, toBeSigned, signedDigest: digest, timestamped: false } : undefined;
  const { keyId, name: keyName, version: keyVersion, certificateId, revision: keyRevision } = key;
  const row = newRow(caller, {
    id: use?.resource ?? newId(),
    status: 'PROCESSING',
    digest,
    algorithm,
    scheme,
    format: 'raw',
    keyId,
    keyName,
    keyVersion,
    certificateId,
    enveloped: envelope !== undefined,
    composed: true,
    batchId: null,
    batchIndex: null,
    metadata,
    reference: null,
  });
  return { row, envelope, keyRevision, keyFacts: keyFactsOf(key), limits: {}, caller, use };
}

function signedOrThrow(row: SigningRow, outcome: SigningOutcome, settledAt: Date | undefined): ShownRequest {
  // Without a time, the outcome came too late: the request belongs to another attempt.
  if (settledAt === undefined) throw late(row.id);
  switch (outcome.kind) {
    case 'SIGNED': {
      const { signature, timestampToken = null } = outcome;
      return Object.assign(row, { status: 'SIGNED' as const, signature, timestampToken, finishedAt: settledAt });
    }
    case 'FAILED':
      throw failure(row.id, outcome.code, outcome.detail);
    case 'RELEASED':
      throw late(row.id, outcome.code);
  }
}

/** @param code reason why nothing was signed; undefined for a signature that came too late */
function late(id: string, code?: string): Problem {
  const why =
    code === undefined ? 'The signature was completed too late and was discarded.' : 'The request is not signed yet.';
  const next = `The request is stored and will be retried. Read ${PATH}/${id}, or repeat the call with the same Idempotency-Key.`;
  return new Problem('unavailable', code ?? 'signing.late', `${why} ${next}`, {
    retryAfter: 2,
    instance: `${PATH}/${id}`,
  });
}

function failure(id: string, code: string, detail: string): Problem {
  return new Problem('refused', code, detail, { instance: `${PATH}/${id}` });
}
