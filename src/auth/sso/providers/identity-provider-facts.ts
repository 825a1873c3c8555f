import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { hasOurKey, type IdentityProvider } from '../../model/identity-provider.entity.js';

/** ProviderRow contains the columns of a provider from which audit entries are composed. */
export type ProviderRow = Pick<
  IdentityProvider,
  'name' | 'kind' | 'label' | 'enabled' | 'settings' | 'rules' | 'defaultRoles' | 'secret'
>;

type Facts = Readonly<Record<string, unknown>>;

/** Returns every setting of a provider except its secret; certificates are represented by their SHA-256 fingerprint. */
export function providerFacts({ name, kind, label, enabled, settings, rules, defaultRoles }: ProviderRow): Facts {
  const { ourCertificate, ...rest } = settings;
  const certificates = 'certificates' in rest ? { certificates: rest.certificates.map(fingerprintOf) } : {};
  const ours = ourCertificate === undefined ? {} : { ourCertificate: fingerprintOf(ourCertificate) };
  return { name, kind, label, enabled, rules, defaultRoles, settings: { ...rest, ...certificates, ...ours } };
}

/** Returns the members that differ, each with its old and its new value. */
export function differenceOf(before: ProviderRow, now: ProviderRow): Record<string, { from: unknown; to: unknown }> {
  const [earlier, present] = [flat(providerFacts(before)), flat(providerFacts(now))];
  const names = [...new Set([...Object.keys(earlier), ...Object.keys(present)])];
  const differing = names.filter((name) => !isDeepStrictEqual(earlier[name], present[name]));
  const found = differing.map((name) => [name, { from: earlier[name] ?? null, to: present[name] ?? null }] as const);
  return { ...Object.fromEntries(found), ...secretDifference(before, now) };
}

/** Returns how the secret changed. The secret itself is never recorded, only whether a secret was stored and whether the secret changed. */
function secretDifference(before: ProviderRow, now: ProviderRow): Record<string, { from: unknown; to: unknown }> {
  const isSame =
    before.secret === null || now.secret === null ? before.secret === now.secret : before.secret.equals(now.secret);
  if (isSame) return {};
  const name = hasOurKey(now.settings) ? 'privateKey' : 'clientSecret';
  const stateOf = (secret: Buffer | null, word: string) => (secret === null ? null : word);
  return { [name]: { from: stateOf(before.secret, 'earlier'), to: stateOf(now.secret, 'replaced') } };
}

function flat({ settings, ...rest }: Facts): Facts {
  return { ...rest, ...(settings as Facts) };
}

function fingerprintOf(pem: string): string {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return 'unreadable';
  }
}
