import { scopesOf, mayDo, type RoleName, type Scope } from '../../access/scopes.js';
import { timeOfId } from '../../platform/database/new-id.js';
import type { EntryRow } from '../log/log-leaf.js';

/** A session expires after this long, so its end need not be remembered longer. */
const REMEMBERED_MS = 31 * 24 * 3600_000;

/** No approval is used this long after it ended. */
const REMEMBERED_APPROVALS_MS = 400 * 24 * 3600_000;

/** The state of a user according to the log. Absent members: the log does not have them. */
export interface LoggedPerson {
  readonly roles?: readonly RoleName[];
  /** When the account was disabled, in milliseconds; 0: it is enabled. */
  readonly disabledAt?: number;
  /** Authenticators and passkeys, and when the first of them was added, in milliseconds. */
  readonly factors?: { readonly count: number; readonly since: number };
  /** Groups that identity providers named at the last sign-in, by provider. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
}

interface LoggedGroup {
  readonly name: string;
  readonly members: readonly string[];
  /** Groups of identity providers whose users are members as well. */
  readonly ssoGroups: readonly { readonly provider: string; readonly group: string }[];
  /** When the members were changed, in milliseconds. */
  readonly at: number;
}

/** A person who acts, to be compared with the log. */
export interface ActingPerson {
  readonly id: string;
  readonly session?: string | undefined;
  /** The approver group for which the person votes. */
  readonly groupId?: string | undefined;
  /** Authentication methods (RFC 8176) of a sign-in by password. */
  readonly methods?: readonly string[] | undefined;
  /** The scope that the action needs. */
  readonly scope?: Scope | undefined;
  /** When the person acts, in milliseconds. */
  readonly at: number;
}

/** LoggedRevocation is a revocation of an SSH certificate or key, as the log has it. */
export interface LoggedRevocation {
  readonly authorityId: string;
  readonly kind: string;
  readonly value: string;
}

/** RightsHistory as JSON. */
export interface RightsHistoryState {
  readonly people: readonly (readonly [string, LoggedPerson])[];
  readonly ended: readonly (readonly [string, number])[];
  readonly revoked: readonly (readonly [string, number])[];
  readonly groups: readonly (readonly [string, LoggedGroup])[];
  readonly policies: readonly (readonly [string, number])[];
  readonly withdrawn: readonly (readonly [string, number])[];
  readonly destructions: readonly string[];
  readonly policySet: number;
  readonly policySetAt: number;
  readonly refused: readonly (readonly [string, number])[];
  readonly last: readonly (readonly [string, string])[];
  readonly destroyedKeys: readonly string[];
  readonly sshRevocations: readonly LoggedRevocation[];
}

const EMPTY: RightsHistoryState = {
  people: [],
  ended: [],
  revoked: [],
  groups: [],
  policies: [],
  withdrawn: [],
  destructions: [],
  policySet: 0,
  policySetAt: 0,
  refused: [],
  last: [],
  destroyedKeys: [],
  sshRevocations: [],
};

/** PolicyBehind is a policy that is older in the database than in the log. */
export interface PolicyBehind {
  readonly id: string;
  /** Revision in the database; 0 if the policy is missing. */
  readonly revision: number;
  /** Revision in the log; 0 if the policy was removed. */
  readonly logged: number;
}

/**
 * RightsHistory holds the rights according to the audit log: disabled users, ended sessions, revoked keys, members of approver groups. The rows of the
 * database agree unless someone restored earlier rows, which their seals do not show.
 */
export class RightsHistory {
  readonly people: Map<string, LoggedPerson>;
  /** Ended sessions of users, with the time in milliseconds. */
  readonly ended: Map<string, number>;
  /** API keys and OAuth clients that were revoked, with the time in milliseconds. */
  readonly revoked: Map<string, number>;
  readonly groups: Map<string, LoggedGroup>;
  /**
   * Identity providers, issuers, trusts, login rules and invitations that were removed, revoked or disabled, and signing keys that were disabled or
   * destroyed or whose destruction is scheduled, with the time in milliseconds.
   */
  readonly withdrawn: Map<string, number>;
  /** Signing keys whose destruction is scheduled. */
  readonly destructions: Set<string>;
  /** Revision of each approval policy; 0 if the policy was removed. */
  readonly policies: Map<string, number>;
  /** Revision of the policy set; 0 if the log does not have it. */
  policySet: number;
  /** When the policy set reached this revision, in milliseconds. */
  policySetAt: number;
  /** Approvals that were rejected or withdrawn, expired or were replaced, with the time in milliseconds. */
  readonly refused: Map<string, number>;
  /** Signing keys whose destruction has begun. */
  readonly destroyedKeys: Set<string>;
  /** Revocations of SSH certificates and keys, by `revocationName`. */
  readonly sshRevocations: Map<string, LoggedRevocation>;
  /**
   * ID of the newest entry about each user, group or policy. An attacker who writes to the database can have an old entry logged again, or hold an entry back
   * and have it logged later. Neither may undo later entries.
   */
  private readonly last: Map<string, string>;

  constructor(state: RightsHistoryState = EMPTY) {
    this.people = new Map(state.people);
    this.ended = new Map(state.ended);
    this.revoked = new Map(state.revoked);
    this.groups = new Map(state.groups);
    this.withdrawn = new Map(state.withdrawn);
    this.destructions = new Set(state.destructions);
    this.policies = new Map(state.policies);
    this.policySet = state.policySet;
    this.policySetAt = state.policySetAt;
    this.refused = new Map(state.refused);
    this.last = new Map(state.last);
    this.destroyedKeys = new Set(state.destroyedKeys);
    this.sshRevocations = new Map(state.sshRevocations.map((one) => [revocationName(one), one]));
  }

  state(): RightsHistoryState {
    const { people, ended, revoked, groups, withdrawn, destructions, policies, policySet, policySetAt, refused, last } =
      this;
    for (const [id, at] of ended) if (at < Date.now() - REMEMBERED_MS) ended.delete(id);
    for (const [id, at] of refused) if (at < Date.now() - REMEMBERED_APPROVALS_MS) refused.delete(id);
    return {
      people: [...people],
      ended: [...ended],
      revoked: [...revoked],
      groups: [...groups],
      withdrawn: [...withdrawn],
      destructions: [...destructions],
      policies: [...policies],
      policySet,
      policySetAt,
      refused: [...refused],
      last: [...last],
      destroyedKeys: [...this.destroyedKeys],
      sshRevocations: [...this.sshRevocations.values()],
    };
  }

  /** Applies the next entry of the log. Returns false if this entry, or a newer entry about the same person, group or policy, was applied before. */
  apply(entry: LoggedChange): boolean {
    const rule = RULES[entry.action];
    if (rule === undefined) return true;
    if (!FINAL.has(entry.action)) {
      const about = OF_ACTOR.has(entry.action) ? entry.actorId : entry.targetId;
      if (entry.id <= (this.last.get(about) ?? '')) return false;
      this.last.set(about, entry.id);
    }
    rule(this, entry);
    return true;
  }

  /** Returns the policies that are older in the database than in the log. `now` has all policies of the database. */
  policiesBehind(now: readonly { readonly id: string; readonly revision: number }[]): PolicyBehind[] {
    const revisions = new Map(now.map(({ id, revision }) => [id, revision]));
    return [...this.policies].flatMap(([id, logged]) => {
      const revision = revisions.get(id) ?? 0;
      const isBehind = logged === 0 ? revision > 0 : revision < logged;
      return isBehind ? [{ id, revision, logged }] : [];
    });
  }

  /** Reports whether the person has a second factor. */
  hasFactor(userId: string): boolean {
    return (this.people.get(userId)?.factors?.count ?? 0) > 0;
  }

  /**
   * Returns why the user had lost the right to act at that time, in words that complete "The audit log says that …"; undefined if the log does not object.
   *
   * @param toleranceMs time between a loss and an action that may be a race of two processes
   */
  objectionTo(person: ActingPerson, toleranceMs = 0): string | undefined {
    const { id, session, methods, scope, at } = person;
    const isOver: IsOver = (since) => since !== undefined && since > 0 && since <= at - toleranceMs;
    const { roles, disabledAt, factors } = this.people.get(id) ?? {};
    if (isOver(disabledAt)) return `the account ${id} is disabled`;
    if (session !== undefined && isOver(this.ended.get(session))) return `the session ${session} ended`;
    if (scope !== undefined && roles !== undefined && !mayDo(scopesOf(roles), scope))
      return `the account ${id} has no role with ${scope}`;
    if (methods?.includes('mfa') === false && factors !== undefined && factors.count > 0 && isOver(factors.since))
      return `the account ${id} has a second factor, and this sign-in was without`;
    return this.objectionToMember(person, isOver);
  }

  private objectionToMember({ id, groupId }: ActingPerson, isOver: IsOver): string | undefined {
    const group = groupId === undefined ? undefined : this.groups.get(groupId);
    if (group === undefined || group.members.includes(id) || !isOver(group.at)) return undefined;
    const groups = this.people.get(id)?.groups;
    // The log has the groups of a person since they last changed. For the time before, it contains nothing.
    const mayBeNamed = group.ssoGroups.some(({ provider, group: name }) => groups?.[provider]?.includes(name) ?? true);
    return mayBeNamed ? undefined : `the account ${id} is not a member of the approver group ${groupId}`;
  }

  change(id: string, change: LoggedPerson): void {
    this.people.set(id, { ...this.people.get(id), ...change });
  }
}

/** revocationName returns the text by which revocations are compared. */
export function revocationName({ authorityId, kind, value }: LoggedRevocation): string {
  return JSON.stringify([authorityId, kind, value]);
}

/** Whether a loss at this time, in milliseconds, counts against the action. */
type IsOver = (since: number | undefined) => boolean;
type LoggedChange = Pick<EntryRow, 'id' | 'action' | 'actorId' | 'targetId' | 'detail'>;
type Rule = (history: RightsHistory, entry: LoggedChange) => void;

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const setGroup: Rule = (history, { id, targetId, detail: { name, members, ssoGroups } }) => {
  const named = Array.isArray(ssoGroups) ? (ssoGroups as LoggedGroup['ssoGroups']) : [];
  history.groups.set(targetId, { name: String(name), members: texts(members), ssoGroups: named, at: timeOfId(id) });
};

const setRoles: Rule = (history, { id, targetId, detail: { roles, disabled } }) => {
  if (Array.isArray(roles)) history.change(targetId, { roles: texts(roles) as RoleName[] });
  if (typeof disabled !== 'boolean') return;
  const since = history.people.get(targetId)?.disabledAt ?? 0;
  history.change(targetId, { disabledAt: disabled ? since || timeOfId(id) : 0 });
};

const countFactor =
  (by: 1 | -1): Rule =>
  (history, { id, actorId }) => {
    const { count, since } = history.people.get(actorId)?.factors ?? { count: 0, since: 0 };
    const next = Math.max(0, count + by);
    history.change(actorId, { factors: { count: next, since: count === 0 ? timeOfId(id) : since } });
  };

const withdraw: Rule = (history, { id, targetId }) => void history.withdrawn.set(targetId, timeOfId(id));
const restore: Rule = (history, { targetId }) => void history.withdrawn.delete(targetId);
const setProvider: Rule = (history, entry) => (entry.detail['enabled'] === false ? withdraw : restore)(history, entry);
/** A key whose destruction has begun never signs again and cannot be restored. */
const destroyKey: Rule = (history, entry) => {
  withdraw(history, entry);
  history.destroyedKeys.add(entry.targetId);
};

const revoke: Rule = (history, { id, targetId }) => void history.revoked.set(targetId, timeOfId(id));

function setPolicySet(history: RightsHistory, revision: number, entryId: string): void {
  if (timeOfId(entryId) < history.policySetAt) return;
  history.policySet = revision;
  history.policySetAt = timeOfId(entryId);
}

const setPolicy =
  (next: (known: number | undefined) => number | undefined): Rule =>
  (history, { id, targetId, detail: { policySet } }) => {
    const revision = next(history.policies.get(targetId));
    if (revision !== undefined) history.policies.set(targetId, revision);
    if (typeof policySet === 'number') setPolicySet(history, policySet, id);
  };

/** Replaces the policies with those that an operator or an upgrade accepted from the database. */
const acceptPolicies: Rule = (history, { id, detail: { policySet, policies } }) => {
  if (typeof policySet !== 'number') return;
  setPolicySet(history, policySet, id);
  history.policies.clear();
  for (const [policy = '', revision] of texts(policies).map((text) => text.split(' ')))
    history.policies.set(policy, Number(revision));
};

/** What each action changes. Other actions change no right. */
const RULES: Readonly<Record<string, Rule>> = {
  'user.created': setRoles,
  'user.changed': setRoles,
  'user.roles-from-provider': setRoles,
  'user.groups-from-provider': (history, { targetId, detail: { provider, groups } }) => {
    const known = history.people.get(targetId)?.groups;
    history.change(targetId, { groups: { ...known, [String(provider)]: texts(groups) } });
  },
  'second-factor.added': countFactor(1),
  'second-factor.removed': countFactor(-1),
  'second-factor.reset': (history, { targetId }) => history.change(targetId, { factors: { count: 0, since: 0 } }),
  'session.ended': (history, { id, targetId, detail: { user } }) => {
    if (typeof user === 'string') history.ended.set(targetId, timeOfId(id));
  },
  'signing-key.destroying': destroyKey,
  'signing-key.destroyed': destroyKey,
  'ssh-ca.revoked': (history, { targetId: authorityId, detail: { kind, value } }) => {
    if (typeof kind !== 'string' || typeof value !== 'string') return;
    const revocation = { authorityId, kind, value };
    history.sshRevocations.set(revocationName(revocation), revocation);
  },
  'api-key.revoked': revoke,
  'oauth-client.revoked': revoke,
  'identity-provider.created': setProvider,
  'identity-provider.changed': setProvider,
  'identity-provider.removed': withdraw,
  'workload-issuer.removed': withdraw,
  'workload-trust.removed': withdraw,
  'ssh-login-rule.removed': withdraw,
  'user.invitation-revoked': withdraw,
  'signing-key.disabled': withdraw,
  'signing-key.enabled': restore,
  'signing-key.destruction-scheduled': (history, entry) => {
    withdraw(history, entry);
    history.destructions.add(entry.targetId);
  },
  'signing-key.destruction-called-off': (history, { targetId }) => void history.destructions.delete(targetId),
  'approver-group.created': setGroup,
  'approver-group.changed': setGroup,
  'approver-group.removed': setGroup,
  // An entry that is logged late does not bring back a removed policy (0).
  'approval-policy.created': setPolicy((known) => known ?? 1),
  'approval-policy.changed': setPolicy((known) => (known === undefined || known === 0 ? known : known + 1)),
  'approval-policy.removed': setPolicy(() => 0),
  'rows.accepted': acceptPolicies,
  'rows.adopted': acceptPolicies,
  'approval.decided': (history, { id, targetId, detail }) => {
    if (detail['to'] !== 'APPROVED') history.refused.set(targetId, timeOfId(id));
  },
  // These actions change no rights. They are listed so that an entry accepts damage only once.
  'audit-log.accepted': () => undefined,
  'log.rolled-back': () => undefined,
};

/** Final actions: no later action reverses them for the same target, so their entries count whenever they are logged. */
const FINAL: ReadonlySet<string> = new Set([
  'signing-key.destroying',
  'signing-key.destroyed',
  'ssh-ca.revoked',
  'session.ended',
  'api-key.revoked',
  'oauth-client.revoked',
  'approval.decided',
  'approval-policy.removed',
]);

/** Actions that change the person who acts, not the target. */
const OF_ACTOR: ReadonlySet<string> = new Set(['second-factor.added', 'second-factor.removed']);

/** The actions that change rights. */
export const RIGHTS_ACTIONS: readonly string[] = Object.keys(RULES);
