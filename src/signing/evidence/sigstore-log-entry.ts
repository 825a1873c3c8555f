import { createHash } from 'node:crypto';
import type { ProvenLeaf } from '../../audit/log/log-reader.js';
import { HASHEDREKORD } from '../formats/hashedrekord.js';

interface ProvenTree {
  readonly size: number;
  /** Signed note over the tree. */
  readonly note: string;
  /** Of the log, SubjectPublicKeyInfo, DER. */
  readonly logKey: Buffer;
}

/**
 * The bundle (Sigstore v0.3, JSON) with the proof that its record is in our log: a TransparencyLogEntry of sigstore_rekor.proto. The log
 * promises no time, so the integrated time is 0; a bundle's time is that of its timestamp.
 */
export function withLogEntry(bundle: Buffer, { index, data, hash, path }: ProvenLeaf, tree: ProvenTree): object {
  const parsed = JSON.parse(bundle.toString()) as { verificationMaterial: object };
  const entry = {
    logIndex: String(index),
    logId: { keyId: createHash('sha256').update(tree.logKey).digest('base64') },
    kindVersion: HASHEDREKORD,
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

/** Third line of a checkpoint, base64. */
function rootIn(note: string): string {
  return note.split('\n')[2] ?? '';
}
