import { identityFacts, type VerifiedIdentity } from '../../access/identity/verified-identity.js';

/** Facts about the subject to be approved, by name. A fact may have several values, such as a caller and the person behind the caller. */
export type PolicyFacts = Readonly<Record<string, readonly string[]>>;

/** A use of a key that policies evaluate. */
export interface KeyUseToApprove {
  /** Name of the key. */
  readonly key: string;
  /** Names of the keys that this key replaced, directly or indirectly. A policy that lists a former key also covers this key. */
  readonly formerKeys?: readonly string[];
  readonly facts: PolicyFacts;
  /**
   * Facts whose value the caller could have replaced without changing the signed bytes. A condition on such a fact holds, as does a condition on a missing
   * fact.
   */
  readonly interchangeable?: readonly string[];
}

/** CertificateUse describes a requested SSH certificate, as input to policy evaluation. */
export interface CertificateUse {
  /** Name of the authority. */
  readonly authority: string;
  /** `user` or `host`. */
  readonly kind: string;
  /** Type of the certified key, such as `ssh-ed25519`. */
  readonly keyType: string;
  readonly keyId: string;
  readonly principals: readonly string[];
  /** Whether the host renews its own certificate. */
  readonly isRenewal: boolean;
  /** IDs of the caller and of the person behind the caller. */
  readonly callers: readonly string[];
  /** Verified claims of the caller; null for callers that are not workloads. */
  readonly identity: VerifiedIdentity | null;
}

/**
 * Returns an SSH certificate as uses for policy evaluation: each principal is a separate use of the authority, so that adding a harmless principal does not
 * evade a policy.
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
  return principals.map((principal) => {
    const facts = { ...common, 'metadata.principal': kind === 'host' ? hostNames(principal) : [principal] };
    // A pattern can match hosts that a condition lists, so conditions on the principal hold for a pattern.
    return kind === 'host' && /[*?]/.test(principal)
      ? { key, facts, interchangeable: ['metadata.principal'] }
      : { key, facts };
  });
}

/** Returns the principal as written and in lower case, because host names are case-insensitive (RFC 4343). */
function hostNames(principal: string): readonly string[] {
  return [...new Set([principal, principal.toLowerCase()])];
}

/** Describes a signing request, as input to policy evaluation. */
interface SigningUse {
  /** Name of the key. */
  readonly key: string;
  readonly algorithm: string;
  readonly scheme: string;
  readonly format: string;
  /** Unverified facts provided by the caller. */
  readonly metadata: Record<string, unknown>;
  /** IDs of the caller and of the person behind the caller. */
  readonly callers: readonly string[];
  /** Verified claims of the caller; null for callers that are not workloads. */
  readonly identity: VerifiedIdentity | null;
}

/**
 * Formats whose signatures are not valid in another format, because the service composes the signed bytes from validated parts. In every other format, the
 * caller controls enough of the signed bytes to make the signature valid in another format: with `raw`, the digest itself; with `cms`, a digest that can also
 * be the digest of Authenticode content; with `jws`, a payload of up to 64 octets.
 */
export const COMPOSED_FORMATS: readonly string[] = ['authenticode', 'attestation'];
/** Facts that carry no information about a signature over the caller's own digest. */
const INTERCHANGEABLE = ['format', 'scheme', 'algorithm'] as const;

/**
 * signingUse returns a signing request as input to policy evaluation. The result is the same on arrival, when the request is claimed, and in a policy
 * trial.
 */
export function signingUse(request: SigningUse): KeyUseToApprove {
  const { key, algorithm, scheme, format, metadata, callers, identity } = request;
  const named = Object.entries(metadata).flatMap(([name, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [[`metadata.${name}`, [String(value)]] as const] : [],
  );
  const facts = {
    ...Object.fromEntries(named),
    ...(format === 'attestation' ? filesAttested(metadata) : {}),
    ...(identity === null ? {} : identityFacts(identity)),
    algorithm: [algorithm],
    scheme: [scheme],
    format: [format],
    caller: callersOf(callers, identity),
  };
  return COMPOSED_FORMATS.includes(format) ? { key, facts } : { key, facts, interchangeable: INTERCHANGEABLE };
}

/** Returns the fact `metadata.filename`, with the name of each attested file as a value. */
function filesAttested(metadata: Record<string, unknown>): PolicyFacts {
  const names = (subjectNames(metadata) ?? []).filter((name) => typeof name === 'string');
  return names.length === 0 ? {} : { 'metadata.filename': names };
}

/**
 * subjectNames returns the `name` of each subject in the metadata of an attestation, without validating it; undefined if the metadata has no list of subjects.
 */
export function subjectNames({ subjects }: Record<string, unknown>): unknown[] | undefined {
  if (!Array.isArray(subjects)) return undefined;
  return subjects.map((subject: unknown) => (subject as { readonly name?: unknown } | null)?.name);
}

/** Returns the IDs of the callers. The trust of a workload also counts as a caller. */
function callersOf(callers: readonly string[], identity: VerifiedIdentity | null): readonly string[] {
  return identity === null ? callers : [...callers, identity.trust.id];
}
