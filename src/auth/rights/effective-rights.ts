import { uuidOf } from '../../platform/database/new-id.js';
import type { RowSeals } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { User } from '../model/user.entity.js';
import type { WorkloadIssuer } from '../model/workload.entity.js';
import { mayDo, type RoleName, type Scope, scopesOf } from '../../access/scopes.js';

/** Roles and state of a person now. */
export interface PersonNow {
  readonly roles: readonly RoleName[];
  readonly disabled: boolean;
}

/** The facts that decide about a credential, at one moment. */
export interface CredentialStanding {
  /**
   * The people behind it: its owner, and whoever was shown its present secret. Null: an id that is no person's, be it that of an API
   * key, `system`, or of a row that was deleted.
   */
  readonly people: readonly (PersonNow | null)[];
  /** Scopes that were granted to it, and to what it was obtained through; null: everything that the people may do. */
  readonly limits: readonly (Iterable<Scope> | null)[];
}

/**
 * The rights of a credential now: the one rule for sessions, API keys, OAuth clients, sensors, invitations, schedules and rotation policies.
 *
 * They never exceed what each of the people behind it may do now, nor any of its limits. Undefined: the credential is void, since one of the people
 * is disabled or unknown, or there is none. A lost role leaves a smaller set, which may be empty.
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

/** SQL for a row of user_account as JSON, or null: see `personIn`. `id`: an SQL expression of the type uuid. */
export function personNow(id: string): string {
  return `(SELECT to_jsonb(p) FROM user_account p WHERE p.id = ${id})`;
}

/** The person with this id in a row that `personNow` returned; null if the row is missing, of another person, or does not match its seal. */
export function personIn(seals: RowSeals, id: string, row: JsonRow | null): User | null {
  const person = seals.newest(User, seals.opened(User, row));
  return person?.id === id.toLowerCase() ? person : null;
}

/** The rows of the people behind an API key or an OAuth client. */
export interface OwnerRows {
  readonly owner: JsonRow | null;
  /** The person who was shown the present secret, if it was not the owner. */
  readonly receiver: JsonRow | null;
}

/** SQL for the columns of `OwnerRows`. `row`: the alias of api_key or oauth_client. */
export function ownerColumns(row: string): string {
  return `${personNow(uuidOf(`${row}.owner_id`))} AS owner, ${personNow(uuidOf(`${row}.issued_to`))} AS receiver`;
}

/** The people behind an API key or an OAuth client whose row matches its seal. */
export function peopleOf(
  seals: RowSeals,
  { ownerId, issuedTo }: { readonly ownerId: string; readonly issuedTo: string | null },
  { owner, receiver }: OwnerRows,
): CredentialStanding['people'] {
  const its = personIn(seals, ownerId, owner);
  return issuedTo === null ? [its] : [its, personIn(seals, issuedTo, receiver)];
}

/** The rows of the people behind the runs of a workload trust. */
export interface RunRows {
  /** Who changed the trust last. */
  readonly owner: JsonRow | null;
  /** Who uploaded the present keys of the issuer, by rows that its own row does not cover (`uploaderOf`). */
  readonly uploader_id: string | null;
  /** The person of the issuer's `uploaderId`, or of `uploader_id`. */
  readonly uploader: JsonRow | null;
}

/**
 * The people behind the runs of a trust. Uploaded keys without a known uploader make the runs void: the row that named the uploader was deleted.
 *
 * @param ownerId the person who changed the trust last, by its sealed row
 * @param issuer the sealed row
 */
export function peopleOfRun(
  seals: RowSeals,
  ownerId: string,
  issuer: Pick<WorkloadIssuer, 'keySource' | 'uploaderId'>,
  { owner, uploader_id: recorded, uploader }: RunRows,
): CredentialStanding['people'] {
  const its = personIn(seals, ownerId, owner);
  if (issuer.keySource !== 'uploaded') return [its];
  const uploaderId = issuer.uploaderId ?? recorded;
  return [its, uploaderId === null ? null : personIn(seals, uploaderId, uploader)];
}

/** The intersection of two sets of scopes; `admin:*` includes everything. */
function common(one: ReadonlySet<Scope>, other: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([
    ...[...one].filter((scope) => mayDo(other, scope)),
    ...[...other].filter((scope) => mayDo(one, scope)),
  ]);
}
