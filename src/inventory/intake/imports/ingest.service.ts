import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../access/caller.js';
import type { RawBody } from '../../../platform/http/bodies/raw-body.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import { mayDo } from '../../../access/scopes.js';
import type { BodyKind } from '../staging/body-reader.js';
import type { IngestOrder } from '../staging/ingest-order.js';
import type { IngestOutcome } from '../../model/document.js';
import { transferable } from '../../../platform/observability/external-memory.js';
import { IngestThreads } from './ingest-threads.js';

export interface IngestOptions {
  readonly mode?: Mode;
  readonly source?: string;
  readonly idempotencyKey?: string;
  /** Password of a key store. */
  readonly password?: string;
}

/** Body kinds by media type. For any other media type, the content determines the format. */
const BODY_KINDS: Readonly<Record<string, BodyKind>> = {
  'application/json': 'json',
  'application/vnd.cyclonedx+json': 'json',
  'application/sarif+json': 'json',
  'application/x-ndjson': 'ndjson',
};

/** IngestService ingests bodies of any format. */
@Injectable()
export class IngestService {
  constructor(private readonly threads: IngestThreads) {}

  /**
   * Ingests a body. The bytes are transferred to a thread rather than copied, so the caller can no longer use the bytes afterwards.
   *
   * @throws Problem if the body is rejected
   */
  ingest(
    caller: Caller,
    body: RawBody,
    { mode = 'repair', source, idempotencyKey, password }: IngestOptions,
  ): Promise<IngestOutcome> {
    const { origin } = caller;
    const order = {
      bytes: transferable(body.bytes),
      kind: bodyKindOf(body),
      mode,
      source,
      password,
      caller: reporterOf(caller),
      requestId: origin.requestId,
      address: origin.address,
      idempotencyKey,
    };
    return body.during(() => this.threads.take(order));
  }
}

/** reporterOf returns the caller in the format in which an order stores callers. */
export function reporterOf({ kind, id, name, ownerId, scopes }: Caller): IngestOrder['caller'] {
  const [mayWrite, mayRead] = [mayDo(scopes, 'inventory:write'), mayDo(scopes, 'inventory:read')];
  return { kind, id, name, ownerId, mayWrite, mayRead };
}

export function bodyKindOf({ mediaType }: RawBody): BodyKind {
  return BODY_KINDS[mediaType] ?? 'any';
}
