import type { AlertEvent } from '../../../platform/events/alert-events.js';
import { hashId } from '../../model/asset-identity.js';
import type { RequirementResult } from './attestation.entity.js';
import type { PolicyPack } from './policy-pack.js';

export interface JudgedPolicy {
  readonly pack: PolicyPack;
  /** Query that selects the assets; undefined for the whole inventory. */
  readonly scope?: string;
  readonly results: readonly RequirementResult[];
}

/**
 * policyAlertEvents returns an event for each assessed requirement, which indicates whether the requirement is violated. Repeated events about an ongoing
 * violation belong to one alert, so earlier events need not be read.
 */
export function policyAlertEvents({ pack, scope, results }: JudgedPolicy): AlertEvent[] {
  const texts = new Map(pack.requirements.map(({ identifier, text }) => [identifier, text]));
  return results.flatMap(({ identifier, score, violations, rationale }): AlertEvent[] => {
    if (score === null) return [];
    const facts = { why: `${texts.get(identifier) ?? identifier}: ${rationale}`, violations };
    return [{ ...about(pack, identifier, scope, facts), over: score === 1 }];
  });
}

/** endedAlertEvents returns events that resolve the alerts about removed requirements. */
export function endedAlertEvents(
  pack: PolicyPack,
  identifiers: readonly string[],
  scopes: readonly (string | null)[],
): AlertEvent[] {
  const facts = { why: 'The policy no longer contains this requirement.' };
  return scopes.flatMap((scope) =>
    identifiers.map((identifier) => ({ ...about(pack, identifier, scope, facts), over: true })),
  );
}

/** Returns an event about one requirement in one scope. */
function about(
  pack: PolicyPack,
  identifier: string,
  scope: string | null = null,
  facts: AlertEvent['facts'] = {},
): AlertEvent {
  const id = hashId('policy', pack.id, identifier, scope);
  return {
    type: 'policy.violated',
    subject: { kind: 'policy', id, name: `${pack.name}, ${identifier}` },
    facts: { ...facts, where: scope ?? 'the whole inventory' },
  };
}
