import { contains, parseAddress, parseNetwork } from '../../formats/encoding/ip-address.js';
import type { SshCertificateContent } from '../../formats/ssh/certificate-reader.js';
import { RENEWAL_NAMESPACE, renewalMessage, isSshsigBy } from '../../formats/ssh/sshsig.js';
import { Problem } from '../../platform/errors/problem.js';
import type { RenewalTerms, SshCertificate } from '../certificate-authority/ssh-certificate.entity.js';

/** Maximum clock skew between a host and the service. */
const MAX_CLOCK_MS = 5 * 60_000;
/** Fraction of a certificate's lifetime that must have passed before renewal. This minimum prevents hosts from stockpiling certificates. */
const FIRST_PART = 0.5;
const EARLIER_MS = 60_000;

/** RenewalProof contains the data that a host signs with its key (the certificate to renew and the time of the request), and the signature. */
export interface RenewalProof {
  /** Current certificate, as in a `-cert.pub` file. */
  readonly certificate: string;
  readonly signedAt: Date;
  /** Armored signature, as written by `ssh-keygen -Y sign`. */
  readonly signature: string;
}

/** assertProven verifies that the certificate's key signed the renewal request within MAX_CLOCK_MS. Throws Problem `ssh-renewal.clock`, `ssh-renewal.proof`. */
export function assertProven(
  { key, blob }: Pick<SshCertificateContent, 'key' | 'blob'>,
  { signedAt, signature }: Pick<RenewalProof, 'signedAt' | 'signature'>,
  now: Date,
): void {
  if (Math.abs(now.getTime() - signedAt.getTime()) > MAX_CLOCK_MS) {
    const detail = `The signature is dated ${signedAt.toISOString()}, but the service time is ${now.toISOString()}. Set the clock of the host.`;
    throw new Problem('forbidden', 'ssh-renewal.clock', detail);
  }
  const message = Buffer.from(renewalMessage(blob, signedAt));
  if (isSshsigBy(key.blob, signature, { message, namespace: RENEWAL_NAMESPACE })) return;
  throw new Problem('forbidden', 'ssh-renewal.proof', "The signature was not made with the certificate's key.");
}

type Renewed = Pick<SshCertificate, 'validAfter' | 'validBefore'>;

/**
 * Asserts that a host at this address may renew its certificate now.
 *
 * @param terms renewal terms of the certificate; undefined if renewal is not allowed
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
    const why =
      terms === undefined
        ? 'The host is not allowed to renew this certificate.'
        : 'The certificate is already valid until the end of the renewal period.';
    throw new Problem('forbidden', 'ssh-renewal.terms', `${why} Request a new one.`);
  }
  const first = new Date(validAfter.getTime() + FIRST_PART * (validBefore.getTime() - validAfter.getTime()));
  if (now < first)
    throw new Problem('conflict', 'ssh-renewal.early', `The certificate can be renewed from ${first.toISOString()}.`);
  if (terms.sourceAddress !== null && !isFrom(address, terms.sourceAddress))
    throw new Problem('forbidden', 'ssh-renewal.address', 'The certificate cannot be renewed from this IP address.');
}

/** Returns the validity period of the next certificate: the lifetime of the current certificate, limited by the renewal terms. */
export function nextTimes({ validAfter, validBefore }: Renewed, { until }: RenewalTerms, now: Date): Renewed {
  const life = validBefore.getTime() - validAfter.getTime();
  return {
    validAfter: new Date(now.getTime() - EARLIER_MS),
    validBefore: new Date(Math.min(now.getTime() - EARLIER_MS + life, Date.parse(until))),
  };
}

/** Reports whether an address is in one of the networks, which are separated by commas. */
export function isFrom(address: string, networks: string): boolean {
  const given = parseAddress(address.replace(/^::ffff:(?=\d+\.)/i, ''));
  if (given === undefined) return false;
  return networks.split(',').some((text) => {
    const network = parseNetwork(text);
    return network !== undefined && contains(network, given);
  });
}
