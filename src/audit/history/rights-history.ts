import { scopesOf, mayDo, type RoleName, type Scope } from '../../access/scopes.js';
import { timeOfId } from '../../platform/database/new-id.js';

/** Time for which the end of a session is kept. Every session has expired after this time. */
const REMEMBERED_MS = 31 * 24 * 3600_000;

/** Time for which the end of an approval is kept. No approval is used after this time. */
const REMEMBERED_APPROVALS_MS = 400 * 24 * 3600_000;

/** The state of a user according to the log. Facts that the log does not contain are absent. */
export interface LoggedPerson {
  readonly roles?: readonly RoleName[];
  /** Time at which the account was disabled, in milliseconds; 0 if the account is enabled. */
  readonly disabledAt?: number;
  /** Authenticators and passkeys: maps the ID of each factor to the entry that added the factor. */
  readonly factors?: Readonly<Record<string, string>>;
  /** Groups listed by identity providers at the last sign-in, by provider. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
}

interface LoggedGroup {
  readonly name: string;
  readonly members: readonly string[];
  /** Groups of identity providers whose users are also members of this group. */
  readonly ssoGroups: readonly { readonly provider: string; readonly group: string }[];
  /** Time at which each named member was added, in milliseconds. */
  readonly added: Readonly<Record<string, number>>;
  /** Time at which the members were changed, in milliseconds. */
  readonly at: number;
}

/** Membership is how a person belongs to an approver group: as a named member, or through a group of an identity provider. */
export type Membership = 'named' | { readonly provider: string; readonly group: string };

/** A person and the person's action, to be compared with the log. */
export interface ActingPerson {
  readonly id: string;
  readonly session?: string | undefined;
  /** The approver group for which the person votes. */
  readonly groupId?: string | undefined;
  /** The membership according to the database; undefined if unknown. */
  readonly membership?: Membership | undefined;
  /** Authentication methods (RFC 8176) of a sign-in by password. */
  readonly methods?: readonly string[] | undefined;
  /** The scope that the action requires. */
  readonly scope?: Scope | undefined;
  /** Time of the action, in milliseconds. */
  readonly at: number;
}

/** LoggedRevocation is the revocation of an SSH certificate or key according to the log. */
export interface LoggedRevocation {
  readonly authorityId: string;
  readonly kind: string;
  readonly value: string;
}

/** Name of the fact that records the policies accepted by an operator or an upgrade. */
export const ACCEPTED_POLICIES = 'policies';

/** The people who rejected an approval. */
export interface LoggedRejections {
  readonly people: readonly string[];
  /** Time of the last rejection, in milliseconds. */
  readonly at: number;
}

/** RightsHistory as JSON. */
export interface RightsHistoryState {
  readonly people: readonly (readonly [string, LoggedPerson])[];
  readonly ended: readonly (readonly [string, number])[];
  readonly revoked: readonly (readonly [string, number])[];
  readonly groups: readonly (readonly [string, LoggedGroup])[];
  readonly policies: readonly (readonly [string, number])[];
  readonly withdrawn: readonly (readonly [string, number])[];
  readonly destructions: readonly (readonly [string, readonly string[]])[];
  readonly policySet: number;
  readonly policySetAt: number;
  readonly refused: readonly (readonly [string, number])[];
  readonly rejections: readonly (readonly [string, LoggedRejections])[];
  readonly extensions: readonly (readonly [string, string])[];
  readonly edits: readonly (readonly [string, number])[];
  readonly accounts: readonly (readonly [string, string])[];
  readonly newest: readonly (readonly [string, string])[];
  readonly destroyedKeys: readonly string[];
  readonly sshRevocations: readonly LoggedRevocation[];
  readonly narrowed: readonly (readonly [string, number])[];
  readonly origins: readonly (readonly [string, string])[];
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
  rejections: [],
  extensions: [],
  edits: [],
  accounts: [],
  newest: [],
  destroyedKeys: [],
  sshRevocations: [],
  narrowed: [],
  origins: [],
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
 * RightsHistory holds the rights according to the audit log: disabled users, ended sessions, revoked keys, members of approver groups. The database rows match
 * this history unless someone restored earlier versions of rows, which row seals do not detect.
 */
export class RightsHistory {
  readonly people: Map<string, LoggedPerson>;
  /** Ended sessions of users, with the time in milliseconds. */
  readonly ended: Map<string, number>;
  /** API keys and OAuth clients that were revoked, and second factors that were removed, with the time in milliseconds. */
  readonly revoked: Map<string, number>;
  readonly groups: Map<string, LoggedGroup>;
  /**
   * Identity providers, issuers, trusts, login rules and invitations that were removed, revoked or disabled, and signing keys that were disabled or
   * destroyed or whose destruction is scheduled, with the time in milliseconds.
   */
  readonly withdrawn: Map<string, number>;
  /** Signing keys whose destruction is scheduled, with the IDs of everyone whose rights the call required: the caller and the people behind the caller. */
  readonly destructions: Map<string, readonly string[]>;
  /** Revision of each approval policy; 0 if the policy was removed. */
  readonly policies: Map<string, number>;
  /** Revision of the policy set; 0 if the log does not contain it. */
  policySet: number;
  /** Time at which the policy set reached this revision, in milliseconds. */
  policySetAt: number;
  /** Approvals that were rejected, withdrawn or replaced, or that expired, with the time in milliseconds. */
  readonly refused: Map<string, number>;
  /** Rejecting votes by approval. Without these votes, an attacker who removes an entry could let a rejected approval continue. */
  readonly rejections: Map<string, LoggedRejections>;
  /** Edit counter of each row (`SealedOptions.edits`), by ID. */
  readonly edits: Map<string, number>;
  /** IDs of accounts by the names under which the accounts were created (`addressName`, `subjectName`). */
  readonly accounts: Map<string, string>;
  /**
   * ID of the last extension's audit entry, by approval. Without this ID, an attacker who removes the entry could undo the stages that a stricter policy
   * added.
   */
  readonly extensions: Map<string, string>;
  /** Signing keys whose destruction has begun. */
  readonly destroyedKeys: Set<string>;
  /** Revocations of SSH certificates and keys, by `revocationName`. */
  readonly sshRevocations: Map<string, LoggedRevocation>;
  /**
   * Time at which each identity provider was last disabled or removed, or lost a certificate, rule or default role, in milliseconds. The service cannot
   * determine which users the provider would still admit, so earlier actions of the provider's users no longer count.
   */
  readonly narrowed: Map<string, number>;
  /** Issuers and identity providers that are enabled: maps each ID to `workload-issuer` or `identity-provider`. */
  readonly origins: Map<string, string>;
  /**
   * ID of the newest entry about each fact, such as the roles of a user. An attacker with write access to the database can have an old entry logged again,
   * or delay an entry and have it logged later. Neither attack may undo later entries about the same fact, and a later entry about another fact must not
   * hide a delayed entry.
   */
  private readonly newest: Map<string, string>;

  constructor(state: RightsHistoryState = EMPTY) {
    this.people = new Map(state.people);
    this.ended = new Map(state.ended);
    this.revoked = new Map(state.revoked);
    this.groups = new Map(state.groups);
    this.withdrawn = new Map(state.withdrawn);
    this.destructions = new Map(state.destructions);
    this.policies = new Map(state.policies);
    this.policySet = state.policySet;
    this.policySetAt = state.policySetAt;
    this.refused = new Map(state.refused);
    this.rejections = new Map(state.rejections);
    this.extensions = new Map(state.extensions);
    this.edits = new Map(state.edits);
    this.accounts = new Map(state.accounts);
    this.newest = new Map(state.newest);
    this.destroyedKeys = new Set(state.destroyedKeys);
    this.sshRevocations = new Map(state.sshRevocations.map((one) => [revocationName(one), one]));
    this.narrowed = new Map(state.narrowed);
    this.origins = new Map(state.origins);
  }

  state(): RightsHistoryState {
    const endedSince = Date.now() - REMEMBERED_MS;
    for (const [id, at] of this.ended) if (at < endedSince) this.ended.delete(id);
    const since = Date.now() - REMEMBERED_APPROVALS_MS;
    for (const [id, at] of this.refused) if (at < since) this.refused.delete(id);
    for (const [id, { at }] of this.rejections) if (at < since) this.rejections.delete(id);
    for (const [id, entry] of this.extensions) if (timeOfId(entry) < since) this.extensions.delete(id);
    return {
      people: [...this.people],
      ended: [...this.ended],
      revoked: [...this.revoked],
      groups: [...this.groups],
      withdrawn: [...this.withdrawn],
      destructions: [...this.destructions],
      policies: [...this.policies],
      policySet: this.policySet,
      policySetAt: this.policySetAt,
      refused: [...this.refused],
      rejections: [...this.rejections],
      extensions: [...this.extensions],
      edits: [...this.edits],
      accounts: [...this.accounts],
      newest: [...this.newest],
      destroyedKeys: [...this.destroyedKeys],
      sshRevocations: [...this.sshRevocations.values()],
      narrowed: [...this.narrowed],
      origins: [...this.origins],
    };
  }

  /** Records the entry as the newest entry about a fact. Returns false if a newer entry was already applied. */
  isNewest(fact: string, id: string): boolean {
    if (id <= (this.newest.get(fact) ?? '')) return false;
    this.newest.set(fact, id);
    return true;
  }

  /** Returns the policies that are older in the database than in the log. `now` contains all policies in the database. */
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
    return Object.keys(this.people.get(userId)?.factors ?? {}).length > 0;
  }

  /**
   * Returns why, according to the log, the user had lost the right to act at that time, as a clause without a full stop; undefined if the user still had the
   * right.
   *
   * @param toleranceMs maximum time between a loss and an action that is treated as a race between two processes
   */
  objectionTo(person: ActingPerson, toleranceMs = 0): string | undefined {
    const { id, session, methods, scope, at } = person;
    const isOver: IsOver = (since) => since !== undefined && since > 0 && since <= at - toleranceMs;
    const { roles, disabledAt, factors = {} } = this.people.get(id) ?? {};
    if (isOver(disabledAt)) return `the account ${id} is disabled`;
    if (session !== undefined && isOver(this.ended.get(session))) return `the session ${session} has ended`;
    if (scope !== undefined && roles !== undefined && !mayDo(scopesOf(roles), scope))
      return `no role of the account ${id} includes the ${scope} scope`;
    if (methods?.includes('mfa') === false && Object.values(factors).some((entry) => isOver(timeOfId(entry))))
      return `the account ${id} has a second factor, but this sign-in did not use it`;
    return this.objectionToMember(person, isOver);
  }

  private objectionToMember({ id, groupId, membership }: ActingPerson, isOver: IsOver): string | undefined {
    const group = groupId === undefined ? undefined : this.groups.get(groupId);
    if (group === undefined || group.members.includes(id) || !isOver(group.at)) return undefined;
    const groups = this.people.get(id)?.groups;
    // The log contains a person's groups only since the person's last sign-in, or since the last change to the groups.
    const mayBeNamed =
      membership !== 'named' &&
      group.ssoGroups.some(
        ({ provider, group: name }) =>
          (membership === undefined || (membership.provider === provider && membership.group === name)) &&
          (groups?.[provider]?.includes(name) ?? true),
      );
    return mayBeNamed ? undefined : `the account ${id} is not a member of the approver group ${groupId}`;
  }

  change(id: string, change: LoggedPerson): void {
    this.people.set(id, { ...this.people.get(id), ...change });
  }

  reject(approvalId: string, person: string, entryId: string): void {
    const { people = [], at = 0 } = this.rejections.get(approvalId) ?? {};
    const rejecting = [...new Set([...people, person])];
    this.rejections.set(approvalId, { people: rejecting, at: Math.max(at, timeOfId(entryId)) });
  }

  addFactor(userId: string, factorId: string, entryId: string): void {
    if (entryId <= (this.newest.get(factorsOf(userId)) ?? '')) return;
    this.change(userId, { factors: { ...this.people.get(userId)?.factors, [factorId]: entryId } });
  }

  /** Removes the user's factors that were added before an entry: all factors, or only `factorId`. A removed factor never becomes valid again. */
  removeFactors(userId: string, entryId: string, factorId?: string): void {
    const known = Object.entries(this.people.get(userId)?.factors ?? {});
    const kept = known.filter(([id, added]) => (factorId !== undefined && id !== factorId) || added > entryId);
    this.change(userId, { factors: Object.fromEntries(kept) });
    const removed = factorId === undefined ? known.flatMap(([id, added]) => (added > entryId ? [] : [id])) : [factorId];
    for (const id of removed) this.revoked.set(id, timeOfId(entryId));
  }

  /** Sets the revision of a changed policy, unless the policy was removed or the policies were accepted later. */
  changePolicy(id: string, revision: number, entryId: string): void {
    if (entryId <= (this.newest.get(ACCEPTED_POLICIES) ?? '')) return;
    const known = this.policies.get(id) ?? 0;
    if (known > 0 || !this.policies.has(id)) this.policies.set(id, Math.max(known, revision));
  }
}

/** revocationName returns the string by which revocations are compared. */
export function revocationName({ authorityId, kind, value }: LoggedRevocation): string {
  return JSON.stringify([authorityId, kind, value]);
}

/** rollBackOf returns the key in `RightsHistory.withdrawn` for an SSH key rotation that is being rolled back. */
export function rollBackOf(rotationId: string): string {
  return `roll-back of ${rotationId}`;
}

/** factorsOf returns the name of the fact that covers all factors of a user. */
const factorsOf = (userId: string) => `factors of ${userId}`;

/** Reports whether a loss at this time, in milliseconds, counts against the action. */
type IsOver = (since: number | undefined) => boolean;
