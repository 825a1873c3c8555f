import type { HostKeyPolicy } from '../model/host.entity.js';
import type { HostKey, HostKeyState } from '../model/host-key.entity.js';

/** Whether a login may go on to a host that shows this key, and what is to be written down about the key. */
export interface HostKeyVerdict {
  readonly trusted: boolean;
  readonly state: HostKeyState;
}

interface Question {
  readonly known: readonly Pick<HostKey, 'blob' | 'state'>[];
  readonly shown: Buffer;
  readonly policy: HostKeyPolicy;
  /** Keys that a trusted authority certifies for this host at this moment; they count with the policy `ca`, and nothing else does. */
  readonly certified: readonly Pick<HostKey, 'blob'>[];
  /** A password can be kept by whoever receives it, so it is never sent on the first sight of a key. */
  readonly sendsPassword: boolean;
}

/** Decides before authentication. In doubt nobody logs in. */
export function judgeHostKey({ known, shown, policy, certified, sendsPassword }: Question): HostKeyVerdict {
  const own = known.find(({ blob }) => blob.equals(shown));
  if (policy === 'ca') return judgeCertified(certified, shown, own?.state);
  if (own?.state === 'pinned') return { trusted: true, state: 'pinned' };
  if (own?.state === 'rejected' || own?.state === 'changed') return { trusted: false, state: own.state };
  if (known.some(({ state }) => state === 'pinned')) return { trusted: false, state: 'changed' };
  const onFirstUse = policy === 'tofu' && !sendsPassword;
  const isFirst = own !== undefined || !known.some(({ state }) => state === 'tofu-pending');
  if (policy === 'tofu' && !isFirst) return { trusted: false, state: 'changed' };
  return { trusted: onFirstUse, state: 'tofu-pending' };
}

/** What is pinned does not count here, and what was rejected stays so whoever certifies it. */
function judgeCertified(certified: Question['certified'], shown: Buffer, own?: HostKeyState): HostKeyVerdict {
  const isCertified = certified.some(({ blob }) => blob.equals(shown));
  const state = own ?? (certified.length > 0 ? 'changed' : 'tofu-pending');
  return { trusted: isCertified && state !== 'rejected' && state !== 'changed', state };
}
