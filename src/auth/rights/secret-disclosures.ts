import { insertSealed } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import type { Caller } from '../../access/caller.js';
import { type DisclosedCredentialKind, SecretDisclosure } from './secret-disclosure.entity.js';

const ISSUER: DisclosedCredentialKind = 'workload-issuer';

/**
 * SQL for the id of the person who uploaded the present keys of a workload issuer; null for an issuer whose keys are read by discovery, and
 * for keys from before this was recorded. `issuer`: the alias of workload_issuer.
 */
export function uploaderOf(issuer: string): string {
  return `(SELECT d.person_id FROM secret_disclosure d WHERE ${issuer}.key_source = 'uploaded' AND d.credential_kind = '${ISSUER}'
    AND d.credential_id = CAST(${issuer}.id AS text) ORDER BY d.at DESC, d.id DESC LIMIT 1)`;
}

export interface Disclosure {
  readonly kind: Exclude<DisclosedCredentialKind, 'user'>;
  /** Id of the credential whose secret is shown. */
  readonly id: string;
  readonly occasion: 'created' | 'rotated' | 'secret-replaced' | 'keys-replaced' | 'keys-uploaded';
}

/** Records who was ever shown the secret of a credential, and can therefore make requests in its name. */
@Injectable()
export class SecretDisclosures {
  /** Records that the caller's answer has the secret, in the transaction that makes it. */
  async record(tx: EntityManager, caller: Caller, { kind, id, occasion }: Disclosure): Promise<void> {
    const common = { credentialKind: kind, credentialId: id, personId: caller.ownerId, occasion };
    const rows = askersOf(caller).map(([shownToKind, shownToId]) => ({
      ...common,
      id: newId(),
      shownToKind,
      shownToId,
    }));
    await insertSealed(tx, SecretDisclosure, ...rows);
  }

  /**
   * Ids of all people who could have made this call: the person behind the caller, whoever was ever shown the secret of its credential, and
   * of the credentials to which that was shown, and so on. Of a workload: whoever ever uploaded keys of its issuer.
   */
  async peopleBehind(tx: EntityManager, caller: Caller): Promise<string[]> {
    const askers = askersOf(caller);
    const rows: { person: string }[] = await tx.query(
      `WITH RECURSIVE asker (kind, id) AS (
         SELECT * FROM unnest($1::text[], $2::text[])
         UNION ALL SELECT '${ISSUER}', t.issuer_id::text FROM workload_trust t WHERE t.id = $3),
       known (kind, id, person) AS (
         SELECT d.shown_to_kind, d.shown_to_id, d.person_id FROM asker
           JOIN secret_disclosure d ON d.credential_kind = asker.kind AND d.credential_id = asker.id
         UNION SELECT d.shown_to_kind, d.shown_to_id, d.person_id FROM known k
           JOIN secret_disclosure d ON d.credential_kind = k.kind AND d.credential_id = k.id)
       SELECT DISTINCT person FROM known ORDER BY person`,
      [askers.map(([kind]) => kind), askers.map(([, id]) => id), caller.identity?.trust.id ?? null],
    );
    return [...new Set([caller.ownerId, ...rows.map(({ person }) => person)])];
  }
}

/** A person may act through a client: whoever knows the client's secret can use their token. */
function askersOf({ kind, id, session }: Caller): [Caller['kind'], string][] {
  const client = session?.clientId ?? null;
  return kind === 'user' && client !== null
    ? [
        [kind, id],
        ['oauth-client', client],
      ]
    : [[kind, id]];
}
