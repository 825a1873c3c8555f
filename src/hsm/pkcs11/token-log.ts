import { createHash } from 'node:crypto';
import { EMPTY_ROOT, HASH_BYTES } from '../../verifier/merkle-tree.js';
import { isConsistent } from '../../verifier/merkle-proof.js';
import { noteText, openNote } from '../../verifier/signed-note.js';
import { CKA, CKO } from '../../formats/pkcs/cryptoki.js';
import type {
  TokenKey,
  GeneratedKey,
  AcceptedLog,
  CheckpointAnswer,
  CheckpointOrder,
  LogAnchor,
  NewLogOrder,
} from '../key-vault.js';
import type { Canary } from './canary.js';
import { LOG_LABEL, publicKeyInfoOf } from './key-directory.js';
import { KeyProcessFault } from './key-process-fault.js';
import type { Handle } from './pkcs11-token.js';
import type { TokenChanges } from './token-changes.js';
import { writeData } from './token-data.js';
import type { TokenGenerator } from './token-generator.js';
import type { SigningParts, TokenSigner } from './token-signer.js';
import { fromBase64 } from '../../formats/encoding/base64.js';

const TYPE = 'ec-p256';
const ANCHOR_VERSION = 'sealwright log anchor 1';
const ANCHOR_LABEL = 'sealwright-log-anchor';
const MAX_ORIGIN_LENGTH = 300;

interface KeptAnchor {
  readonly object: Handle;
  readonly anchor: LogAnchor;
}

/**
 * TokenLog signs checkpoints with the log's key, which signs nothing else. The token stores the last signed checkpoint in a data object. Regardless of the
 * database content, a checkpoint that is not consistent with the stored checkpoint is not signed.
 */
export class TokenLog {
  private readonly parts: SigningParts;
  private readonly signer: TokenSigner;
  private readonly generator: TokenGenerator;
  /** Serializes the calls, because reading the anchor and writing the next anchor must be atomic. */
  private readonly changes: TokenChanges;

  private readonly canary: Canary;

  constructor(
    parts: SigningParts,
    signer: TokenSigner,
    generator: TokenGenerator,
    changes: TokenChanges,
    canary: Canary,
  ) {
    this.parts = parts;
    this.signer = signer;
    this.generator = generator;
    this.changes = changes;
    this.canary = canary;
  }

  /** Generates the key and the anchor of a log. Throws KeyProcessFault `refused` if a checkpoint of a log with this origin has been signed, with any key. */
  generateKey({ ckaId, origin }: NewLogOrder): Promise<GeneratedKey> {
    return this.changes.run(async () => {
      assertOrigin(origin);
      const there = this.newest(origin);
      if (there !== undefined && there.anchor.size > 0)
        throw new KeyProcessFault('refused', `the token already has a log ${origin} with ${there.anchor.size} leaves`);
      const key = keyOf(ckaId);
      const empty = { origin, size: 0, root: EMPTY_ROOT };
      const made = await this.generator.generate({ ...key, type: TYPE, trial: noteHash(empty) });
      this.keep({ ...empty, ckaId: key.ckaId, since: 0 });
      return made;
    });
  }

  /**
   * Returns the newest anchor. Throws a fatal KeyProcessFault if the token was removed, so that a removed token is not mistaken for a token without the log.
   */
  anchor({ origin }: { readonly origin: string }): Promise<{ anchor?: LogAnchor }> {
    return this.changes.runNext(() => {
      const newest = this.newest(origin);
      if (newest === undefined) this.canary.assertPresent();
      return Promise.resolve(answerOf(newest));
    });
  }

  /**
   * Signs a checkpoint before pending key changes, because the service waits for the signature with an open transaction. The signature is returned only after
   * the anchor has been written. After a crash between these two steps, the same checkpoint can be signed again, because the checkpoint equals the anchor.
   */
  sign(order: CheckpointOrder): Promise<CheckpointAnswer> {
    return this.changes.runNext(async () => {
      assertOrigin(order.origin);
      const { origin, size } = order;
      const root = Buffer.from(order.root);
      if (!Number.isSafeInteger(size) || size < 0 || root.length !== HASH_BYTES)
        throw new KeyProcessFault(
          'refused',
          `invalid checkpoint: the size must be a non-negative integer and the root must have ${HASH_BYTES} bytes`,
        );
      const key = keyOf(order.ckaId);
      const start = this.newest(origin)?.anchor ?? this.started(order, key);
      if (start === undefined) return { kind: 'held', why: 'no-anchor' };
      if (!key.ckaId.equals(start.ckaId)) return { kind: 'held', why: 'other-key', anchor: start };
      if (size < start.size) return { kind: 'held', why: 'rolled-back', anchor: start };
      if (!continues(start, { size, root, proof: order.proof })) return { kind: 'held', why: 'forked', anchor: start };
      const publicKey = Buffer.from(order.publicKey);
      const digest = noteHash({ origin, size, root });
      const signing = { key: { ...key, type: TYPE, publicKey }, scheme: 'ecdsa-der', algorithm: 'sha256' } as const;
      const signature = await this.signer.signWith({ ...signing, digest });
      const anchor = { ...start, size, root };
      this.keep(anchor);
      return { kind: 'signed', signature, anchor };
    });
  }

  accept({ origin, state }: AcceptedLog): Promise<{ anchor?: LogAnchor }> {
    return this.changes.run(async () => {
      assertOrigin(origin);
      const before = this.newest(origin);
      const { since = 0 } = before?.anchor ?? {};
      for (const { object } of this.all(origin)) this.remove(object);
      if (state !== undefined) this.keep({ origin, since, ...state });
      return Promise.resolve(answerOf(before));
    });
  }

  /** Returns the first anchor of a log that an earlier version started: the newest checkpoint, if that checkpoint was signed with the key in the token. */
  private started({ origin, lastNote }: CheckpointOrder, key: TokenKey): LogAnchor | undefined {
    const { directory } = this.parts;
    const [object] = directory.all(CKO.PUBLIC_KEY, key);
    if (object === undefined || lastNote === undefined) return undefined;
    const signed = openNote(lastNote, publicKeyInfoOf(directory, object, TYPE));
    if (signed?.origin !== origin) return undefined;
    return { origin, ckaId: key.ckaId, size: signed.size, root: signed.root, since: Date.now() };
  }

  /** Writes the new anchor before removing the old anchor, so that the newest anchor is correct even after a crash between the two steps. */
  private keep(anchor: LogAnchor): void {
    const older = this.all(anchor.origin);
    writeData(this.parts, ANCHOR_LABEL, encodeAnchor(anchor));
    for (const { object } of older) this.remove(object);
  }

  private remove(object: Handle): void {
    const session = this.parts.token.openSession(true);
    try {
      this.parts.token.destroyObject(session, object);
    } finally {
      this.parts.token.closeSession(session);
    }
  }

  private newest(origin: string): KeptAnchor | undefined {
    const [newest] = this.all(origin).toSorted((one, other) => other.anchor.size - one.anchor.size);
    return newest;
  }

  private all(origin: string): KeptAnchor[] {
    const { directory } = this.parts;
    return directory.labelled(CKO.DATA, ANCHOR_LABEL).flatMap((object) => {
      const anchor = decodeAnchor(directory.attribute(object, CKA.VALUE));
      return anchor?.origin === origin ? [{ object, anchor }] : [];
    });
  }
}

function answerOf(kept: KeptAnchor | undefined): { anchor?: LogAnchor } {
  return kept === undefined ? {} : { anchor: kept.anchor };
}

function continues(
  start: LogAnchor,
  { size, root, proof }: { size: number; root: Buffer; proof: readonly Uint8Array[] },
): boolean {
  const path = proof.map((hash) => Buffer.from(hash));
  if (path.some((hash) => hash.length !== HASH_BYTES)) return false;
  return isConsistent({ first: start.size, firstRoot: Buffer.from(start.root), second: size, secondRoot: root, path });
}

function noteHash(checkpoint: { origin: string; size: number; root: Buffer }): Buffer {
  return createHash('sha256').update(noteText(checkpoint)).digest();
}

function keyOf(ckaId: Uint8Array): TokenKey {
  return { ckaId: Buffer.from(ckaId), labels: [LOG_LABEL] };
}

/** Throws unless the origin can be a line of a note (C2SP tlog-checkpoint). */
function assertOrigin(origin: string): void {
  if (origin === '' || origin.length > MAX_ORIGIN_LENGTH || /[\p{C}\s+]/u.test(origin))
    throw new KeyProcessFault('refused', 'the name of a log must be a single line without spaces');
}

/** Encodes the anchor as lines of text for the CKA_VALUE of its data object. */
function encodeAnchor({ origin, ckaId, size, root, since }: LogAnchor): Buffer {
  const hex = Buffer.from(ckaId).toString('hex');
  return Buffer.from(
    `${ANCHOR_VERSION}\n${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n${hex}\n${since}\n`,
  );
}

/** Decodes the anchor in a CKA_VALUE; undefined if `encodeAnchor` did not write it. */
function decodeAnchor(value: Buffer): LogAnchor | undefined {
  const [version, origin, size, root, ckaId, since, ...rest] = value.toString().split('\n');
  if (version !== ANCHOR_VERSION || !origin || rest.join('') !== '') return undefined;
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
