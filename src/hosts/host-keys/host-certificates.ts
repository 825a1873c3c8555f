import { type SshCertificateContent, readSshCertificate } from '../../formats/ssh/certificate-reader.js';
import type { Host } from '../model/host.entity.js';
import type { HostAuthority } from './host-authority.entity.js';
import type { HostKey } from '../model/host-key.entity.js';

/** Why a certificate does not say that its key is this host's; undefined when it does. */
export function certificateFault(
  certificate: SshCertificateContent,
  { name, address }: Pick<Host, 'name' | 'address'>,
  authorities: readonly Pick<HostAuthority, 'fingerprint'>[],
  now: Date,
): string | undefined {
  const { kind, principals, validAfter, validBefore, criticalOptions, authority } = certificate;
  if (kind !== 'host') return 'is a certificate for users';
  if (!authorities.some(({ fingerprint }) => fingerprint === authority))
    return `is signed by ${authority}, which is not trusted`;
  if (now < validAfter || now >= validBefore)
    return `is good from ${validAfter.toISOString()} to ${validBefore.toISOString()}`;
  // Without any it would be good for every host, and what is critical has to be understood.
  if (!principals.some((one) => [name, address].includes(one.toLowerCase())))
    return `names ${principals.slice(0, 5).join(', ') || 'no host'}, and neither ${name} nor ${address}`;
  return criticalOptions.length === 0 ? undefined : `has the critical option ${criticalOptions[0]}`;
}

/** Keys of a host that a trusted authority certifies at this moment. */
export function certifiedKeys(
  keys: readonly HostKey[],
  host: Pick<Host, 'name' | 'address'>,
  authorities: readonly HostAuthority[],
  now: Date,
): HostKey[] {
  return keys.filter(({ blob, certificate }) => {
    const read = certificate === null ? undefined : readSshCertificate(certificate);
    return read?.key.blob.equals(blob) === true && certificateFault(read, host, authorities, now) === undefined;
  });
}
