import { type SshCertificateContent, readSshCertificate } from '../../formats/ssh/certificate-reader.js';
import { matchesHostPattern, namesHost } from '../../formats/ssh/host-pattern.js';
import type { Host, HostKeyPolicy } from '../model/host.entity.js';
import type { HostKey, HostKeyState, HostAuthority } from '../model/host-key.entity.js';

/** HostKeyVerdict determines whether the service may log in to a host that presents this key, and which state is recorded for the key. */
export interface HostKeyVerdict {
  readonly trusted: boolean;
  readonly state: HostKeyState;
}

interface Question {
  /** Keys stored for the host. Pending keys are sorted by first sighting. */
  readonly known: readonly Pick<HostKey, 'blob' | 'state' | 'type'>[];
  readonly shown: Buffer;
  readonly policy: HostKeyPolicy;
  /** Keys that a trusted authority currently certifies for this host. With the `ca` policy, only these keys are trusted. */
  readonly certified: readonly Pick<HostKey, 'blob'>[];
  /**
   * Whether the login sends a password. A password is never sent to a host whose key is seen for the first time, because an impostor could record the password.
   */
  readonly sendsPassword: boolean;
}

/** judgeHostKey decides, before authentication, whether a host key is trusted. A key is not trusted by default. */
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

/** Evaluates the `ca` policy, which ignores pinned keys. A rejected key remains rejected even if it is certified. */
function judgeCertified(certified: Question['certified'], shown: Buffer, own?: HostKeyState): HostKeyVerdict {
  const isCertified = certified.some(({ blob }) => blob.equals(shown));
  const state = own ?? (certified.length > 0 ? 'changed' : 'tofu-pending');
  return { trusted: isCertified && state !== 'rejected' && state !== 'changed', state };
}

/** Returns the reason that a certificate does not prove that its key belongs to this host, or undefined if the certificate is valid for this host. */
export function certificateFault(
  certificate: SshCertificateContent,
  { name, address }: Pick<Host, 'name' | 'address'>,
  authorities: readonly Pick<HostAuthority, 'fingerprint'>[],
  now: Date,
): string | undefined {
  const { kind, principals, validAfter, validBefore, criticalOptions, authority } = certificate;
  if (kind !== 'host') return 'is a user certificate';
  if (!authorities.some(({ fingerprint }) => fingerprint === authority))
    return `is signed by ${authority}, which is not trusted`;
  if (now < validAfter || now >= validBefore)
    return `is valid from ${validAfter.toISOString()} to ${validBefore.toISOString()}`;
  // Principals of host certificates are patterns (ssh-keygen(1), CERTIFICATES). OpenSSH accepts a certificate without principals for any host. A certificate
  // without principals, or with a pattern of only wildcards, therefore proves nothing about this host.
  const isNamed = (principal: string) =>
    namesHost(principal) && [name, address].some((one) => matchesHostPattern(principal.toLowerCase(), one));
  if (!principals.some(isNamed))
    return `is for ${principals.slice(0, 5).join(', ') || 'no host'}, not for ${name} or ${address}`;
  return criticalOptions.length === 0 ? undefined : `has the critical option ${criticalOptions[0]}`;
}

/** Returns the keys of a host that a trusted authority currently certifies. */
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
