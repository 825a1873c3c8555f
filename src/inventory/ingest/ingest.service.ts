import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import type { RawBody } from '../../platform/http/bodies/raw-body.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import { mayDo } from '../../access/scopes.js';
import type { BodyKind } from '../readers/body-reader.js';
import type { IngestOrder } from './ingest-order.js';
import type { IngestOutcome } from '../model/ingest-outcome.js';
import { IngestThreads, transferable } from './ingest-threads.js';

export interface IngestOptions {
  readonly mode?: Mode;
  readonly source?: string;
  readonly idempotencyKey?: string;
  /** Of a key store. */
  readonly password?: string;
}

/** Other media types say little: what is in them is looked at. */
const BODY_KINDS: Readonly<Record<string, BodyKind>> = {
  'application/json': 'json',
  'application/vnd.cyclonedx+json': 'json',
  'application/sarif+json': 'json',
  'application/x-ndjson': 'ndjson',
};

/** The one door into the inventory. */
@Injectable()
export class IngestService {
  constructor(private readonly threads: IngestThreads) {}

  /** Takes a body in, whatever its format. The bytes are gone afterwards: they are handed over, not copied. */
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

/** What an order keeps of its caller. */
export function reporterOf({ kind, id, name, ownerId, scopes }: Caller): IngestOrder['caller'] {
  return { kind, id, name, ownerId, mayWrite: mayDo(scopes, 'inventory:write') };
}

export function bodyKindOf({ mediaType }: RawBody): BodyKind {
  return BODY_KINDS[mediaType] ?? 'any';
}
