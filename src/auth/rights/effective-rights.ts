import { uuidOf } from '../../platform/database/new-id.js';
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

/** SQL for a `PersonNow` as JSON, or null. `id`: an SQL expression of the type uuid. */
export function personNow(id: string): string {
  return `(SELECT json_build_object('roles', p.roles, 'disabled', p.disabled) FROM user_account p WHERE p.id = ${id})`;
}

/** The people behind an API key or an OAuth client, as its row has them. */
export interface OwnedRow {
  readonly owner_id: string;
  readonly owner: PersonNow | null;
  /** The person who was shown the present secret, if it was not the owner. */
  readonly issued_to: string | null;
  readonly receiver: PersonNow | null;
}

/** SQL for the columns of an `OwnedRow`. `row`: the alias of api_key or oauth_client. */
export function ownedColumns(row: string): string {
  return `${row}.owner_id, ${personNow(uuidOf(`${row}.owner_id`))} AS owner, ${row}.issued_to, ${personNow(uuidOf(`${row}.issued_to`))} AS receiver`;
}

export function peopleOf({ owner, issued_to: issuedTo, receiver }: OwnedRow): CredentialStanding['people'] {
  return issuedTo === null ? [owner] : [owner, receiver];
}

/** The people behind the runs of a workload trust. */
export interface RunRow {
  /** Who changed the trust last. */
  readonly owner: PersonNow | null;
  /** Who uploaded the present keys of the issuer, and can therefore make its tokens; null: nobody here did. */
  readonly uploader_id: string | null;
  readonly uploader: PersonNow | null;
}

export function peopleOfRun({ owner, uploader_id: uploaderId, uploader }: RunRow): CredentialStanding['people'] {
  return uploaderId === null ? [owner] : [owner, uploader];
}

/** The intersection of two sets of scopes; `admin:*` includes everything. */
function common(one: ReadonlySet<Scope>, other: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([
    ...[...one].filter((scope) => mayDo(other, scope)),
    ...[...other].filter((scope) => mayDo(one, scope)),
  ]);
}
