import type { RoleName } from '../../access/scopes.js';
import { timeOfId } from '../../platform/database/new-id.js';
import { subjectName } from '../../platform/sealing/row-seals.js';
import type { EntryRow } from '../entries/entry-row.js';
import { ACCEPTED_POLICIES, revocationName, rollBackOf, type RightsHistory } from './rights-history.js';

type LoggedChange = Pick<EntryRow, 'id' | 'action' | 'actorId' | 'targetId' | 'detail'>;
/**
 * A change of one fact. Without `fact`, the change is final: no later action reverses the change, so the change applies regardless of when the entry is logged.
 */
interface Change {
  readonly fact?: string;
  readonly set: (history: RightsHistory) => void;
}
/** Returns the changes that an entry makes. */
type Rule = (entry: LoggedChange) => readonly Change[];

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Returns a rule that changes one fact about the target of the entry. */
const about =
  (fact: string, set: (history: RightsHistory, entry: LoggedChange) => void): Rule =>
  (entry) => [{ fact: `${fact} of ${entry.targetId}`, set: (history) => set(history, entry) }];
const lasting =
  (set: (history: RightsHistory, entry: LoggedChange) => void): Rule =>
  (entry) => [{ set: (history) => set(history, entry) }];
const each =
  (...rules: readonly Rule[]): Rule =>
  (entry) =>
    rules.flatMap((rule) => rule(entry));

const setGroup = about('group', (history, { id, targetId, detail: { name, members, ssoGroups } }) => {
  const named = Array.isArray(ssoGroups) ? (ssoGroups as { provider: string; group: string }[]) : [];
  const [known, at] = [history.groups.get(targetId)?.added ?? {}, timeOfId(id)];
  const added = Object.fromEntries(texts(members).map((member) => [member, known[member] ?? at]));
  history.groups.set(targetId, { name: String(name), members: texts(members), ssoGroups: named, added, at });
});

const setRoles: Rule = (entry) =>
  Array.isArray(entry.detail['roles'])
    ? about('roles', (history, { targetId, detail }) =>
        history.change(targetId, { roles: texts(detail['roles']) as RoleName[] }),
      )(entry)
    : [];

const setDisabled: Rule = (entry) =>
  typeof entry.detail['disabled'] === 'boolean'
    ? about('account', (history, { id, targetId, detail }) => {
        const since = history.people.get(targetId)?.disabledAt ?? 0;
        history.change(targetId, { disabledAt: detail['disabled'] === true ? since || timeOfId(id) : 0 });
      })(entry)
    : [];

const setUser = each(setRoles, setDisabled);

/** Records the names under which an account was created. Entries of earlier versions do not contain these names. */
const nameAccount = lasting((history, { targetId, detail: { addressSha256, providerId, subject } }) => {
  if (typeof addressSha256 === 'string') history.accounts.set(addressSha256, targetId);
  if (typeof providerId === 'string') history.accounts.set(subjectName(providerId, String(subject)), targetId);
});

/** Sets the user's groups at one provider. Each provider is a separate fact. */
const setGroupsAtProvider: Rule = (entry) =>
  about(`groups at ${String(entry.detail['provider'])}`, (history, { targetId, detail: { provider, groups } }) => {
    const known = history.people.get(targetId)?.groups;
    history.change(targetId, { groups: { ...known, [String(provider)]: texts(groups) } });
  })(entry);

const withdraw = about('use', (history, { id, targetId }) => void history.withdrawn.set(targetId, timeOfId(id)));
const restore = about('use', (history, { targetId }) => void history.withdrawn.delete(targetId));
const narrow = lasting(({ narrowed }, { id, targetId }) =>
  narrowed.set(targetId, Math.max(timeOfId(id), narrowed.get(targetId) ?? 0)),
);
/** Sets whether an issuer or identity provider is enabled. */
const setOrigin = about('origin', ({ origins }, { action, targetId, detail }) => {
  const [kind = '', change] = action.split('.');
  if (change === 'removed' || detail['enabled'] === false) origins.delete(targetId);
  else origins.set(targetId, kind);
});
const setProvider: Rule = (entry) => {
  const isDisabled = entry.detail['enabled'] === false;
  const use = each(isDisabled ? withdraw : restore, setOrigin);
  return isDisabled || entry.detail['admitsLess'] === true ? each(use, narrow)(entry) : use(entry);
};
/** Sets the edit counter of the account whose factors changed. Entries of earlier versions do not contain the counter. */
const editAccount = lasting(({ edits }, { actorId, detail: { accountEdit } }) => {
  if (typeof accountEdit === 'number') edits.set(actorId, Math.max(accountEdit, edits.get(actorId) ?? 0));
});
/** A key whose destruction has begun never signs again and cannot be restored. */
const destroyKey = lasting((history, { id, targetId }) => {
  history.withdrawn.set(targetId, timeOfId(id));
  history.destroyedKeys.add(targetId);
});

/** A rotation that has ended makes no further changes to hosts. */
const end = lasting((history, { id, targetId }) => void history.withdrawn.set(targetId, timeOfId(id)));
const rollBack = about(
  'roll-back',
  (history, { id, targetId }) => void history.withdrawn.set(rollBackOf(targetId), timeOfId(id)),
);

const revoke = lasting((history, { id, targetId }) => void history.revoked.set(targetId, timeOfId(id)));

function setPolicySet(history: RightsHistory, revision: unknown, entryId: string): void {
  if (typeof revision !== 'number' || timeOfId(entryId) < history.policySetAt) return;
  history.policySet = revision;
  history.policySetAt = timeOfId(entryId);
}

const countPolicySet = lasting((history, { id, detail }) => setPolicySet(history, detail['policySet'], id));

/** Sets the revision of a changed policy. An entry of an earlier version does not contain the revision and counts as one change. */
const changePolicy: Rule = (entry) => {
  const { revision } = entry.detail;
  if (typeof revision === 'number')
    return lasting((history, { id, targetId }) => history.changePolicy(targetId, revision, id))(entry);
  return about('policy', (history, { targetId }) => {
    const known = history.policies.get(targetId) ?? 0;
    if (known > 0) history.policies.set(targetId, known + 1);
  })(entry);
};

/** Lowers the edit counters only of the rows that an operator accepted. An entry of an earlier version lists no rows and clears all counters. */
const acceptEdits: Rule = ({ detail: { policySet, edits } }) => {
  if (!Array.isArray(edits))
    return typeof policySet === 'number' ? [{ fact: 'accepted edits', set: (history) => history.edits.clear() }] : [];
  return (edits as readonly (readonly [string, number])[]).map(([id, edit]) => ({
    fact: `accepted edit of ${id}`,
    set: (history) => void history.edits.set(id, edit),
  }));
};

/** Replaces the policies with the policies that an operator or an upgrade accepted from the database. */
const acceptPolicies: Rule = ({ id, detail: { policySet, policies } }) => {
  if (typeof policySet !== 'number') return [];
  const set = (history: RightsHistory) => {
    setPolicySet(history, policySet, id);
    history.policies.clear();
    for (const [policy = '', revision] of texts(policies).map((text) => text.split(' ')))
      history.policies.set(policy, Number(revision));
  };
  return [{ fact: ACCEPTED_POLICIES, set }];
};

/** Changes no right. The fact is recorded so that an entry can accept damage only once. */
const noted = about('acceptance', () => undefined);

/** Changes of rights by action. Other actions do not change rights. */
const RULES: Readonly<Record<string, Rule>> = {
  'user.created': each(setUser, nameAccount),
  'auth.signed-in': (entry) => (Array.isArray(entry.detail['groups']) ? setGroupsAtProvider(entry) : []),
  'user.changed': setUser,
  'user.roles-from-provider': setUser,
  'user.groups-from-provider': setGroupsAtProvider,
  // When a factor is added or removed, the actor is the user and the target is the factor.
  'second-factor.added': each(
    about('factor', (history, { id, actorId, targetId }) => history.addFactor(actorId, targetId, id)),
    editAccount,
  ),
  'second-factor.removed': each(
    about('factor', (history, { id, actorId, targetId }) => history.removeFactors(actorId, id, targetId)),
    editAccount,
  ),
  'second-factor.reset': about('factors', (history, { id, targetId }) => history.removeFactors(targetId, id)),
  'session.ended': lasting((history, { id, targetId, detail: { user } }) => {
    if (typeof user === 'string') history.ended.set(targetId, timeOfId(id));
  }),
  'signing-key.destroying': destroyKey,
  'signing-key.destroyed': destroyKey,
  'ssh-ca.revoked': lasting((history, { targetId: authorityId, detail: { kind, value } }) => {
    if (typeof kind !== 'string' || typeof value !== 'string') return;
    const revocation = { authorityId, kind, value };
    history.sshRevocations.set(revocationName(revocation), revocation);
  }),
  'api-key.revoked': revoke,
  'oauth-client.revoked': revoke,
  'identity-provider.created': setProvider,
  'identity-provider.changed': setProvider,
  'identity-provider.removed': each(withdraw, narrow, setOrigin),
  'workload-issuer.created': setOrigin,
  'workload-issuer.changed': setOrigin,
  'workload-issuer.removed': each(withdraw, setOrigin),
  'workload-trust.removed': withdraw,
  'ssh-login-rule.removed': withdraw,
  'user.invitation-revoked': withdraw,
  'signing-key.disabled': withdraw,
  'signing-key.enabled': restore,
  'signing-key.destruction-scheduled': each(
    withdraw,
    about(
      'destruction',
      (history, { actorId, targetId, detail }) =>
        void history.destructions.set(targetId, [actorId, ...texts(detail['behind'])]),
    ),
  ),
  'signing-key.destruction-called-off': about(
    'destruction',
    (history, { targetId }) => void history.destructions.delete(targetId),
  ),
  'approver-group.created': setGroup,
  'approver-group.changed': setGroup,
  'approver-group.removed': setGroup,
  'approval-policy.created': each(
    about('policy', (history, { targetId }) => history.policies.set(targetId, history.policies.get(targetId) ?? 1)),
    countPolicySet,
  ),
  'approval-policy.changed': each(changePolicy, countPolicySet),
  // Revision 0 marks a removed policy, which an entry that is logged late does not restore.
  'approval-policy.removed': each(
    lasting((history, { targetId }) => void history.policies.set(targetId, 0)),
    countPolicySet,
  ),
  'rows.accepted': each(acceptEdits, acceptPolicies),
  'rows.adopted': acceptPolicies,
  'approval.decided': lasting((history, { id, targetId, detail }) => {
    if (detail['to'] !== 'APPROVED') history.refused.set(targetId, timeOfId(id));
  }),
  'approval.rejected': lasting((history, { id, actorId, targetId }) => history.reject(targetId, actorId, id)),
  'approval.extended': about('extension', (history, { id, targetId }) => void history.extensions.set(targetId, id)),
  'ssh-ca.certificate-failed': lasting((history, { id, detail: { certificateId } }) => {
    if (typeof certificateId === 'string') history.refused.set(certificateId, timeOfId(id));
  }),
  'ssh-rotation.done': end,
  'ssh-rotation.partial': end,
  'ssh-rotation.planned': end,
  'ssh-rotation.cancelled': end,
  'ssh-rotation.rolled-back': end,
  'ssh-rotation.roll-back-requested': rollBack,
  'ssh-rotation.rolling-back': rollBack,
  'ssh-rotation.retried': about(
    'roll-back',
    (history, { targetId }) => void history.withdrawn.delete(rollBackOf(targetId)),
  ),
  'audit-log.accepted': noted,
  'log.rolled-back': noted,
};

/** The actions that change rights. */
export const RIGHTS_ACTIONS: readonly string[] = Object.keys(RULES);

/** applyEntry applies the next entry of the log. Returns false if this entry, or newer entries about the same facts, were applied before. */
export function applyEntry(history: RightsHistory, entry: LoggedChange): boolean {
  const { edit } = entry.detail;
  if (typeof edit === 'number')
    history.edits.set(entry.targetId, Math.max(edit, history.edits.get(entry.targetId) ?? 0));
  const changes = RULES[entry.action]?.(entry) ?? [];
  const current = changes.filter(({ fact }) => fact === undefined || history.isNewest(fact, entry.id));
  for (const { set } of current) set(history);
  return changes.length === 0 || current.length > 0;
}
