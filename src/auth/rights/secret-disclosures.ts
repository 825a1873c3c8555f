import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import type { Caller } from '../../access/caller.js';
import { type DisclosedCredentialKind, SecretDisclosure } from './secret-disclosure.entity.js';

export interface Disclosure {
  readonly kind: Exclude<DisclosedCredentialKind, 'user'>;
  /** Id of the credential whose secret is shown. */
  readonly id: string;
  readonly occasion: 'created' | 'rotated' | 'secret-replaced' | 'keys-replaced';
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
    await tx.insert(SecretDisclosure, rows);
  }

  /**
   * Ids of all people who could have made this call: the person behind the caller, whoever was ever shown the secret of its credential, and
   * of the credentials to which that was shown, and so on.
   */
  async peopleBehind(tx: EntityManager, caller: Caller): Promise<string[]> {
    const askers = askersOf(caller);
    const rows: { person: string }[] = await tx.query(
      `WITH RECURSIVE known (kind, id, person) AS (
         SELECT d.shown_to_kind, d.shown_to_id, d.person_id FROM unnest($1::text[], $2::text[]) AS asker (kind, id)
           JOIN secret_disclosure d ON d.credential_kind = asker.kind AND d.credential_id = asker.id
         UNION SELECT d.shown_to_kind, d.shown_to_id, d.person_id FROM known k
           JOIN secret_disclosure d ON d.credential_kind = k.kind AND d.credential_id = k.id)
       SELECT DISTINCT person FROM known ORDER BY person`,
      [askers.map(([kind]) => kind), askers.map(([, id]) => id)],
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
