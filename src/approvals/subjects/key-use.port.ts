import { identityFacts, type VerifiedIdentity } from '../../access/identity/verified-identity.js';

/** Facts about the thing to be approved, by name. A fact may have several values, such as a caller and the person behind it. */
export type PolicyFacts = Readonly<Record<string, readonly string[]>>;

/** A use of a key that policies judge. */
export interface KeyUseToApprove {
  /** Name of the key. */
  readonly key: string;
  readonly facts: PolicyFacts;
}

/** What is known of an SSH certificate before it is judged. */
export interface CertificateUse {
  /** Name of the authority. */
  readonly authority: string;
  /** `user` or `host`. */
  readonly kind: string;
  /** `ssh-ed25519`, … of the key that is certified. */
  readonly keyType: string;
  readonly keyId: string;
  readonly principals: readonly string[];
  /** Whether the host renews what it has. */
  readonly isRenewal: boolean;
  /** Ids of the caller and of the person behind it. */
  readonly callers: readonly string[];
  /** What an issuer proved of the caller; null for callers that are no workloads. */
  readonly identity: VerifiedIdentity | null;
}

/**
 * An SSH certificate as policies judge it, wherever they do: each principal is a use of the authority by itself, so that a harmless
 * principal beside a guarded one changes nothing.
 */
export function usesOfCertificate(certificate: CertificateUse): KeyUseToApprove[] {
  const { authority: key, kind, keyType, keyId, principals, isRenewal, callers, identity } = certificate;
  const common = {
    ...(identity === null ? {} : identityFacts(identity)),
    algorithm: [keyType],
    caller: callersOf(callers, identity),
    'metadata.kind': [kind],
    'metadata.keyId': [keyId],
    'metadata.renewal': [String(isRenewal)],
  };
  return principals.map((principal) => ({ key, facts: { ...common, 'metadata.principal': [principal] } }));
}

/** What is known of a signing request before it is judged. */
interface SigningUse {
  readonly algorithm: string;
  readonly scheme: string;
  readonly format: string;
  /** What the caller says of it. */
  readonly metadata: Record<string, unknown>;
  /** Ids of the caller and of the person behind it. */
  readonly callers: readonly string[];
  /** What an issuer proved of the caller; null for callers that are no workloads. */
  readonly identity: VerifiedIdentity | null;
}

/** The facts about a signing request that the conditions of policies can name: the same when it comes, when it is claimed, and when a policy is tried. */
export function factsOfSigningUse({ algorithm, scheme, format, metadata, callers, identity }: SigningUse): PolicyFacts {
  const named = Object.entries(metadata).flatMap(([name, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [[`metadata.${name}`, [String(value)]] as const] : [],
  );
  return {
    ...Object.fromEntries(named),
    ...(identity === null ? {} : identityFacts(identity)),
    algorithm: [algorithm],
    scheme: [scheme],
    format: [format],
    caller: callersOf(callers, identity),
  };
}

/** The trust of a workload counts as a caller, too. */
function callersOf(callers: readonly string[], identity: VerifiedIdentity | null): readonly string[] {
  return identity === null ? callers : [...callers, identity.trust.id];
}
