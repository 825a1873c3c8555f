import { createHash } from 'node:crypto';
import { canonicalJson, quoted } from '../../../platform/json/canonical-json.js';
import { shorten } from '../../../platform/text/truncate.js';
import type { LeafKind } from '../../../verifier/log-verifier.js';
import { type LeafRow, loggedEntry } from '../../log/log-leaf.js';
import { redacted } from '../../../platform/log/structured-logger.js';

/** An entry as its leaf has it, with the SHA-256 of its record. */
type LogEntry = ReturnType<typeof loggedEntry>;

/** A leaf of the audit log as receivers get it. `log` and `number` together identify it permanently. */
export interface StreamedLeaf {
  /** Name of the log. It changes when a restored database is accepted, so that no number identifies two leaves. */
  readonly log: string;
  /** Number of the leaf, from 0, without gaps. */
  readonly number: number;
  readonly kind: LeafKind;
  readonly entryId: string;
  /** Undefined when it was removed from the database. */
  readonly entry: LogEntry | undefined;
  /** Of a leaf that is the record of a signature; undefined for all others. */
  readonly record: unknown;
}

/** A leaf whose row or entry was deleted becomes `missing`: a removal is reported, not skipped. */
export function streamedLeaf(log: string, row: LeafRow): StreamedLeaf {
  const isThere = row.kind !== null && row.at !== null;
  return {
    log,
    number: Number(row.index),
    kind: isThere ? row.kind : 'missing',
    entryId: row.entryId ?? '',
    entry: isThere ? loggedEntry(row) : undefined,
    record: isThere && row.kind === 'record' ? parsed(row.record) : undefined,
  };
}

function parsed(record: string | null): unknown {
  return record === null ? undefined : (JSON.parse(record) as unknown);
}

/** A leaf for formats that cannot represent a deleted entry. */
export interface LeafFacts {
  readonly action: string;
  /** `done`, `refused`, `failed`; empty if the entry was deleted. */
  readonly outcome: string;
  /** RFC 3339; empty if the entry was deleted. */
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly target: { readonly kind: string; readonly id: string };
  readonly correlation: string;
  /** Address of the client; empty for background work. */
  readonly source: string;
  readonly detail: object;
}

const GONE: LeafFacts = {
  action: 'audit-log.missing',
  outcome: '',
  at: '',
  actor: { kind: 'unknown', id: 'unknown', name: 'unknown' },
  target: { kind: 'audit-entry', id: '' },
  correlation: '',
  source: '',
  detail: {},
};

export function leafFactsOf({ entry }: StreamedLeaf): LeafFacts {
  return entry ?? GONE;
}

/** Whether, according to the log, it was changed outside the service. */
export function isTampered({ kind }: StreamedLeaf): boolean {
  return kind === 'missing' || kind === 'foreign';
}

/** Lengths that texts are cut to, one after the other, until a message is short enough. */
const LENGTHS = [2000, 500, 100, 30, 10] as const;

/**
 * The message for a leaf, with at most `maxBytes` octets. Of a leaf that is too long the detail, or the record, is replaced by its SHA-256
 * and size; the log has it. If that is not enough, texts are cut: no leaf is left out, and none holds up the others.
 */
export function fitted(leaf: StreamedLeaf, maxBytes: number, write: (leaf: StreamedLeaf) => string): string {
  const whole = write(leaf);
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const short = withoutParts(leaf);
  let text = write(short);
  for (const length of LENGTHS) {
    if (Buffer.byteLength(text) <= maxBytes) break;
    text = write(cutTo(length, short));
  }
  return text;
}

/** The leaf with only the digests of its large parts. */
export function withoutParts(leaf: StreamedLeaf): StreamedLeaf {
  const { entry, record } = leaf;
  return {
    ...leaf,
    entry: entry && { ...entry, detail: digestOf(entry.detail) },
    record: record === undefined ? undefined : digestOf(record),
  };
}

function digestOf(value: unknown) {
  const text = canonicalJson(value);
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { leftOut: { bytes: Buffer.byteLength(text), sha256 } };
}

function cutTo<Value>(length: number, value: Value): Value {
  if (typeof value === 'string') return shorten(value, length) as Value;
  if (typeof value !== 'object' || value === null) return value;
  // Names of members are ours; a digest of 64 characters is of no use in part.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      KEPT.has(name) ? (member as unknown) : cutTo(length, member as unknown),
    ]),
  ) as Value;
}

/** What names a leaf is never cut. */
const KEPT = new Set(['log', 'kind', 'entryId', 'id', 'at', 'outcome', 'sha256']);

/** Everything that is not a printable character of ASCII. JSON itself leaves DEL, C1 controls and overrides of the direction of writing as they are. */
const NOT_PRINTABLE = /[^ -~]/g;

/**
 * Returns JSON on one line, in printable ASCII, so that no receiver can mistake a part of it for the end of a line or for another encoding. Text that looks
 * like a credential is masked, although entries contain none.
 */
export function asciiJson(value: unknown): string {
  const text = canonicalJson(value, (item) => quoted(redacted(item)));
  return text.replaceAll(NOT_PRINTABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Returns a leaf as JSON: `{"log","number","kind", …}` with `entry`, with `entryId` and `record`, or only with `entryId` if it is missing. The canonical JSON
 * (RFC 8785) of `entry` is what the log hashed, unless it lists omitted members.
 */
export function jsonOf({ log, number, kind, entryId, entry, record }: StreamedLeaf): string {
  const content = record === undefined ? (entry === undefined ? { entryId } : { entry }) : { entryId, record };
  return asciiJson({ log, number, kind, ...content });
}
