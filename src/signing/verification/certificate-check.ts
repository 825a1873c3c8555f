import { createHash, type X509Certificate } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';
import { pathFrom, subjectNameOf } from '../certificates/certificate-chain.js';
import { identifies } from '../formats/signing-certificate.js';
import type { SignatureClaim } from './signature-readers.js';
import type { VersionToVerify } from './verification-subjects.js';

export interface CertificateFinding {
  readonly ok: boolean;
  readonly detail: string;
  /** The onboarded certificate of the key. */
  readonly certificate?: X509Certificate;
}

type Chain = readonly X509Certificate[];

/**
 * certificateCheckOf checks the certificate of a signature against the certificates that were onboarded for the key version that made the signature. The sender
 * of a message chooses its certificates, so the certificates are used only to select an onboarded chain. Every certificate in the message and every certificate
 * that the signature names must belong to one onboarded chain, and the path is built only from that chain.
 *
 * @param at the time at which the path must be valid: now, or the time in a verified timestamp
 * @returns undefined if neither the message nor the record has a certificate
 */
export function certificateCheckOf(
  claim: SignatureClaim,
  version: VersionToVerify,
  at: Date,
): CertificateFinding | undefined {
  const { certificates, certificateIds = [] } = claim;
  const [leaf, ...others] = certificates;
  if (leaf === undefined && certificateIds.length === 0 && version.chains.length === 0) return undefined;
  if (leaf !== undefined && !version.publicKey.equals(leaf.publicKey.export({ type: 'spki', format: 'der' })))
    return { ok: false, detail: 'the certificate belongs to a different key' };
  const chains = version.chains.filter(
    ([own]) => own !== undefined && (leaf === undefined || own.raw.equals(leaf.raw)),
  );
  if (chains.length === 0 && leaf !== undefined) return notOnboarded(leaf, version);
  const named = chains.filter((chain) => certificateIds.every((ids) => isNamedBy(ids, chain)));
  if (named.length === 0)
    return {
      ok: false,
      detail: `the signature names a certificate other than ${leaf === undefined ? `those imported for version ${version.version} of the key` : 'the one in the message'}. Obtain the file from its signer again`,
    };
  const chain = named.find((one) => others.every((other) => one.some((known) => known.raw.equals(other.raw))));
  const stray = others.find((other) => !named.some((one) => one.some((known) => known.raw.equals(other.raw))));
  if (chain === undefined) return notOnboarded(stray ?? others[0], version);
  return findingOf(leaf === undefined && certificateIds.length === 0 ? named : [chain], at);
}

/**
 * Reports whether the IDs name certificates of the chain. The first ID is for the signer's certificate; the other IDs restrict the path (RFC 5035 section 5).
 */
function isNamedBy([own, ...path]: NonNullable<SignatureClaim['certificateIds']>[number], chain: Chain): boolean {
  const [leaf, ...above] = chain;
  if (own === undefined || leaf === undefined || !identifies(own, leaf.raw)) return false;
  return path.every((id) => above.some(({ raw }) => identifies(id, raw)));
}

/**
 * Returns the finding for the first chain with a valid path, or else for the newest chain. A message that identifies no certificate matches all chains of its
 * key.
 */
function findingOf(chains: readonly Chain[], at: Date): CertificateFinding {
  const findings = chains.map((chain) => pathFinding(chain, at));
  const found = findings.find(({ ok }) => ok) ?? findings[0];
  if (found === undefined) throw new Error('there is no certificate chain to check');
  return found;
}

function pathFinding([leaf, ...others]: Chain, at: Date): CertificateFinding {
  if (leaf === undefined) throw new Error('the imported chain has no certificate');
  try {
    const path = pathFrom(leaf, others, at);
    return { ok: true, detail: `chains to ${subjectNameOf(path.at(-1)?.subject)}`, certificate: leaf };
  } catch (error) {
    if (error instanceof Problem) return { ok: false, detail: error.message, certificate: leaf };
    throw error;
  }
}

function notOnboarded(certificate: X509Certificate | undefined, { version }: VersionToVerify): CertificateFinding {
  const name = certificate === undefined ? '' : ` "${subjectNameOf(certificate.subject)}"`;
  const sha256 = certificate === undefined ? '' : createHash('sha256').update(certificate.raw).digest('hex');
  return {
    ok: false,
    detail:
      `the message carries the certificate${name} (SHA-256 ${sha256}), which was not imported for version ${version} of the key. ` +
      'Obtain the file from its signer again, or import the certificate for the key if you trust it',
  };
}
