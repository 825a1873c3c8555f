import { contains, parseAddress, parseNetwork } from '../../formats/addresses/address.js';
import type { SshCertificateContent } from '../../formats/ssh/certificate-reader.js';
import { RENEWAL_NAMESPACE, renewalMessage, isSshsigBy } from '../../formats/ssh/sshsig.js';
import { Problem } from '../../platform/errors/problem.js';
import type { RenewalTerms, SshCertificate } from '../certificate-authority/ssh-certificate.entity.js';

/** The clocks of hosts may be wrong by so much. */
const MAX_CLOCK_MS = 5 * 60_000;
/** A certificate can be renewed when this part of its life is over, so that a host cannot collect certificates. */
const FIRST_PART = 0.5;
const EARLIER_MS = 60_000;

/** What a host signs with its key: which certificate is to be renewed, and when it said so. */
export interface RenewalProof {
  /** The present certificate, as in a `-cert.pub` file. */
  readonly certificate: string;
  readonly signedAt: Date;
  /** Armored, as `ssh-keygen -Y sign` writes it. */
  readonly signature: string;
}

/** Whether the host that a certificate names has just asked to renew it. Problems `ssh-renewal.clock`, `ssh-renewal.proof`. */
export function assertProven(
  { key, blob }: Pick<SshCertificateContent, 'key' | 'blob'>,
  { signedAt, signature }: Pick<RenewalProof, 'signedAt' | 'signature'>,
  now: Date,
): void {
  if (Math.abs(now.getTime() - signedAt.getTime()) > MAX_CLOCK_MS) {
    const detail = `The signature is dated ${signedAt.toISOString()}, and the time here is ${now.toISOString()}. Set the clock of the host.`;
    throw new Problem('forbidden', 'ssh-renewal.clock', detail);
  }
  const message = Buffer.from(renewalMessage(blob, signedAt));
  if (isSshsigBy(key.blob, signature, { message, namespace: RENEWAL_NAMESPACE })) return;
  throw new Problem('forbidden', 'ssh-renewal.proof', 'The signature was not made with the key of the certificate.');
}

type Renewed = Pick<SshCertificate, 'validAfter' | 'validBefore'>;

/**
 * Whether a host at this address may renew its certificate now.
 *
 * @param terms those of the certificate; undefined: it is not the host that renews it
 * @throws Problem `ssh-renewal.terms`, `ssh-renewal.expired`, `ssh-renewal.early`, `ssh-renewal.address`
 */
export function assertRenewable(
  certificate: Renewed,
  terms: RenewalTerms | undefined,
  { address, now }: { readonly address: string; readonly now: Date },
): asserts terms is RenewalTerms {
  const { validAfter, validBefore } = certificate;
  if (now >= validBefore)
    throw new Problem('forbidden', 'ssh-renewal.expired', 'The certificate has expired. Request a new one.');
  if (terms === undefined || validBefore >= new Date(terms.until)) {
    const why = terms === undefined ? 'The host cannot renew this certificate.' : 'It is valid until its renewals end.';
    throw new Problem('forbidden', 'ssh-renewal.terms', `${why} Request a new one.`);
  }
  const first = new Date(validAfter.getTime() + FIRST_PART * (validBefore.getTime() - validAfter.getTime()));
  if (now < first)
    throw new Problem('conflict', 'ssh-renewal.early', `It can be renewed from ${first.toISOString()} on.`);
  if (terms.sourceAddress !== null && !isFrom(address, terms.sourceAddress))
    throw new Problem('forbidden', 'ssh-renewal.address', 'The certificate is not renewed for this address.');
}

/** The times of the next certificate: as long as the present one, and not beyond its terms. */
export function nextTimes({ validAfter, validBefore }: Renewed, { until }: RenewalTerms, now: Date): Renewed {
  const life = validBefore.getTime() - validAfter.getTime();
  return {
    validAfter: new Date(now.getTime() - EARLIER_MS),
    validBefore: new Date(Math.min(now.getTime() - EARLIER_MS + life, Date.parse(until))),
  };
}

/** Whether an address is in one of these networks; they are separated by commas. */
export function isFrom(address: string, networks: string): boolean {
  const given = parseAddress(address.replace(/^::ffff:(?=\d+\.)/i, ''));
  if (given === undefined) return false;
  return networks.split(',').some((text) => {
    const network = parseNetwork(text);
    return network !== undefined && contains(network, given);
  });
}
