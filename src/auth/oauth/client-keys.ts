import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Actor } from '../../access/caller.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Origin } from '../../platform/http/origin.js';
import { jsonAt, KeyDocuments } from '../credentials/key-sets/key-documents.js';
import { KeyRenewals, PAUSE_SECONDS, storeKeys } from '../credentials/key-sets/key-renewals.js';
import { readGivenKeySet, readKeySet } from '../credentials/key-sets/key-set.js';
import { afterSessionsOf, lockTokens } from '../credentials/sessions/session-grounds.js';
import { OAuthClient } from '../model/oauth.entity.js';

const CLIENTS_ACTOR: Actor = { kind: 'system', id: 'oauth-clients', name: 'OAuth clients' };

/** Source of a client's keys: a JWK Set, or the URL at which the client publishes a JWK Set. */
export type ClientKeySource = { readonly jwks: object } | { readonly jwksUri: string };

/** Keys with which a client authenticates. */
export interface RegisteredKeys {
  readonly keys: PublicJwk[];
  /** The URL of the client's JWK Set. Null if the keys were uploaded. */
  readonly jwksUri: string | null;
}

/** The keys of a client, and the time at which the client's keys were last replaced or removed, from the same version of the row. */
export interface CurrentKeys extends Pick<OAuthClient, 'proofSince'> {
  readonly keys: readonly PublicJwk[];
}

/**
 * ClientKeys manages the public keys of OAuth clients. Keys published at a URL are refetched if the keys are old or no key matches. Each change is audited. If
 * a key is no longer published, the client's tokens are revoked, because the tokens may have been obtained with that key.
 */
@Injectable()
export class ClientKeys {
  private readonly renewals = new KeyRenewals('the OAuth client');

  constructor(
    private readonly db: DataSource,
    private readonly documents: KeyDocuments,
    private readonly audit: AuditService,
  ) {}

  /** Reads the keys of a client at registration. Throws Problem `oauth-client.keys` if no key is usable. */
  async read(source: ClientKeySource): Promise<RegisteredKeys> {
    const pointer = 'jwks' in source ? '/jwks' : '/jwks_uri';
    try {
      if ('jwks' in source) return { keys: readGivenKeySet(source.jwks), jwksUri: null };
      return { keys: await this.published(source.jwksUri), jwksUri: source.jwksUri };
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : 'cannot be used';
      const errors = [{ pointer, detail }];
      throw new Problem('refused', 'oauth-client.keys', `${pointer}: ${detail}.`, { errors, cause });
    }
  }

  /**
   * Returns the current keys of the client with this ID.
   *
   * @param fresh true if no known key matches: the keys are refetched, unless the keys were just fetched
   * @throws Problem `oauth-client.keys-away` if no trusted keys are available
   */
  async of(id: string, origin: Origin, fresh: boolean): Promise<CurrentKeys> {
    const client = await findTrusted(this.db.manager, OAuthClient, { id });
    if (client === null) return { keys: [], proofSince: null };
    const { jwksUri, keys: before, proofSince } = client;
    if (jwksUri === null) return { keys: before ?? [], proofSince };
    const keys = await this.renewals.of(client, fresh, () => this.readAndKeep(id, jwksUri, origin));
    if (keys !== undefined && keys === before) return { keys, proofSince };
    // Fetching the keys may have changed proofSince.
    const renewed = keys === undefined ? null : await findTrusted(this.db.manager, OAuthClient, { id });
    if (renewed !== null) return { keys: renewed.keys ?? [], proofSince: renewed.proofSince };
    const detail = `No usable keys are available from the JWKS URL of the client "${client.name}". Retry after ${PAUSE_SECONDS} seconds.`;
    throw new Problem('unavailable', 'oauth-client.keys-away', detail, { retryAfter: PAUSE_SECONDS });
  }

  private async published(jwksUri: string): Promise<PublicJwk[]> {
    const url = URL.canParse(jwksUri) ? new URL(jwksUri) : undefined;
    if (url === undefined || url.hash !== '') throw new Error('must be a URL without a fragment');
    return readKeySet(await jsonAt(jwksUri, (at) => this.documents.read(at)));
  }

  private async readAndKeep(id: string, jwksUri: string, origin: Origin): Promise<PublicJwk[]> {
    await this.db.manager.update(OAuthClient, { id }, { keysAskedAt: () => 'now()' });
    const keys = await this.published(jwksUri);
    await this.db.transaction(async (tx) => {
      await lockTokens(tx, 'oauth client', id);
      const detail = await storeKeys(tx, OAuthClient, { id, jwksUri }, keys, async ({ proofSince }) => ({
        proofSince: await afterSessionsOf(tx, id, proofSince),
      }));
      if (detail === undefined) return;
      const entry = { action: 'oauth-client.keys-changed', target: { kind: 'oauth-client', id }, detail };
      await this.audit.appendBy(tx, { ...CLIENTS_ACTOR, origin }, entry);
    });
    return keys;
  }
}
