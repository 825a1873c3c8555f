import { Injectable } from '@nestjs/common';
import type { Caller } from '../../auth/caller.js';
import type { RawBody } from '../../platform/http/raw-body.js';
import type { Mode } from '../cyclonedx/bom-reader.js';
import type { IngestOutcome } from './ingest-outcome.js';
import { IngestThreads } from './ingest-threads.js';

export interface IngestOptions {
  readonly mode?: Mode;
  readonly source?: string;
  readonly idempotencyKey?: string;
}

/** The one door into the inventory. */
@Injectable()
export class IngestService {
  constructor(private readonly threads: IngestThreads) {}

  /** Takes a body in, whatever its format. The bytes are gone afterwards: they are handed over, not copied. */
  ingest(
    caller: Caller,
    body: RawBody,
    { mode = 'repair', source, idempotencyKey }: IngestOptions,
  ): Promise<IngestOutcome> {
    const { kind, id, name, ownerId, origin } = caller;
    return this.threads.take({
      bytes: transferable(body.bytes),
      kind: body.mediaType === 'application/x-ndjson' ? 'ndjson' : 'json',
      mode,
      source,
      caller: { kind, id, name, ownerId },
      requestId: origin.requestId,
      address: origin.address,
      idempotencyKey,
    });
  }
}

/** Small buffers share their memory with others and must be copied; a large one has it to itself. */
function transferable(bytes: Buffer): ArrayBuffer {
  const memory = bytes.buffer;
  if (memory instanceof ArrayBuffer && bytes.byteLength === memory.byteLength) return memory;
  return new Uint8Array(bytes).buffer;
}
