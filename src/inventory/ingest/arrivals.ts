import { newId } from '../../platform/database/new-id.js';
import { hashId } from '../model/asset-identity.js';
import { type Arrival, MAX_CLOCK_SKEW_MINUTES } from './document.repository.js';
import type { CheckedDocument } from '../model/document.js';
import type { IngestOrder } from './ingest-order.js';
import type { Remark } from '../model/ingest-outcome.js';
import { instant } from '../model/validity.js';

export const FUTURE: Remark = {
  pointer: '/metadata/timestamp',
  code: 'document.future',
  detail: 'the time of the document is in the future: the time at which it came counts instead',
};

/** The documents of a body, each with the source that it is about. */
export function arrivalsOf(
  order: IngestOrder,
  documents: readonly CheckedDocument[],
  digest: Buffer,
  now = new Date(),
): Arrival[] {
  return documents.map((given, part) => {
    const document = asOf(given, now);
    const name = order.source ?? document.source ?? defaultSource(order, document, digest);
    const notes = document === given ? [] : [FUTURE];
    return { order, document, source: { id: hashId('source', name), name }, digest, documentId: newId(), part, notes };
  });
}

/** A time of the future would make every later document of the source an older one. */
function asOf(document: CheckedDocument, now: Date): CheckedDocument {
  const time = instant(document.time);
  const latest = now.getTime() + MAX_CLOCK_SKEW_MINUTES * 60_000;
  return time === null || Date.parse(time) <= latest ? document : { ...document, time: now.toISOString() };
}

/** A sensor stands for itself; an upload that does not say what it describes stands for nothing but its own bytes. */
function defaultSource(order: IngestOrder, { whole }: CheckedDocument, digest: Buffer): string {
  return whole ? `document:${digest.toString('hex').slice(0, 32)}` : `${order.caller.kind}:${order.caller.id}`;
}
