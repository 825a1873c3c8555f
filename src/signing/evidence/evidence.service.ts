import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { LogReader, type TargetProofs, type ProvenLeaf } from '../../audit/log/log-reader.js';
import type { MadeLogKey } from '../../audit/log/log-keys.js';
import type { Caller } from '../../access/caller.js';
import { EVERY_KEY } from '../../access/key-patterns.js';
import { Problem } from '../../platform/errors/problem.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { type ShownRequest, SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { type Approved, ApprovedRequests } from './approved-requests.js';
import { type WorkloadProof, WorkloadProofReader } from './workload-proof.reader.js';
import { createHash } from 'node:crypto';

export interface Evidence {
  readonly request: ShownRequest;
  readonly key: ActiveKey;
  readonly proofs: TargetProofs;
  /** Entries about the voters' sign-ins, in the same tree. Votes recorded by earlier versions of the service do not reference sign-ins. */
  readonly signIns: readonly ProvenLeaf[];
  readonly logKey: MadeLogKey;
  /** The approved document; present only if approval was required. */
  readonly approved: Approved | undefined;
  /** Present only for workload requests. */
  readonly workload: WorkloadProof | undefined;
  /** The Sigstore bundle with its log entry; present only for the formats sigstore-bundle and attestation. */
  readonly bundle: object | undefined;
}

/** Entries are numbered once a second. A call right after signing waits at most this many milliseconds for the log entry. */
const MAX_WAIT_MS = 5000;
const STEP_MS = 200;

/** EvidenceService collects everything that an offline verifier needs in addition to the log's public key. */
@Injectable()
export class EvidenceService {
  constructor(
    private readonly requests: SigningRequestsReader,
    private readonly keys: SigningKeyReader,
    private readonly log: LogReader,
    private readonly approved: ApprovedRequests,
    private readonly workloads: WorkloadProofReader,
  ) {}

  /** Returns the evidence of a signed request. Throws Problem `evidence.not-signed` or `log.not-yet`. */
  async of(caller: Caller, id: string): Promise<Evidence> {
    const request = await this.requests.find(caller, id);
    if (request.status !== 'SIGNED')
      throw new Problem(
        'conflict',
        'evidence.not-signed',
        `The request has no signature to prove: its status is ${request.status}.`,
      );
    const about = request.approvalId === null ? [id] : [id, request.approvalId];
    const signIns = request.approvalId === null ? [] : await this.approved.signInsOf(request.approvalId);
    const all = await this.patiently(() => this.log.inclusionOf(about, signIns));
    const [proofs, signInLeaves] = splitBy(all, new Set(signIns));
    const [key, logKey] = await Promise.all([
      this.keys.version(EVERY_KEY, request.keyId, request.keyVersion),
      this.log.key(),
    ]);
    const approved = await this.approved.of(request);
    const workload = await this.workloads.of(request.identity);
    const bundle = bundleOf(request, proofs, logKey);
    return { request, key, proofs, signIns: signInLeaves, logKey, approved, workload, bundle };
  }

  private async patiently(ask: () => Promise<TargetProofs>): Promise<TargetProofs> {
    for (const until = performance.now() + MAX_WAIT_MS; ; await sleep(STEP_MS)) {
      try {
        return await ask();
      } catch (error) {
        const early = error instanceof Problem && ['log.not-yet', 'log.empty'].includes(error.code);
        if (!early || performance.now() > until) throw error;
      }
    }
  }
}

/** Separates entries about the request and its approval from entries about sign-ins. */
function splitBy(proofs: TargetProofs, signIns: ReadonlySet<string>): [TargetProofs, ProvenLeaf[]] {
  const isSignIn = ({ entryId }: ProvenLeaf) => signIns.has(entryId);
  const leaves = proofs.leaves.filter((leaf) => !isSignIn(leaf));
  return [{ ...proofs, leaves }, proofs.leaves.filter(isSignIn)];
}

function bundleOf(request: ShownRequest, { size, note, leaves }: TargetProofs, logKey: MadeLogKey): object | undefined {
  const record = leaves.find(({ kind }) => kind === 'record');
  if (record === undefined || request.signature === null) return undefined;
  return withLogEntry(request.signature, record, { size, note, logKey: logKey.publicKey });
}

interface ProvenTree {
  readonly size: number;
  /** Signed note over the tree (checkpoint). */
  readonly note: string;
  /** Public key of the log: SubjectPublicKeyInfo, DER. */
  readonly logKey: Buffer;
}

/**
 * Returns the bundle (Sigstore v0.3, JSON) with the proof that the log contains its record: a TransparencyLogEntry of sigstore_rekor.proto. The log does not
 * attest times, so the integrated time is 0. The timestamp in the bundle attests the time.
 */
function withLogEntry(bundle: Buffer, { index, data, hash, path }: ProvenLeaf, tree: ProvenTree): object {
  const parsed = JSON.parse(bundle.toString()) as { verificationMaterial: object };
  const entry = {
    logIndex: String(index),
    logId: { keyId: createHash('sha256').update(tree.logKey).digest('base64') },
    kindVersion: kindOf(data ?? ''),
    integratedTime: '0',
    inclusionProof: {
      logIndex: String(index),
      rootHash: rootIn(tree.note),
      treeSize: String(tree.size),
      hashes: path.map((one) => one.toString('base64')),
      checkpoint: { envelope: tree.note },
    },
    canonicalizedBody: Buffer.from(data ?? hash).toString('base64'),
  };
  return { ...parsed, verificationMaterial: { ...parsed.verificationMaterial, tlogEntries: [entry] } };
}

/** Returns the kind and version of a record, such as `hashedrekord` 0.0.1. */
function kindOf(record: string | Buffer): { kind: string; version: string } {
  const { kind, apiVersion: version } = JSON.parse(record.toString()) as { kind: string; apiVersion: string };
  return { kind, version };
}

/** Returns the third line of a checkpoint, base64. */
function rootIn(note: string): string {
  return note.split('\n')[2] ?? '';
}
