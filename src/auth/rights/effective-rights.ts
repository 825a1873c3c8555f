import { mayDo, type RoleName, type Scope, scopesOf } from '../../access/scopes.js';

/** A person as their row is now. */
export interface PersonNow {
  readonly roles: readonly RoleName[];
  readonly disabled: boolean;
}

/** What decides about a credential, as of one moment. */
export interface CredentialStanding {
  /**
   * Everybody whom it stands on: its owner, and whoever was shown its present secret. Null: an id that is no person's, be it that of an API
   * key, `system`, or of a row that was deleted.
   */
  readonly people: readonly (PersonNow | null)[];
  /** What it was given, by itself and by what it came through; null is everything that the people may do. */
  readonly limits: readonly (Iterable<Scope> | null)[];
}

/**
 * What a credential may do now: the one rule for sessions, API keys, OAuth clients, sensors, invitations, schedules and rotation policies.
 *
 * It never exceeds what any of the people behind it may do now, nor any of its limits. Undefined is no credential at all: one of the people
 * is disabled or no person, or there is nobody. A role that was lost leaves a smaller set, which may be empty.
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

/** SQL for a `PersonNow` as JSON, or null. `id`: an SQL expression of the type text. */
export function personNow(id: string): string {
  return `(SELECT json_build_object('roles', p.roles, 'disabled', p.disabled) FROM user_account p WHERE p.id::text = ${id})`;
}

/** Who stands behind an API key or an OAuth client, as rows say it. */
export interface OwnedRow {
  readonly owner_id: string;
  readonly owner: PersonNow | null;
  /** The person who was shown the present secret, if it was not the owner. */
  readonly issued_to: string | null;
  readonly receiver: PersonNow | null;
}

/** SQL for the columns of an `OwnedRow`. `row`: the alias of api_key or oauth_client. */
export function ownedColumns(row: string): string {
  return `${row}.owner_id, ${personNow(`${row}.owner_id`)} AS owner, ${row}.issued_to, ${personNow(`${row}.issued_to`)} AS receiver`;
}

export function peopleOf({ owner, issued_to: issuedTo, receiver }: OwnedRow): CredentialStanding['people'] {
  return issuedTo === null ? [owner] : [owner, receiver];
}

/** What both sets allow; `admin:*` allows everything. */
function common(one: ReadonlySet<Scope>, other: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([
    ...[...one].filter((scope) => mayDo(other, scope)),
    ...[...other].filter((scope) => mayDo(one, scope)),
  ]);
}
