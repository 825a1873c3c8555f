import { uuidOf } from '../../platform/database/new-id.js';
import type { RowSeals } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { User } from '../model/user.entity.js';
import type { WorkloadIdentity, WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';
import { thumbprintsOf } from '../credentials/key-sets/key-set.js';
import { mayDo, type RoleName, type Scope, scopesOf } from '../../access/scopes.js';

/** Current roles and state of a person. */
export interface PersonNow {
  readonly roles: readonly RoleName[];
  readonly disabled: boolean;
}

/** The facts that determine the rights of a credential at one moment. */
export interface CredentialStanding {
  /**
   * The people behind the credential: its owner, and everyone to whom its current secret was shown. An item is null if its ID does not identify a person, but
   * an API key, `system` or a deleted row.
   */
  readonly people: readonly (PersonNow | null)[];
  /** Scopes granted to the credential, and to the credentials through which it was obtained; null means all rights of the people. */
  readonly limits: readonly (Iterable<Scope> | null)[];
}

/**
 * Returns the current rights of a credential. The same rule applies to sessions, API keys, OAuth clients, sensors, invitations, schedules and rotation
 * policies.
 *
 * The rights never exceed those of any person behind the credential, nor any limit. Returns undefined if the credential is void, because a person is disabled
 * or unknown, or because nobody is behind the credential. If a person loses a role, the set becomes smaller, and may become empty.
 */
export function effectiveRights({ people, limits }: CredentialStanding): ReadonlySet<Scope> | undefined {
  if (people.length === 0) return undefined;
  let rights: ReadonlySet<Scope> = new Set<Scope>(['admin:*']);
  for (const person of people) {
    if (person === null || person.disabled) return undefined;
    rights = common(rights, scopesOf(person.roles));
  }
  for (const limit of limits) if (limit !== null) rights = common(rights, new Set(limit));
  return rights;
}

/** Returns SQL for a row of user_account as JSON, or null: see `personIn`. `id` is an SQL expression of type uuid. */
export function personNow(id: string): string {
  return `(SELECT to_jsonb(p) FROM user_account p WHERE p.id = ${id})`;
}

/**
 * Returns the person with this ID in a row that `personNow` returned; null if the row is missing, belongs to another person, or does not match its
 * seal.
 */
export function personIn(seals: RowSeals, id: string, row: JsonRow | null): User | null {
  const person = seals.opened(User, row);
  return person?.id === id.toLowerCase() ? person : null;
}

/** PeopleBehind contains the IDs of the people behind an API key or an OAuth client. */
export interface PeopleBehind {
  readonly ownerId: string;
  /** ID of the person to whom the current secret was shown, if not the owner. */
  readonly issuedTo: string | null;
  /** IDs of the other people who could have made the call that created the secret. */
  readonly behind: readonly string[] | null;
}

/** The rows of the people behind an API key or an OAuth client. */
export interface OwnerRows {
  readonly owner: JsonRow | null;
  readonly receiver: JsonRow | null;
  readonly others: readonly JsonRow[] | null;
}

/** Returns SQL for the columns of `OwnerRows`. `row` is the alias of api_key or oauth_client. */
export function ownerColumns(row: string): string {
  return `${personNow(uuidOf(`${row}.owner_id`))} AS owner, ${personNow(uuidOf(`${row}.issued_to`))} AS receiver, ${peopleNow(`${row}.behind`)} AS others`;
}

/** peopleNow returns SQL for the rows of user_account with these IDs, as a JSON array or null. `ids` is an SQL expression of type text[]. */
export function peopleNow(ids: string): string {
  return `(SELECT jsonb_agg(to_jsonb(p)) FROM user_account p WHERE p.id = ANY(ARRAY(SELECT ${uuidOf('i.id')} FROM unnest(${ids}) AS i (id))))`;
}

/** Returns the people behind an API key or an OAuth client whose row matches its seal. */
export function peopleOf(
  seals: RowSeals,
  { ownerId, issuedTo, behind }: PeopleBehind,
  { owner, receiver, others }: OwnerRows,
): CredentialStanding['people'] {
  const its = personIn(seals, ownerId, owner);
  const shown = issuedTo === null ? [] : [personIn(seals, issuedTo, receiver)];
  return [its, ...shown, ...peopleIn(seals, behind, others)];
}

/** Returns the people with these IDs, with null for each person whose row is missing or does not match its seal. */
function peopleIn(
  seals: RowSeals,
  ids: readonly string[] | null,
  rows: readonly JsonRow[] | null,
): CredentialStanding['people'] {
  return (ids ?? []).map((id) => personIn(seals, id, rows?.find((row) => row['id'] === id.toLowerCase()) ?? null));
}

/** othersBehind returns the IDs of the people behind a credential other than its owner. */
export function othersBehind({ issuedTo, behind }: Omit<PeopleBehind, 'ownerId'>): string[] {
  return [...(issuedTo === null ? [] : [issuedTo]), ...(behind ?? [])];
}

/**
 * limitsBy returns the columns that limit a new credential to the rights of everyone who could have made this call, and could therefore know the secret that
 * the call returns. Without these columns, a credential with limited rights could create a credential with all rights of its owner.
 */
export function limitsBy(
  { ownerId: callersOwner, behind = [] }: { readonly ownerId: string; readonly behind?: readonly string[] },
  ownerId: string,
): Pick<PeopleBehind, 'issuedTo'> & { behind: string[] | null } {
  const others = new Set([callersOwner, ...behind].filter((id) => id !== ownerId));
  const [issuedTo = null, ...rest] = others;
  return { issuedTo, behind: rest.length === 0 ? null : rest.sort() };
}

/** The rows of the people behind the runs of a workload trust. */
export interface RunRows {
  /** The person who last changed the trust. */
  readonly owner: JsonRow | null;
  /** ID of the person who uploaded the issuer's current keys. For rows of earlier versions, the ID is read from other rows (`uploaderOf`). */
  readonly uploader_id: string | null;
  /** Row of the person with the issuer's `uploaderId`, or with `uploader_id`. */
  readonly uploader: JsonRow | null;
  /** Rows of the people in the trust's `behind`. `issuer_others`: rows of the people in the issuer's `behind`. */
  readonly trust_others: readonly JsonRow[] | null;
  readonly issuer_others: readonly JsonRow[] | null;
}

/**
 * peopleOfRun returns the people behind the runs of a trust. If the uploader of uploaded keys is unknown, because the row with the uploader's ID was deleted,
 * the runs are void.
 *
 * @param trust the row, verified against its seal
 * @param issuer the row, verified against its seal
 */
export function peopleOfRun(
  seals: RowSeals,
  trust: Pick<WorkloadTrust, 'ownerId' | 'behind'>,
  issuer: Pick<WorkloadIssuer, 'keySource' | 'uploaderId' | 'behind'>,
  { owner, uploader_id: recorded, uploader, trust_others: trustOthers, issuer_others: issuerOthers }: RunRows,
): CredentialStanding['people'] {
  const people = [personIn(seals, trust.ownerId, owner), ...peopleIn(seals, trust.behind, trustOthers)];
  if (issuer.keySource !== 'uploaded') return people;
  const uploaderId = issuer.uploaderId ?? recorded;
  const its = uploaderId === null ? null : personIn(seals, uploaderId, uploader);
  return [...people, its, ...peopleIn(seals, issuer.behind, issuerOthers)];
}

/** Returns the intersection of two sets of scopes; `admin:*` includes everything. */
function common(one: ReadonlySet<Scope>, other: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([
    ...[...one].filter((scope) => mayDo(other, scope)),
    ...[...other].filter((scope) => mayDo(one, scope)),
  ]);
}

/**
 * hasKeyOfRun reports whether the key that signed a run's token is still among the issuer's uploaded keys. Returns true for an issuer whose keys are
 * discovered.
 */
export function hasKeyOfRun(
  { keySource, keys }: WorkloadIssuer,
  { keyThumbprint }: Pick<WorkloadIdentity, 'keyThumbprint'>,
): boolean {
  return keySource !== 'uploaded' || thumbprintsOf(keys ?? []).includes(keyThumbprint);
}
