import { HASH_BYTES } from '../verifier/merkle-tree.js';
import { fromBase64 } from '../formats/encoding/base64.js';

/** What the key of a log signed last, as the token keeps it where no database reaches: the next checkpoint must continue it. */
export interface LogAnchor {
  /** Name of the log (C2SP tlog-checkpoint). */
  readonly origin: string;
  /** CKA_ID of its key. */
  readonly ckaId: Uint8Array;
  /** Leaves of the last checkpoint; 0 before the first. */
  readonly size: number;
  readonly root: Uint8Array;
  /** Milliseconds since 1970 when a log that an earlier version had begun was anchored; 0 for one that had its anchor from the start. */
  readonly since: number;
}

export interface NewLogOrder {
  readonly ckaId: Uint8Array;
  readonly origin: string;
}

/** What a checkpoint is to say. The note is put together from it in the key process; nobody else chooses what the log's key signs. */
export interface CheckpointOrder {
  readonly origin: string;
  readonly ckaId: Uint8Array;
  /** SubjectPublicKeyInfo, DER: what the signature is checked against. */
  readonly publicKey: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  /** Hashes that lead from the anchored tree to this one (RFC 9162 section 2.1.4). */
  readonly proof: readonly Uint8Array[];
  /** Newest signed note; with it a log that has no anchor yet gets one. */
  readonly lastNote?: string | undefined;
}

/**
 * Why no checkpoint is signed. `rolled-back`: the log has fewer leaves than were signed. `forked`: its first leaves are not those
 * that were signed. `other-key`: another key signs this log. `no-anchor`: the token knows nothing of this log, and no checkpoint
 * that its key signed was given.
 */
export const LOG_HOLDS = ['rolled-back', 'forked', 'other-key', 'no-anchor'] as const;
export type LogHold = (typeof LOG_HOLDS)[number];

export type CheckpointAnswer =
  | { readonly kind: 'signed'; readonly signature: Uint8Array; readonly anchor: LogAnchor }
  | { readonly kind: 'held'; readonly why: LogHold; readonly anchor?: LogAnchor | undefined };

/** What an operator accepts as the state of the log of this origin; without `state` its anchor is removed, and it may begin anew. */
export interface AcceptedLog {
  readonly origin: string;
  readonly state?: { readonly ckaId: Uint8Array; readonly size: number; readonly root: Uint8Array } | undefined;
}

const VERSION = 'sealwright log anchor 1';

/** CKA_VALUE of the data object: lines of text. */
export function encodeAnchor({ origin, ckaId, size, root, since }: LogAnchor): Buffer {
  const hex = Buffer.from(ckaId).toString('hex');
  return Buffer.from(`${VERSION}\n${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n${hex}\n${since}\n`);
}

/** Undefined for what `encodeAnchor` did not write. */
export function decodeAnchor(value: Buffer): LogAnchor | undefined {
  const [version, origin, size, root, ckaId, since, ...rest] = value.toString().split('\n');
  if (version !== VERSION || !origin || rest.join('') !== '') return undefined;
  if (!/^\d{1,15}$/.test(size ?? '') || !/^\d{1,15}$/.test(since ?? '')) return undefined;
  const anchor = {
    origin,
    ckaId: Buffer.from(ckaId ?? '', 'hex'),
    size: Number(size),
    root: fromBase64(root ?? '') ?? Buffer.alloc(0),
    since: Number(since),
  };
  return anchor.ckaId.length > 0 && anchor.root.length === HASH_BYTES ? anchor : undefined;
}
