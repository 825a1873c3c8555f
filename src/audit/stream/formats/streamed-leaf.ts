import { createHash } from 'node:crypto';
import { canonicalJson, quoted } from '../../../platform/json/canonical-json.js';
import { shorten } from '../../../platform/text/truncate.js';
import type { LeafKind } from '../../../verifier/log-verifier.js';
import { type LeafRow, loggedEntry } from '../../log/log-leaf.js';
import { redacted } from '../../../platform/observability/structured-logger.js';

/** An entry as contained in its leaf, with the SHA-256 of its record. */
type LogEntry = ReturnType<typeof loggedEntry>;

/** A leaf of the audit log as sent to receivers. `log` and `number` together identify it permanently. */
export interface StreamedLeaf {
  /** Name of the log. The name changes when a restored database is accepted, so that `log` and `number` never identify two leaves. */
  readonly log: string;
  /** Number of the leaf, starting at 0, without gaps. */
  readonly number: number;
  readonly kind: LeafKind;
  readonly entryId: string;
  /** Undefined if the entry was removed from the database. */
  readonly entry: LogEntry | undefined;
  /** The record of a signature, if the leaf contains a record; otherwise undefined. */
  readonly record: unknown;
}

/** Returns a leaf. If its row or entry was deleted, the leaf becomes `missing`: a removal is reported, not skipped. */
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

/** The facts of a leaf, for formats that cannot represent a deleted entry. */
export interface LeafFacts {
  readonly action: string;
  /** `done`, `refused`, `failed`; empty if the entry was deleted. */
  readonly outcome: string;
  /** RFC 3339; empty if the entry was deleted. */
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly target: { readonly kind: string; readonly id: string };
  readonly correlation: string;
  /** IP address of the client; empty for background work. */
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

/** Reports whether, according to the log, the entry was changed outside the service. */
export function isTampered({ kind }: StreamedLeaf): boolean {
  return kind === 'missing' || kind === 'foreign';
}

/** Lengths to which strings are truncated, in turn, until a message is short enough. */
const LENGTHS = [2000, 500, 100, 30, 10] as const;

/**
 * Returns the message for a leaf, in at most `maxBytes` octets. If a leaf is too long, its detail or record is replaced with its SHA-256 and size; the log
 * contains the original. If that is not enough, strings are truncated, so that no leaf is skipped or blocks later leaves.
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

/** Returns the leaf with digests in place of its large parts. */
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
  // Member names are defined by the service; a truncated SHA-256 is useless.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      KEPT.has(name) ? (member as unknown) : cutTo(length, member as unknown),
    ]),
  ) as Value;
}

/** Members that identify a leaf are never truncated. */
const KEPT = new Set(['log', 'kind', 'entryId', 'id', 'at', 'outcome', 'sha256']);

/** Everything except printable ASCII characters. JSON itself does not escape DEL, C1 controls and bidirectional overrides. */
const NOT_PRINTABLE = /[^ -~]/g;

/**
 * Returns JSON on one line, in printable ASCII, so that no receiver can mistake part of it for a line ending or another encoding. Text that looks
 * like a credential is masked, even though entries contain none.
 */
export function asciiJson(value: unknown): string {
  const text = canonicalJson(value, (item) => quoted(redacted(item)));
  return text.replaceAll(NOT_PRINTABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Returns a leaf as JSON: `{"log","number","kind", …}` with `entry`, with `entryId` and `record`, or only with `entryId` if the entry is missing. The
 * canonical JSON (RFC 8785) of `entry` is what the log hashed, unless the entry lists omitted members.
 */
export function jsonOf({ log, number, kind, entryId, entry, record }: StreamedLeaf): string {
  const content = record === undefined ? (entry === undefined ? { entryId } : { entry }) : { entryId, record };
  return asciiJson({ log, number, kind, ...content });
}
