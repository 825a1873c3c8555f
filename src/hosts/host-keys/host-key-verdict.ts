import { type SshCertificateContent, readSshCertificate } from '../../formats/ssh/certificate-reader.js';
import { matchesHostPattern, namesHost } from '../../formats/ssh/host-pattern.js';
import type { Host, HostKeyPolicy } from '../model/host.entity.js';
import type { HostKey, HostKeyState, HostAuthority } from '../model/host-key.entity.js';

/** Whether a login may go on to a host that shows this key, and the state to record for the key. */
export interface HostKeyVerdict {
  readonly trusted: boolean;
  readonly state: HostKeyState;
}

interface Question {
  /** Keys that are stored for the host, pending ones in the order in which they were first seen. */
  readonly known: readonly Pick<HostKey, 'blob' | 'state' | 'type'>[];
  readonly shown: Buffer;
  readonly policy: HostKeyPolicy;
  /** Keys that a trusted authority certifies for this host at this moment; with the policy `ca` they alone count. */
  readonly certified: readonly Pick<HostKey, 'blob'>[];
  /** A password is never sent to a host whose key is seen for the first time: an impostor could keep it. */
  readonly sendsPassword: boolean;
}

/** Judges a host key before authentication; in doubt it is not trusted. */
export function judgeHostKey({ known, shown, policy, certified, sendsPassword }: Question): HostKeyVerdict {
  const own = known.find(({ blob }) => blob.equals(shown));
  if (policy === 'ca') return judgeCertified(certified, shown, own?.state);
  if (own?.state === 'pinned') return { trusted: true, state: 'pinned' };
  if (own?.state === 'rejected' || own?.state === 'changed') return { trusted: false, state: own.state };
  if (known.some(({ state }) => state === 'pinned')) return { trusted: false, state: 'changed' };
  const onFirstUse = policy === 'tofu' && !sendsPassword;
  const pending = known.filter(({ state }) => state === 'tofu-pending');
  const isFirst = own === undefined ? pending.length === 0 : pending.find(({ type }) => type === own.type) === own;
  if (policy === 'tofu' && !isFirst) return { trusted: false, state: 'changed' };
  return { trusted: onFirstUse, state: 'tofu-pending' };
}

/** Pinned keys do not count here, and a rejected one stays rejected even if it is certified. */
function judgeCertified(certified: Question['certified'], shown: Buffer, own?: HostKeyState): HostKeyVerdict {
  const isCertified = certified.some(({ blob }) => blob.equals(shown));
  const state = own ?? (certified.length > 0 ? 'changed' : 'tofu-pending');
  return { trusted: isCertified && state !== 'rejected' && state !== 'changed', state };
}

/** The reason why a certificate does not prove that its key is this host's; undefined when it does. */
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
  // Principals of host certificates are patterns (ssh-keygen(1), CERTIFICATES). OpenSSH accepts a certificate without principals for every
  // host, which proves nothing about this one, and neither does a pattern of wildcards alone.
  const isNamed = (principal: string) =>
    namesHost(principal) && [name, address].some((one) => matchesHostPattern(principal.toLowerCase(), one));
  if (!principals.some(isNamed))
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
