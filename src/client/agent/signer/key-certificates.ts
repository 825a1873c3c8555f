import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ClientError, EXIT } from '../../api/exit-codes.js';

const DAY_MS = 24 * 3600 * 1000;
const WARNING_MS = 30 * DAY_MS;

/** Name and certificate chain of a key. The chain is in DER and starts with the certificate of the key. */
interface CertifiedKey {
  readonly name: string;
  readonly chain: readonly Buffer[];
}

/** Returns an error message if the certificate of a key or an issuer in its chain has expired, otherwise undefined. */
export function expiryOf({ name, chain }: CertifiedKey, now = new Date()): string | undefined {
  const over = chain.find((one) => endOf(one) <= now);
  if (over === undefined) return undefined;
  const which = over.equals(chain[0] ?? Buffer.alloc(0)) ? 'The certificate' : `The issuer "${commonNameOf(read(over))}" of the certificate`; // prettier-ignore
  return `${which} of key "${name}" expired on ${dayOf(endOf(over))}. Import a new certificate for the key, or use another key. [certificate.expired]`;
}

/** Returns a warning if the certificate of a key or an issuer in its chain expires within 30 days, otherwise undefined. */
export function expiryWarning({ name, chain }: CertifiedKey, now = new Date()): string | undefined {
  const [first] = chain.map(endOf).toSorted((a, b) => Number(a) - Number(b));
  const end = first === undefined ? undefined : soonEnd(first, now);
  return end === undefined ? undefined : `sealwright: the certificate of key ${name} expires ${end}`;
}

/** Returns an expiry time as `on 2027-03-01, in 12 days`, or undefined if the expiry is more than 30 days away. */
export function soonEnd(end: Date, now = new Date()): string | undefined {
  const left = Number(end) - Number(now);
  if (left > WARNING_MS) return undefined;
  const days = Math.floor(left / DAY_MS);
  return `on ${dayOf(end)}, in ${days === 1 ? '1 day' : `${days} days`}`;
}

/**
 * Throws if the certificate of a key does not chain to one of the authorities in a PEM file. Signatures, names and validity periods are checked. Key usage is
 * checked by the verifier of the signature format.
 */
export async function assertIssuedBy({ name, chain }: CertifiedKey, authorities: string): Promise<void> {
  const trusted = await certificatesIn(authorities);
  const [leaf, ...issuers] = chain.map(read);
  if (leaf !== undefined && leadsTo(leaf, issuers, trusted)) return;
  throw new ClientError(
    EXIT.failed,
    `${authorities} does not contain the authority that issued the certificate of key "${name}" (issuer: ${leaf?.issuer.replaceAll('\n', ', ') ?? 'none'}), so no signature was requested. Specify the issuing authority.`,
  );
}

function leadsTo(
  certificate: X509Certificate,
  issuers: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
): boolean {
  if (trusted.some((one) => one.raw.equals(certificate.raw))) return true;
  const isIssuer = (one: X509Certificate): boolean =>
    one.ca && certificate.checkIssued(one) && certificate.verify(one.publicKey);
  if (trusted.some((one) => isIssuer(one) && endOf(one.raw) > new Date())) return true;
  return issuers.some((one, at) => isIssuer(one) && leadsTo(one, issuers.toSpliced(at, 1), trusted));
}

async function certificatesIn(file: string): Promise<X509Certificate[]> {
  const text = await readFile(file, 'latin1').catch((error: Error) => {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${error.message}`);
  });
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    const found = blocks.map((pem) => new X509Certificate(pem));
    if (found.length > 0) return found;
  } catch {
    // A PEM block that is not a certificate is reported below.
  }
  throw new ClientError(EXIT.failed, `${file} contains no PEM certificates.`);
}

function read(der: Buffer): X509Certificate {
  return new X509Certificate(der);
}

/** Returns the expiry time of a certificate. Node 20 does not support `validToDate`. */
function endOf(der: Buffer): Date {
  return new Date(read(der).validTo);
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function commonNameOf({ subject }: X509Certificate): string {
  return /^CN=(.*)$/m.exec(subject)?.[1] ?? subject.replaceAll('\n', ', ');
}
