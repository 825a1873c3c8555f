import type { Draft, IngestOutcome, Remark } from '../../model/document.js';
import { truncate } from '../../../platform/text/truncate.js';
import { type Arrival, FUTURE, SHORTENED, WITHOUT_SECRET } from './arrivals.js';
import { type KnownSource, TAKEN_OVER } from './source-owner.js';

export const SUPERSEDED: Remark = {
  pointer: '/metadata/timestamp',
  code: 'document.superseded',
  detail: 'a newer document of this source was already imported; this document was recorded but has no effect',
};

/** contradictions returns remarks about algorithms whose name and OID contradict each other. Both the name and the OID are classified. */
export function contradictions(names: Iterable<string>): Remark[] {
  return [...names].map((name) => ({
    pointer: '',
    code: 'algorithm.contradictory',
    detail: `the name and OID of ${JSON.stringify(truncate(name, 100))} refer to different algorithms; both are assessed`,
  }));
}

export function outcomeOf(
  { draft, source, documentId, notes }: Arrival & { readonly draft: Draft },
  { created, updated }: { readonly created: number; readonly updated: number },
  before: KnownSource,
): IngestOutcome {
  const { received, ignored, rejected, repairs, format } = draft;
  const warnings = [...draft.warnings, ...notes, ...before.notes];
  const unchanged = received - rejected.length - created - updated;
  return {
    documentId,
    source: source.name,
    format,
    received,
    created,
    updated,
    unchanged,
    ignored,
    rejected,
    repairs,
    warnings,
  };
}

/** isGoodEnough reports whether an earlier outcome can be returned for this call. In strict mode, the outcome of a repaired document cannot be returned. */
export function isGoodEnough({ repairs }: IngestOutcome, { order }: Arrival): boolean {
  return order.mode === 'repair' || repairs.length === 0;
}

/**
 * nothingNew returns the outcome of a document with the same content as an earlier document. The lists in the new document were not read, so remarks about the
 * lists are copied from the earlier outcome.
 */
export function nothingNew(earlier: IngestOutcome, documentId: string, { document, notes }: Arrival): IngestOutcome {
  const unchanged = earlier.received - earlier.rejected.length;
  const { format } = document;
  const repairs = [...document.repairs, ...earlier.repairs.filter(({ pointer }) => IN_LISTS.test(pointer))];
  const warnings = [...earlier.warnings.filter(({ code }) => !OF_ONE_ARRIVAL.has(code)), ...notes];
  return { ...earlier, documentId, format, repairs, warnings, created: 0, updated: 0, unchanged };
}

const IN_LISTS = /^\/(?:components|dependencies)\//;

export function entryOf({ order, documentId }: Arrival, outcome: IngestOutcome) {
  const { source, format, received, created, updated, unchanged, ignored, rejected, repairs } = outcome;
  return {
    action: 'inventory.ingested',
    actor: { kind: order.caller.kind, id: order.caller.id, name: order.caller.name },
    target: { kind: 'inventory-document', id: documentId },
    correlation: order.requestId,
    source: order.address,
    detail: {
      source,
      format,
      received,
      created,
      updated,
      unchanged,
      ignored,
      rejected: rejected.length,
      repairs: repairs.length,
    },
  };
}

/** Warnings about the submission of a document, which do not apply to other documents with the same content. */
const OF_ONE_ARRIVAL = new Set([FUTURE.code, SHORTENED.code, TAKEN_OVER.code, WITHOUT_SECRET.code]);

/** together merges the outcomes of the documents in one body. The result names the first source and document. */
export function together(outcomes: readonly IngestOutcome[]): IngestOutcome {
  const [first, ...others] = outcomes;
  if (first === undefined) throw new RangeError('the body contains no document');
  return others.reduce(
    (all, one) => ({
      ...all,
      received: all.received + one.received,
      created: all.created + one.created,
      updated: all.updated + one.updated,
      unchanged: all.unchanged + one.unchanged,
      ignored: all.ignored + one.ignored,
      rejected: [...all.rejected, ...one.rejected],
      repairs: [...all.repairs, ...one.repairs],
      warnings: [
        ...all.warnings,
        ...one.warnings,
        { pointer: '', code: 'source.another', detail: `a part was imported as ${one.source}` },
      ],
    }),
    first,
  );
}
