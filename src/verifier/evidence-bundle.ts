import { createHash } from 'node:crypto';
import { base64Bytes } from '../formats/encoding/base64.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { readJson } from '../platform/json/strict-json.js';
import type { BundleEntry, EvidenceFile, LoggedFact } from './evidence-file.js';

type Bundle = NonNullable<EvidenceFile['bundle']>;

/**
 * faultsOfBundle compares the Sigstore bundle in the file with the signature, whose hash is in the log. It also compares the log entry in the bundle with the
 * signature's record in the log.
 *
 * @param signature log entry about the signature; contains the hash of the signature's record
 */
export function faultsOfBundle({ bundle, request, log }: EvidenceFile, signature: LoggedFact | undefined): string[] {
  if (bundle === undefined) return [];
  const signed = readJson(base64Bytes(request.signature ?? '')) as Bundle;
  if (withoutEntries(bundle) !== withoutEntries(signed)) return ['the bundle differs from the signature'];
  const records = log.leaves.filter(({ kind }) => kind === 'record');
  const isLogged = ({ logIndex, canonicalizedBody }: BundleEntry) =>
    records.some(({ index, data }) => logIndex === String(index) && canonicalizedBody === data);
  const entries = bundle.verificationMaterial?.tlogEntries ?? [];
  if (!entries.every(isLogged)) return ['the bundle has an entry that is not in the log'];
  const isOwn = ({ canonicalizedBody }: BundleEntry) =>
    createHash('sha256')
      .update(base64Bytes(String(canonicalizedBody)))
      .digest('hex') === signature?.record;
  return entries.every(isOwn) ? [] : ['the bundle has the log entry of another signature'];
}

function withoutEntries(bundle: Bundle): string {
  return canonicalJson({ ...bundle, verificationMaterial: { ...bundle.verificationMaterial, tlogEntries: [] } });
}
