import { Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DataSource, Not } from 'typeorm';
import { type Caller, isOwnedBy } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import type { Followed } from '../../platform/http/event-stream.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { missing } from '../../platform/errors/problem.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import {
  SigningEnvelope,
  SigningRequest,
  isFinalSigningStatus,
  type SigningStatus,
} from '../signing-request.entity.js';
import { RowWatch } from '../../platform/database/row-watch.js';
import { EventBus } from '../../platform/events/events.js';
import { confirmRead } from '../../platform/database/statements.js';

/** A request with the parts of its response that are stored in other tables. */
export interface ShownRequest extends SigningRequest {
  /** DER, starting with the key's certificate. */
  readonly chain?: Buffer[];
  readonly timestampToken?: Buffer | null;
}

/** RequestWatch watches signing requests for waiting callers. */
@Injectable()
export class RequestWatch implements OnModuleInit, BeforeApplicationShutdown {
  readonly rows: RowWatch;

  constructor(
    db: DataSource,
    private readonly events: EventBus,
  ) {
    this.rows = new RowWatch((ids) =>
      db.query(
        `SELECT id, concat_ws(' ', status, approval_id) AS mark FROM signing_request WHERE id = ANY($1::uuid[])`,
        [ids],
      ),
    );
  }

  onModuleInit(): void {
    this.events.on('signing.settled', ({ requestId }) => this.rows.hint(requestId));
    this.events.on('signing.moved', ({ requestId }) => this.rows.hint(requestId));
  }

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }
}

/** Returns the marker that the query of the watch computes for this row. */
function signingMarkOf({ status, approvalId }: Pick<SigningRequest, 'status' | 'approvalId'>): string {
  return approvalId === null ? status : `${status} ${approvalId}`;
}

/** SigningRequestsReader finds signing requests that the caller may see. */
@Injectable()
export class SigningRequestsReader {
  constructor(
    private readonly db: DataSource,
    private readonly watch: RequestWatch,
    private readonly certificates: CertificatesReader,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Returns a request, waiting up to `seconds` for the request to become final. */
  async find(caller: Caller, id: string, seconds = 0): Promise<ShownRequest> {
    const request = await this.watch.rows.until(id, seconds, async () => {
      const row = await this.read(caller, id);
      return { row, mark: signingMarkOf(row), final: isFinalSigningStatus(row.status) };
    });
    return this.shown(request);
  }

  /**
   * Returns the request of an earlier call with the same Idempotency-Key, waiting up to `seconds`.
   *
   * @throws Problem `idempotency.other-body` if the earlier call had a different body
   */
  async findRepeated(
    caller: Caller,
    id: string,
    { use, seconds }: { readonly use: IdempotentUse | undefined; readonly seconds: number },
  ): Promise<ShownRequest> {
    if (use !== undefined) await this.idempotency.assertSameBody(use);
    const request = await this.find(caller, id, seconds);
    // The outcome may have been stored after the Idempotency-Key was claimed.
    await confirmRead(this.db);
    return request;
  }

  /**
   * Returns the request for this digest and key version: a signed request of any caller, or else the caller's newest request that has not failed. Other
   * callers' pending requests are ignored, because those callers could withdraw the requests.
   */
  async about(
    caller: Caller,
    { keyId, version: keyVersion }: { readonly keyId: string; readonly version: number },
    signed: Pick<SigningRequest, 'digest' | 'algorithm' | 'scheme'>,
  ): Promise<SigningRequest | undefined> {
    const same = { ...signed, keyId, keyVersion, format: 'raw' } as const;
    const own = { ...same, requestedBy: caller.id, status: Not<SigningStatus>('FAILED') };
    const newest = (where: object) => this.db.manager.findOne(SigningRequest, { where, order: { id: 'DESC' } });
    return (await newest({ ...same, status: 'SIGNED' })) ?? (await newest(own)) ?? undefined;
  }

  /** Returns the request in the form that `answerEvents` needs. */
  async follow<View>(caller: Caller, id: string, viewOf: (request: ShownRequest) => View): Promise<Followed<View>> {
    const request = await this.find(caller, id);
    return { id, view: viewOf(request), mark: signingMarkOf(request), final: isFinalSigningStatus(request.status) };
  }

  /** Adds the certificate chain and, if missing, the timestamp. */
  async shown(request: ShownRequest): Promise<ShownRequest> {
    if (request.certificateId === null && !request.enveloped) return request;
    const { timestampToken = await this.tokenOf(request) } = request;
    return { ...request, timestampToken, chain: await this.certificates.chain(request.certificateId) };
  }

  private async tokenOf({ id, enveloped }: SigningRequest): Promise<Buffer | null> {
    if (!enveloped) return null;
    const envelope = await this.db.manager.findOneBy(SigningEnvelope, { requestId: id });
    return envelope?.timestampToken ?? null;
  }

  private async read(caller: Caller, id: string): Promise<SigningRequest> {
    const request = await this.db.manager.findOneBy(SigningRequest, { id });
    if (request !== null && (isOwnedBy(caller, request) || seesAllRequests(caller))) return request;
    throw missing('signing-request');
  }
}

/** Reports whether the caller may see the requests of all callers. */
export function seesAllRequests(caller: Caller): boolean {
  return mayDo(caller.scopes, 'audit:read');
}
