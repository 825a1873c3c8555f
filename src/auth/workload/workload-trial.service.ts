import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { claimValues, type Claims, type ClaimCondition } from '../../access/identity/verified-identity.js';
import { mismatchOf } from './trust-match.js';
import { WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';

/** Reasons why a trust does not accept the claims of a token, in the order of the checks. */
export const TRUST_FAULTS = ['disabled', 'issuer-disabled', 'issuer', 'audience', 'claim', 'pull-request'] as const;
type TrustFault = (typeof TRUST_FAULTS)[number];

/** The result of testing claims against a trust. */
export interface TrustVerdict {
  readonly trust: Pick<WorkloadTrust, 'id' | 'name'>;
  readonly accepted: boolean;
  readonly fault?: TrustFault;
  /** For the faults `issuer`, `audience` and `claim`: the claim, the required value, and the actual value. */
  readonly claim?: string;
  readonly wanted?: readonly string[];
  readonly given?: readonly string[];
}

type TriedTrust = Pick<WorkloadTrust, 'id' | 'name' | 'enabled' | 'audience' | 'conditions' | 'pullRequests'>;

/** Maximum number of trusts that are reported. */
const MAX_TRIED = 1000;

/** WorkloadTrialService tests claims against the trusts with the rules of the exchange. No signature is verified, and no token is stored or issued. */
@Injectable()
export class WorkloadTrialService {
  constructor(private readonly db: DataSource) {}

  /** Returns a result for each trust: first the trusts that accept the claims, then the other trusts, both sorted by name. */
  async try(claims: Claims): Promise<TrustVerdict[]> {
    const [trusts, issuers] = await Promise.all([
      this.db.manager.find(WorkloadTrust, { order: { name: 'ASC' }, take: MAX_TRIED }),
      this.db.manager.find(WorkloadIssuer, { take: MAX_TRIED }),
    ]);
    const verdicts = trusts.flatMap((trust) => {
      const issuer = issuers.find(({ id }) => id === trust.issuerId);
      return issuer === undefined ? [] : [trustVerdict(trust, issuer, claims)];
    });
    return verdicts.sort((a, b) => Number(b.accepted) - Number(a.accepted));
  }
}

/** Returns the result of testing claims against a trust, with the first reason if the trust does not accept the claims. */
export function trustVerdict(
  { id, name, enabled, audience, ...rules }: TriedTrust,
  issuer: Pick<WorkloadIssuer, 'issuer' | 'enabled'>,
  claims: Claims,
): TrustVerdict {
  const trust = { id, name };
  const refused = (fault: TrustFault, by: Partial<TrustVerdict> = {}) => ({ trust, accepted: false, fault, ...by });
  if (!enabled) return refused('disabled');
  if (!issuer.enabled) return refused('issuer-disabled');
  const wrong = (fault: TrustFault, { claim, values }: ClaimCondition) =>
    refused(fault, { claim, wanted: values, given: claimValues(claims, claim) });
  if (claims['iss'] !== issuer.issuer) return wrong('issuer', { claim: 'iss', values: [issuer.issuer] });
  const audiences = claimValues(claims, 'aud');
  if (audiences.length !== 1 || audiences[0] !== audience)
    return wrong('audience', { claim: 'aud', values: [audience] });
  const mismatch = mismatchOf(rules, claims);
  if (mismatch === undefined) return { trust, accepted: true };
  return mismatch.fault === 'claim' ? wrong('claim', mismatch.condition) : refused('pull-request');
}
