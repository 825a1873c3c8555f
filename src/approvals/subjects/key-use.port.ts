import { identityFacts, type VerifiedIdentity } from '../../access/identity/verified-identity.js';

/** Facts about the thing to be approved, by name. A fact may have several values, such as a caller and the person behind it. */
export type PolicyFacts = Readonly<Record<string, readonly string[]>>;

/** A use of a key that policies judge. */
export interface KeyUseToApprove {
  /** Name of the key. */
  readonly key: string;
  readonly facts: PolicyFacts;
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
    caller: identity === null ? callers : [...callers, identity.trust.id],
  };
}
