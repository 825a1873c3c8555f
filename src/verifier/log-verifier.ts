import { base64Bytes, fromBase64 } from '../formats/encoding/base64.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { EntryOrder } from './entry-order.js';
import { GrowingRoot, HASH_BYTES, leafHash } from './merkle-tree.js';
import { isConsistent } from './merkle-proof.js';
import { type AcceptedRollback, acceptedRollbackIn, coveringRollback } from './accepted-rollback.js';
import { type Checkpoint, openNote } from './signed-note.js';
import { readJsonObject } from '../platform/json/strict-json.js';

/**
 * The content of a leaf. `entry`: an entry of the audit log. `record`: the record of a signature in an entry, in the format of Sigstore verifiers.
 * `missing`: an entry that was deleted before it was numbered. `foreign`: an entry that the service did not write.
 */
export type LeafKind = 'entry' | 'record' | 'missing' | 'foreign';

/** First line of a log export. */
export interface ExportHead {
  readonly log: string;
  /** SubjectPublicKeyInfo, DER, base64. */
  readonly publicKey: string;
  readonly size: number;
  /** Signed note for the tree with `size` leaves. */
  readonly checkpoint: string;
}

/**
 * A line after the last leaf: an entry in the table that is neither a leaf nor waiting to become a leaf. The service itself does not create unlogged entries.
 */
export interface UnloggedEntry {
  readonly unlogged: { readonly id: string; readonly at: string; readonly action: string };
}

/** Any other line: one leaf. The leaves are in log order. */
export interface ExportedLeaf {
  readonly index: number;
  readonly kind: LeafKind;
  readonly entryId: string;
  /** Hash of the leaf when it was numbered, base64. */
  readonly hash: string;
  /** Current content of the leaf; null if the content was deleted. The canonical JSON of the content is the leaf's bytes. */
  readonly data: object | null;
}

/** A finding. Without findings, the log matches its checkpoint. */
export interface LogFinding {
  /** Index of the leaf; undefined if the finding is about the whole log. */
  readonly index?: number;
  readonly detail: string;
}

export interface LogVerdict {
  /** Number of leaves in the export. */
  readonly size: number;
  readonly findings: readonly LogFinding[];
  /** Facts that are not faults but that auditors must know: rollbacks that an operator accepted. */
  readonly notes: readonly string[];
  /** The checkpoint in the export, unchanged; undefined if the log key did not sign the checkpoint. */
  readonly checkpoint: { readonly origin: string; readonly note: string; readonly publicKey: Buffer } | undefined;
}

/** Members of a line that are checked. The leaf kind is in `data`, which the hash covers. */
type Line = Omit<ExportedLeaf, 'kind'>;

const MAX_FINDINGS = 100;
const UNREADABLE = Buffer.alloc(HASH_BYTES);

/**
 * LogVerifier verifies an export of the log without the service, line by line: every leaf against its content, the order of the leaves, the root against the
 * signed checkpoint, and the first leaves against an older checkpoint from another source. Leaves are not kept in memory.
 *
 * `publicKey` is the key of the log from a trusted source (SubjectPublicKeyInfo, DER). Without `publicKey`, the key in the export is used, which only shows
 * that the export is consistent.
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
  /** Difference between the index on a line and the position of the line. The difference ensures that a missing line is reported only once. */
  private shift = 0;

  constructor(private readonly trusted: { publicKey?: Buffer; olderNote?: string } = {}) {}

  /** Processes the next line of the export. */
  line(text: string): void {
    const unlogged = this.head === undefined ? undefined : parsed(text)?.['unlogged'];
    if (this.head === undefined) this.begin(text);
    else if (unlogged !== undefined) this.found(`an entry is not in the log: ${JSON.stringify(unlogged)}`);
    else this.leaf(text);
  }

  /** Returns the verdict. Call this method after the last line. */
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
    // Reported first, because the number of listed findings is limited.
    if (this.checkpoint === undefined) this.found('the checkpoint is not signed with the log key');
    if (this.trusted.olderNote === undefined) return;
    this.older = openNote(this.trusted.olderNote, key);
    if (this.older === undefined) this.found('the older checkpoint is not signed with the log key');
    this.compareWithOlder();
  }

  private leaf(text: string): void {
    const place = this.tree.size;
    const leaf = readLeaf(text);
    if (leaf === undefined) this.found('cannot be parsed', place);
    else this.check(leaf, place);
    this.tree.add(leaf === undefined ? UNREADABLE : base64Bytes(leaf.hash));
    this.compareWithOlder();
  }

  private check({ index, entryId, hash, data }: Line, place: number): void {
    if (index - place !== this.shift && index !== place) this.found(`leaf ${index} is at this position`, place);
    this.shift = index - place;
    if (data === null) this.found(`its entry ${entryId} is missing`, place);
    else if (leafHash(canonicalJson(data)).toString('base64') !== hash)
      this.found(`its entry ${entryId} differs from the logged entry`, place);
    else if ('foreign' in data) this.found(`its entry ${entryId} was not written by the service`, place);
    else if (acceptedRollbackIn(data) !== undefined) this.rollbacks.push(acceptedRollbackIn(data) as AcceptedRollback);
    else if ('missing' in data) this.found(`its entry ${entryId} was removed before it became a leaf`, place);
    if (data !== null) this.checkOrder(data, place);
  }

  /** Checks the order of an entry. Records are skipped, because records have no ID or time. */
  private checkOrder(data: object, place: number): void {
    const { id, at } = data as { readonly id?: unknown; readonly at?: unknown };
    if (typeof id !== 'string' || typeof at !== 'string') return;
    const fault = this.order.faultOf(id, at);
    if (fault !== undefined) this.found(`its entry ${fault}`, place);
  }

  private compareWith({ size, root }: Checkpoint): void {
    if (this.tree.size !== size)
      this.found(`the checkpoint covers ${size} leaves, but the export has ${this.tree.size}`);
    else if (!this.tree.root().equals(root)) this.found('the leaves do not match the root of the checkpoint');
  }

  private compareWithOlder(): void {
    if (this.older?.size === this.tree.size && !this.older.root.equals(this.tree.root())) this.divergesFromOlder = true;
  }

  /**
   * Compares the log with the older checkpoint after the last leaf. Returns a note for a rollback that the log records as accepted, and reports any other
   * difference as a finding.
   */
  private judgeOlder(older: Checkpoint): string[] {
    const now = this.checkpoint?.origin;
    const accepted = coveringRollback(this.rollbacks, older, now, this.divergesFromOlder);
    if (accepted !== undefined) return [accepted];
    if (now !== undefined && older.origin !== now)
      this.found(`the older checkpoint is for a different log, ${older.origin}`);
    if (this.divergesFromOlder)
      this.found(`the first ${older.size} leaves differ from the leaves of the older checkpoint`);
    if (older.size > this.tree.size)
      this.found(`the older checkpoint covers ${older.size} leaves: the log was rolled back`);
    return [];
  }

  private found(detail: string, index?: number): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push({ index, detail });
  }
}

/** Reports whether the consistency proof shows that the log at the first checkpoint is a prefix of the log at the second. */
export function provesGrowth(first: Checkpoint, second: Checkpoint, path: readonly Buffer[]): boolean {
  return isConsistent({
    first: first.size,
    firstRoot: first.root,
    second: second.size,
    secondRoot: second.root,
    path,
  });
}

/** Parses a leaf. The export is not trusted: any member may be missing or of another type. */
function readLeaf(text: string): Line | undefined {
  const { index, entryId, hash, data } = parsed(text) ?? {};
  if (typeof index !== 'number' || typeof hash !== 'string' || typeof data !== 'object') return undefined;
  if (fromBase64(hash)?.length !== HASH_BYTES) return undefined;
  return { index, entryId: String(entryId), hash, data };
}

/** Returns the members of an object, any of which may be missing or of another type. */
function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return readJsonObject(text);
  } catch {
    return undefined;
  }
}
