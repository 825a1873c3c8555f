import { type DigestAlgorithm, isMlDsa, type KeyType, type SignatureScheme } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { FORMAT_DIGESTS, type FormatDigest, isFormatDigest } from './algorithm-identifiers.js';
import { attestation, dsse } from './dsse.format.js';
import { authenticode } from './authenticode.format.js';
import { cms, digestsForCms } from './cms.format.js';
import { digestOfCurve, jws } from './jws.format.js';
import { digestsForOpenPgp, openpgp } from './openpgp.format.js';
import type { SignatureFormat, SignatureFormatWriter } from './signature-format.js';
import { sigstoreBundle } from './sigstore-bundle.format.js';

export type WrappedFormat = Exclude<SignatureFormat, 'raw'>;

export const FORMAT_WRITERS: Record<WrappedFormat, SignatureFormatWriter> = {
  cms,
  authenticode,
  jws,
  'sigstore-bundle': sigstoreBundle,
  dsse,
  openpgp,
  attestation,
};

/** Returns the requested scheme, or the default of the format. Throws Problem `scheme.wrong-format`. */
export function schemeOfFormat(
  format: WrappedFormat,
  type: KeyType,
  asked: SignatureScheme | undefined,
): SignatureScheme {
  const fitting = isMlDsa(type) && format !== 'cms' ? [] : FORMAT_WRITERS[format].schemes(type);
  const scheme = asked ?? fitting[0];
  if (scheme !== undefined && fitting.includes(scheme)) return scheme;
  if (fitting.length === 0)
    throw invalid('/format', 'scheme.wrong-format', `format ${format} does not support keys of type ${type}`);
  throw invalid(
    '/scheme',
    'scheme.wrong-format',
    `format ${format} with a key of type ${type} requires the scheme ${fitting.join(' or ')}`,
  );
}

/** Returns the digest algorithm if the format supports it. Otherwise throws Problem `algorithm.wrong-format`. */
export function digestOfFormat(format: WrappedFormat, type: KeyType, algorithm: DigestAlgorithm): FormatDigest {
  const fitting = digestsFor(format, type);
  if (isFormatDigest(algorithm) && fitting.includes(algorithm)) return algorithm;
  throw invalid(
    '/algorithm',
    'algorithm.wrong-format',
    `format ${format} with this key requires ${fitting.join(' or ')}`,
  );
}

function digestsFor(format: WrappedFormat, type: KeyType): readonly FormatDigest[] {
  if (format === 'cms') return digestsForCms(type);
  if (format === 'openpgp') return digestsForOpenPgp(type);
  if (format === 'attestation') return ['sha256'];
  const ofCurve = format === 'jws' ? digestOfCurve(type) : undefined;
  return ofCurve === undefined ? FORMAT_DIGESTS : [ofCurve];
}

function invalid(pointer: string, code: string, detail: string): Problem {
  return new Problem('malformed', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
