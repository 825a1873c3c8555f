import type { EntityManager } from 'typeorm';
import { type Caller, credentialsOf } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import type { SealedClass, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { changeSealed, findTrusted, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { ApiKey } from '../model/api-key.entity.js';
import { OAuthClient } from '../model/oauth.entity.js';
import { WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';
import { type DisclosedCredentialKind, SecretDisclosure } from './secret-disclosure.entity.js';

const ISSUER: DisclosedCredentialKind = 'workload-issuer';

/**
 * Returns SQL for the ID of the person who uploaded the current keys of a workload issuer. Used for rows written by earlier versions, which do not contain this
 * ID. `issuer` is the alias of workload_issuer.
 */
export function uploaderOf(issuer: string): string {
  return `(SELECT d.person_id FROM secret_disclosure d WHERE ${issuer}.key_source = 'uploaded' AND d.credential_kind = '${ISSUER}'
    AND d.credential_id = CAST(${issuer}.id AS text) ORDER BY d.at DESC, d.id DESC LIMIT 1)`;
}

export interface Disclosure {
  readonly kind: Exclude<DisclosedCredentialKind, 'user'>;
  /** ID of the credential whose secret is shown. */
  readonly id: string;
  readonly occasion: 'created' | 'rotated' | 'secret-replaced' | 'keys-replaced' | 'keys-uploaded';
}

/** A credential whose row lists everyone to whom its secret was ever shown. */
interface DisclosedRow extends SealedEntity {
  id: string;
  disclosedTo: string[] | null;
}

const DISCLOSED: Readonly<Record<string, SealedClass<DisclosedRow>>> = {
  'api-key': ApiKey,
  'oauth-client': OAuthClient,
  [ISSUER]: WorkloadIssuer,
};

/**
 * recordDisclosure records that the caller's response contains the secret of a credential, in the transaction that creates the secret. The sealed row of the
 * credential lists everyone to whom its secret was ever shown, so the list remains complete if rows of secret_disclosure are deleted.
 */
export async function recordDisclosure(
  tx: EntityManager,
  caller: Caller,
  { kind, id, occasion }: Disclosure,
): Promise<void> {
  const common = { credentialKind: kind, credentialId: id, personId: caller.ownerId, occasion };
  const rows = askersOf(caller).map(([shownToKind, shownToId]) => ({
    ...common,
    id: newId(),
    shownToKind,
    shownToId,
  }));
  const known = await peopleKnowing(tx, [[kind, id]]);
  const people = new Set([...known, ...(await peopleBehind(tx, caller))]);
  await insertSealed(tx, SecretDisclosure, ...rows);
  const change = { disclosedTo: [...people].sort() };
  if (kind === ISSUER) {
    const others = [...(caller.behind ?? [])].sort();
    const uploader = { uploaderId: caller.ownerId, behind: others.length === 0 ? null : others };
    await changeSealed(tx, WorkloadIssuer, { id }, { ...change, ...uploader });
  } else await changeSealed(tx, DISCLOSED[kind] ?? ApiKey, { id }, change);
}

/** recordIssuerChange records that the caller created or changed a workload issuer, because the URL that the caller chooses determines the issuer's keys. */
export async function recordIssuerChange(tx: EntityManager, caller: Caller, id: string): Promise<void> {
  const issuer = await findTrusted(tx, WorkloadIssuer, { id });
  const people = new Set([...(issuer?.disclosedTo ?? []), ...(await peopleBehind(tx, caller))]);
  await changeSealed(tx, WorkloadIssuer, { id }, { disclosedTo: [...people].sort() });
}

/**
 * peopleBehind returns the IDs of everyone who could have made the call. These are the caller's owner, everyone to whom the secret of the caller's credential
 * or of the token's client was ever shown and, recursively, everyone who knows a credential to which such a secret was shown. For a workload, these also
 * include everyone who ever changed the trust or the issuer, or uploaded keys of the issuer.
 */
export async function peopleBehind(tx: EntityManager, caller: Caller): Promise<string[]> {
  const { ownerId, behind = [], ordered, identity } = caller;
  const askers: [string, string][] = askersOf(caller);
  const trust = identity && (await findTrusted(tx, WorkloadTrust, { id: identity.trust.id }));
  if (trust) askers.push([ISSUER, trust.issuerId]);
  const known = await peopleKnowing(tx, askers);
  return [...new Set([ownerId, ...behind, ...(ordered?.requesters ?? []), ...(trust?.changedBy ?? []), ...known])];
}

/**
 * Returns the IDs of the people who know the credentials, from the sealed lists of the credentials and from secret_disclosure, the only record kept by
 * earlier versions.
 */
async function peopleKnowing(tx: EntityManager, askers: readonly (readonly [string, string])[]): Promise<string[]> {
  const people: string[] = [];
  for (const [kind, id] of askers) {
    const entity = DISCLOSED[kind];
    const row = entity && (await findTrusted(tx, entity, { id }));
    people.push(...(row?.disclosedTo ?? []));
  }
  const rows: { person: string }[] = await tx.query(
    `WITH RECURSIVE known (kind, id, person) AS (
       SELECT d.shown_to_kind, d.shown_to_id, d.person_id FROM unnest($1::text[], $2::text[]) AS asker (kind, id)
         JOIN secret_disclosure d ON d.credential_kind = asker.kind AND d.credential_id = asker.id
       UNION SELECT d.shown_to_kind, d.shown_to_id, d.person_id FROM known k
         JOIN secret_disclosure d ON d.credential_kind = k.kind AND d.credential_id = k.id)
     SELECT DISTINCT person FROM known ORDER BY person`,
    [askers.map(([kind]) => kind), askers.map(([, id]) => id)],
  );
  return [...people, ...rows.map(({ person }) => person)];
}

/** Returns the credentials behind a call. A person may act through a client, and anyone who knows the client's secret can use the person's token. */
function askersOf(caller: Caller): [Caller['kind'], string][] {
  const clients = caller.kind === 'user' ? credentialsOf(caller) : [];
  return [[caller.kind, caller.id], ...clients.map((id): ['oauth-client', string] => ['oauth-client', id])];
}
