import { type EntityManager, In } from 'typeorm';
import { type Caller, isOwn } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import type { KeyUseToApprove } from '../../approvals/subjects/key-use.port.js';
import { Problem } from '../../platform/errors/problem.js';
import { SigningRequest } from '../model/signing-request.entity.js';
import { policyFactsOf } from './shown-request.js';

/** Past requests as policies judge them, in the order of the ids. Problem `signing-request.missing`. */
export async function pastUses(tx: EntityManager, caller: Caller, ids: readonly string[]): Promise<KeyUseToApprove[]> {
  const found = ids.length === 0 ? [] : await tx.findBy(SigningRequest, { id: In(ids) });
  const known = new Map(found.map((request) => [request.id, request]));
  return ids.map((id) => {
    const request = known.get(id.toLowerCase());
    if (request !== undefined && (isOwn(caller, request) || mayDo(caller.scopes, 'audit:read')))
      return { key: request.keyName, facts: policyFactsOf(request) };
    throw new Problem('missing', 'signing-request.missing', `There is no signing request ${id} among yours.`);
  });
}
