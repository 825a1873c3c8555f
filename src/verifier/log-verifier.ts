import { base64Bytes, fromBase64 } from '../formats/encoding/base64.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { EntryOrder } from './entry-order.js';
import { GrowingRoot, HASH_BYTES, leafHash } from './merkle-tree.js';
import { isConsistent } from './merkle-proof.js';
import { type AcceptedRollback, acceptedRollbackIn, coveringRollback } from './accepted-rollback.js';
import { type Checkpoint, openNote } from './signed-note.js';
import { readJsonObject } from '../platform/json/strict-json.js';

/**
 * The content of a leaf. `entry`: an entry of the audit log. `record`: the record of a signature in an entry, in the format of sigstore's verifiers.
 * `missing`: an entry that was deleted before it was numbered. `foreign`: one that the service did not write.
 */
export type LeafKind = 'entry' | 'record' | 'missing' | 'foreign';

/** First line of an export of the log. */
export interface ExportHead {
  readonly log: string;
  /** SubjectPublicKeyInfo, DER, base64. */
  readonly publicKey: string;
  readonly size: number;
  /** Signed note over a tree of `size`. */
  readonly checkpoint: string;
}

/** Lines after the last leaf: entries of the table that are not leaves and are not waiting to become one. The service leaves none. */
export interface UnloggedEntry {
  readonly unlogged: { readonly id: string; readonly at: string; readonly action: string };
}

/** Every further line: a leaf, in order. */
export interface ExportedLeaf {
  readonly index: number;
  readonly kind: LeafKind;
  readonly entryId: string;
  /** Hash of the leaf when it was numbered, base64. */
  readonly hash: string;
  /** The content of the leaf, now; its canonical JSON are the leaf's bytes. null when it was deleted. */
  readonly data: object | null;
}

/** The result: without findings, the log is the one of its checkpoint. */
export interface LogFinding {
  /** Number of the leaf; undefined when it is about the whole log. */
  readonly index?: number;
  readonly detail: string;
}

export interface LogVerdict {
  /** Leaves that were there. */
  readonly size: number;
  readonly findings: readonly LogFinding[];
  /** Facts that an auditor must know although they are not faults: rollbacks that an operator accepted. */
  readonly notes: readonly string[];
  /** The newest signed checkpoint, as it came; undefined when the key of the log did not sign it. */
  readonly checkpoint: { readonly origin: string; readonly note: string; readonly publicKey: Buffer } | undefined;
}

/** The members of a line that are checked; the kind of leaf is in its data, which the hash covers. */
type Line = Omit<ExportedLeaf, 'kind'>;

const MAX_FINDINGS = 100;
const UNREADABLE = Buffer.alloc(HASH_BYTES);

/**
 * Verifies an export of the log without the service, line by line: every leaf against its content, their order, the root against the signed checkpoint, and
 * the first leaves against an older checkpoint from elsewhere. It stores no leaf.
 *
 * `publicKey` is the key of the log from a trusted source (SubjectPublicKeyInfo, DER). Without it the key in the export is used, which proves only that the
 * export is complete.
 */
export class LogVerifier {
  readonly findings: LogFinding[] = [];
  private readonly tree = new GrowingRoot();
  private readonly order = new EntryOrder();
  private head: { readonly note: string; readonly key: Buffer } | undefined;
  private checkpoint: Checkpoint | undefined;
  private older: Checkpoint | undefined;
  private readonly rollbacks: AcceptedRollback[] = [];
  private divergesFromOlder = false;
  /** Offset between the numbers on the lines and their positions: one missing line is reported once. */
  private shift = 0;

  constructor(private readonly trusted: { publicKey?: Buffer; olderNote?: string } = {}) {}

  /** A line of the export, in order. */
  line(text: string): void {
    const unlogged = this.head === undefined ? undefined : parsed(text)?.['unlogged'];
    if (this.head === undefined) this.begin(text);
    else if (unlogged !== undefined) this.found(`an entry is not in the log: ${JSON.stringify(unlogged)}`);
    else this.leaf(text);
  }

  /** After the last line. */
  end(): LogVerdict {
    const { checkpoint, tree, head } = this;
    if (head === undefined) this.found('the export is empty');
    else if (checkpoint !== undefined) this.compareWith(checkpoint);
    const notes = this.older === undefined ? [] : this.judgeOlder(this.older);
    const signed = checkpoint && head && { origin: checkpoint.origin, note: head.note, publicKey: head.key };
    return { size: tree.size, findings: this.findings, notes, checkpoint: signed };
  }

  private begin(text: string): void {
    const { publicKey, checkpoint } = parsed(text) ?? {};
    const note = typeof checkpoint === 'string' ? checkpoint : '';
    const key = this.trusted.publicKey ?? fromBase64(typeof publicKey === 'string' ? publicKey : '') ?? Buffer.alloc(0);
    this.head = { note, key };
    this.checkpoint = openNote(note, key);
    // First of all: what else is found may be more than is listed.
    if (this.checkpoint === undefined) this.found('the checkpoint is not signed by the key of the log');
    if (this.trusted.olderNote === undefined) return;
    this.older = openNote(this.trusted.olderNote, key);
    if (this.older === undefined) this.found('the older checkpoint is not signed by the key of the log');
    this.compareWithOlder();
  }

  private leaf(text: string): void {
    const place = this.tree.size;
    const leaf = readLeaf(text);
    if (leaf === undefined) this.found('cannot be read', place);
    else this.check(leaf, place);
    this.tree.add(leaf === undefined ? UNREADABLE : base64Bytes(leaf.hash));
    this.compareWithOlder();
  }

  private check({ index, entryId, hash, data }: Line, place: number): void {
    if (index - place !== this.shift && index !== place) this.found(`leaf ${index} is in its place`, place);
    this.shift = index - place;
    if (data === null) this.found(`its entry ${entryId} is gone`, place);
    else if (leafHash(canonicalJson(data)).toString('base64') !== hash)
      this.found(`its entry ${entryId} differs from the numbered one`, place);
    else if ('foreign' in data) this.found(`its entry ${entryId} was not written by the service`, place);
    else if (acceptedRollbackIn(data) !== undefined) this.rollbacks.push(acceptedRollbackIn(data) as AcceptedRollback);
    else if ('missing' in data) this.found(`its entry ${entryId} was removed before it was numbered`, place);
    if (data !== null) this.checkOrder(data, place);
  }

  /** Checks the order of an entry. Records are skipped, because they have no id or time. */
  private checkOrder(data: object, place: number): void {
    const { id, at } = data as { readonly id?: unknown; readonly at?: unknown };
    if (typeof id !== 'string' || typeof at !== 'string') return;
    const fault = this.order.faultOf(id, at);
    if (fault !== undefined) this.found(`its entry ${fault}`, place);
  }

  private compareWith({ size, root }: Checkpoint): void {
    if (this.tree.size !== size) this.found(`the checkpoint covers ${size} leaves, and ${this.tree.size} exist`);
    else if (!this.tree.root().equals(root)) this.found('the leaves do not have the root of the checkpoint');
  }

  private compareWithOlder(): void {
    if (this.older?.size === this.tree.size && !this.older.root.equals(this.tree.root())) this.divergesFromOlder = true;
  }

  /** Compares with the older checkpoint after all leaves. A rollback that the log itself shows as accepted is a note, any other a finding. */
  private judgeOlder(older: Checkpoint): string[] {
    const now = this.checkpoint?.origin;
    const accepted = coveringRollback(this.rollbacks, older, now, this.divergesFromOlder);
    if (accepted !== undefined) return [accepted];
    if (now !== undefined && older.origin !== now)
      this.found(`the older checkpoint is of another log, ${older.origin}`);
    if (this.divergesFromOlder) this.found(`the first ${older.size} leaves differ from those of the older checkpoint`);
    if (older.size > this.tree.size)
      this.found(`an older checkpoint covers ${older.size} leaves: the log was rolled back`);
    return [];
  }

  private found(detail: string, index?: number): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push({ index, detail });
  }
}

/** True when the log of the first note grew into that of the second, by the proof that the log gives. */
export function provesGrowth(first: Checkpoint, second: Checkpoint, path: readonly Buffer[]): boolean {
  return isConsistent({
    first: first.size,
    firstRoot: first.root,
    second: second.size,
    secondRoot: second.root,
    path,
  });
}

/** The export is not trusted: any member may be missing or of another type. */
function readLeaf(text: string): Line | undefined {
  const { index, entryId, hash, data } = parsed(text) ?? {};
  if (typeof index !== 'number' || typeof hash !== 'string' || typeof data !== 'object') return undefined;
  if (fromBase64(hash)?.length !== HASH_BYTES) return undefined;
  return { index, entryId: String(entryId), hash, data };
}

/** Members of an object, of which any may be missing, or something else. */
function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return readJsonObject(text);
  } catch {
    return undefined;
  }
}
