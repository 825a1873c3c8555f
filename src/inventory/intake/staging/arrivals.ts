import { createHash } from 'node:crypto';
import { truncate } from '../../../platform/text/truncate.js';
import { newId } from '../../../platform/database/new-id.js';
import { hashId } from '../../model/asset-identity.js';
import type { CheckedDocument, Remark } from '../../model/document.js';
import type { IngestOrder } from './ingest-order.js';
import { instant } from '../../model/date-time.js';
import { withoutSecretMembers } from '../../model/secrets.js';

/** MAX_CLOCK_SKEW_MINUTES is the maximum clock skew between a reporter and the service. */
export const MAX_CLOCK_SKEW_MINUTES = 5;

/** Arrival is a document with its origin. */
export interface Arrival {
  readonly order: IngestOrder;
  readonly document: CheckedDocument;
  readonly source: { readonly id: string; readonly name: string };
  /** SHA-256 of the body. */
  readonly digest: Buffer;
  readonly documentId: string;
  /** Index of the document in the body, starting at 0. */
  readonly part: number;
  /** Remarks about the submission of the document rather than its content. */
  readonly notes: readonly Remark[];
}

export const FUTURE: Remark = {
  pointer: '/metadata/timestamp',
  code: 'document.future',
  detail: 'the time of the document is in the future: the time of receipt is used instead',
};

/** MAX_SOURCE_LENGTH is the maximum length of a source name, which is indexed. The parameter `source` has the same maximum length. */
const MAX_SOURCE_LENGTH = 500;
const DIGEST_LENGTH = 16;

export const SHORTENED: Remark = {
  pointer: '',
  code: 'source.shortened',
  detail: `the source name is longer than ${MAX_SOURCE_LENGTH} characters: it is truncated and ends with part of its SHA-256`,
};

export const WITHOUT_SECRET: Remark = {
  pointer: '',
  code: 'source.secret',
  detail: 'the name of the source contained a secret, which is withheld',
};

/** Matches the start of a name that contains the owner, `api-key:<id>`. This prefix must be kept, although it looks like a secret API key. */
const OWNER_BY_KEY = /^api-key:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])/i;

/** withoutSecrets returns a source name from a caller or document, without secrets such as a password or token in a repository URL. */
export function withoutSecrets(name: string): string {
  const [owner = ''] = OWNER_BY_KEY.exec(name) ?? [];
  return owner + withoutSecretMembers(name.slice(owner.length));
}

/** Shortens a long name. The appended digest keeps names with the same beginning distinct. */
function sourceName(name: string): string {
  if (name.length <= MAX_SOURCE_LENGTH) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_LENGTH);
  return `${truncate(name, MAX_SOURCE_LENGTH - DIGEST_LENGTH - 1)}~${digest}`;
}

/** arrivalsOf returns the documents in a body, each with its source. */
export function arrivalsOf(
  order: IngestOrder,
  documents: readonly CheckedDocument[],
  digest: Buffer,
  now = new Date(),
): Arrival[] {
  return documents.map((given, part) => {
    const document = asOf(given, now);
    const stated = order.source ?? document.source;
    const whole = stated === undefined ? defaultSource(order, document, digest) : withoutSecrets(stated);
    const name = sourceName(whole);
    const notes = [
      ...(document === given ? [] : [FUTURE]),
      ...(stated === undefined || whole === stated ? [] : [WITHOUT_SECRET]),
      ...(name === whole ? [] : [SHORTENED]),
    ];
    return { order, document, source: { id: hashId('source', name), name }, digest, documentId: newId(), part, notes };
  });
}

/**
 * underOwnName returns the arrival under a source name that contains the reporter. Returns undefined if the document or the caller specifies the source. Use
 * this function for a document without a source whose bytes another reporter has already sent. Many reporters send the same certificates and published
 * documents.
 */
export function underOwnName(arrival: Arrival): Arrival | undefined {
  const { order, document, digest, source } = arrival;
  const isUnnamed = document.whole && order.source === undefined && document.source === undefined;
  if (!isUnnamed || source.name !== defaultSource(order, document, digest)) return undefined;
  const name = `${order.caller.kind}:${order.caller.id}/${source.name}`;
  return { ...arrival, source: { id: hashId('source', name), name } };
}

/** Replaces a time in the future with the current time, because a future time would make every later document of the source appear older. */
function asOf(document: CheckedDocument, now: Date): CheckedDocument {
  const time = instant(document.time);
  const latest = now.getTime() + MAX_CLOCK_SKEW_MINUTES * 60_000;
  return time === null || Date.parse(time) <= latest ? document : { ...document, time: now.toISOString() };
}

/**
 * Returns the source name for a document that does not contain a source: the document's digest for a complete document, the reporter for a partial scan.
 */
function defaultSource(order: IngestOrder, { whole }: CheckedDocument, digest: Buffer): string {
  return whole ? `document:${digest.toString('hex').slice(0, 32)}` : `${order.caller.kind}:${order.caller.id}`;
}
