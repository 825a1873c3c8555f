import type { Happening } from '../../platform/events/happenings.js';
import { hashId } from '../ingest/asset-identity.js';
import type { RequirementResult } from './attestation.entity.js';
import type { PolicyPack } from './policy-pack.js';

export interface JudgedPolicy {
  readonly pack: PolicyPack;
  /** A query; the whole inventory without. */
  readonly scope?: string;
  readonly results: readonly RequirementResult[];
}

/**
 * What there is to tell of a judged policy: of every requirement whether it is violated or not any more; of those that a person has yet to judge, nothing. While it lasts a
 * violation is one thing, however often it is told, so nobody has to know what was told before.
 */
export function policyHappenings({ pack, scope, results }: JudgedPolicy): Happening[] {
  const texts = new Map(pack.requirements.map(({ identifier, text }) => [identifier, text]));
  return results.flatMap(({ identifier, score, violations, rationale }): Happening[] => {
    if (score === null) return [];
    const name = `${pack.name}, ${identifier}`;
    const id = hashId('policy', pack.id, identifier, scope ?? null);
    const facts = {
      why: `${texts.get(identifier) ?? identifier}: ${rationale}`,
      where: scope ?? 'the whole inventory',
      violations,
    };
    return [{ type: 'policy.violated', subject: { kind: 'policy', id, name }, facts, over: score === 1 }];
  });
}
