import { expect, it } from 'vitest';
import { RightsHistory } from './rights-history.js';

const id = (index: number) => `019abcde-0000-7000-8000-00000000000${index}`;

/** Applies entries about one policy in the order in which the log numbers them; `at` is the order in which they were written. */
function policyAfter(...entries: readonly { readonly action: string; readonly at: number }[]): RightsHistory {
  const history = new RightsHistory();
  for (const { action, at } of entries)
    history.apply({ id: id(at), action: `approval-policy.${action}`, actorId: 'ann', targetId: 'p', detail: {} });
  return history;
}

it('a policy has the revision of its last change', () => {
  const history = policyAfter({ action: 'created', at: 1 }, { action: 'changed', at: 2 }, { action: 'changed', at: 3 });
  expect(history.policiesBehind([{ id: 'p', revision: 2 }])).toEqual([{ id: 'p', revision: 2, logged: 3 }]);
  expect(history.policiesBehind([{ id: 'p', revision: 3 }])).toEqual([]);
});

it.each([['changed'], ['created']])('a removed policy stays removed when an entry "%s" is logged late', (action) => {
  const history = policyAfter({ action: 'created', at: 1 }, { action: 'removed', at: 3 }, { action, at: 4 });
  expect(history.policiesBehind([])).toEqual([]);
  expect(history.policiesBehind([{ id: 'p', revision: 1 }])).toEqual([{ id: 'p', revision: 1, logged: 0 }]);
});
