import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import { isId, newId } from '../../platform/database/new-id.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { NamedPageQuery } from '../../platform/http/page.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import type { Caller } from '../../access/caller.js';
import { faultOfGrant, type KeyPatterns } from '../../access/key-patterns.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { changeSealed, insertSealed, lockSealed } from '../../platform/sealing/sealed-rows.js';
import { effectiveRights, limitsBy, ownerColumns, type OwnerRows, peopleOf } from '../rights/effective-rights.js';
import { recordDisclosure } from '../rights/secret-disclosures.js';
import { PERSON_SCOPES, scopesBeyond, type Scope } from '../../access/scopes.js';
import { type CertificateRule, ruleFactsOf, methodOf } from '../credentials/certificates/certificate-rule.js';
import { newSecret } from '../model/secret-text.js';
import { thumbprintsOf } from '../credentials/key-sets/key-set.js';
import type { RegisteredKeys } from './client-keys.js';
import { OAuthClient } from '../model/oauth.entity.js';
import { confirmRead } from '../../platform/database/statements.js';
import { stillMay } from '../rights/still-may.js';
import { afterSessionsOf, lockTokens } from '../credentials/sessions/session-grounds.js';

export type OAuthClientType = 'confidential' | 'public';

export interface OAuthClientOrder {
  readonly name: string;
  readonly permissions: readonly Scope[];
  readonly type: OAuthClientType;
  /** Names and patterns of the signing keys that the client's tokens can use. If omitted, the tokens can use the keys that the creator can use. */
  readonly signingKeys?: readonly string[];
  /** Keys with which the client authenticates; absent if the client uses another method. */
  readonly keys?: RegisteredKeys;
  /** Certificates with which the client authenticates; absent if the client uses another method. Never combined with keys. */
  readonly certificates?: CertificateRule;
  /** Whether the client's tokens must be bound with DPoP. */
  readonly dpopBound: boolean;
  /** Whether the client's tokens must be bound to a client certificate. */
  readonly certificateBound: boolean;
}

/** A client that has not been revoked, with its current rights. */
export interface ActiveClient extends Pick<
  OAuthClient,
  'id' | 'name' | 'secretHash' | 'authMethod' | 'proofSince' | 'dpopBound' | 'certificateBound'
> {
  /** The client's permissions, limited to the rights of the users behind the client. */
  readonly permissions: readonly Scope[];
  /** Seconds until the presented certificate expires; absent if the client used another method. */
  readonly secondsLeft?: number;
}

/** OAuthClientsService manages OAuth clients. A secret is shown once. Clients with keys or certificates have no usable secret. */
@Injectable()
export class OAuthClientsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly audit: AuditService,
  ) {
    this.record = audit.recorderFor('oauth-client');
  }

  /** Creates a client. A confidential client without keys or certificates gets a secret, which cannot be retrieved again. */
  async create(
    caller: Caller,
    order: OAuthClientOrder,
    use?: IdempotentUse,
  ): Promise<{ row: OAuthClient; secret?: string }> {
    assertHeld(caller, order.permissions);
    if (order.type === 'confidential') assertUsableByPrograms(order.permissions);
    const { dpopBound, certificateBound, signingKeys = caller.keys } = order;
    assertUsableKeys(caller, signingKeys);
    const demand = { dpopBound, certificateBound };
    const proof = proofOf(order);
    const secret = order.type === 'confidential' && proof === undefined ? newSecret('client') : undefined;
    const row = await this.db.transaction(async (tx) => {
      const id = use?.resource ?? newId();
      const { name, permissions } = order;
      assertHeld(await stillMay(tx, caller), permissions);
      if (secret !== undefined) await this.idempotency.assertFirst(tx, use, () => '/api/settings/oauth-clients');
      const earlier = secret === undefined ? await this.idempotency.earlier(tx, use) : undefined;
      if (earlier !== undefined) return tx.findOneByOrFail(OAuthClient, { id: earlier });
      await insertSealed(tx, OAuthClient, {
        id,
        name,
        permissions: [...permissions],
        signingKeys: signingKeys === undefined ? null : [...signingKeys],
        ...demand,
        ...(proof?.columns ?? { secretHash: secret?.hash ?? null }),
        ownerId: caller.ownerId,
        ...limitsBy(caller, caller.ownerId),
      });
      // A user who registers keys or certificates may have the private keys.
      if (secret !== undefined || proof !== undefined) {
        await recordDisclosure(tx, caller, { kind: 'oauth-client', id, occasion: 'created' });
      }
      const detail = { name, permissions, signingKeys, ...demand, ...proof?.detail };
      await this.record(tx, caller, 'oauth-client.created', id, detail);
      return tx.findOneByOrFail(OAuthClient, { id });
    });
    return { row, ...(secret === undefined ? {} : { secret: secret.text }) };
  }

  async get(id: string, tx: EntityManager = this.db.manager): Promise<OAuthClient> {
    const row = await tx.findOneBy(OAuthClient, { id });
    if (row === null) throw missing('oauth-client');
    return row;
  }

  async list(page: NamedPageQuery): Promise<Page<OAuthClient>> {
    return this.cursors.newestNamed('oauth-clients', this.db.createQueryBuilder(OAuthClient, 'client'), page);
  }

  /**
   * Replaces the secret of a confidential client. The old secret is invalidated and all tokens of the client are revoked immediately. If the caller is not the
   * owner, the client is also limited to the caller's rights, because the caller sees the secret. The caller also counts as a requester of the client's
   * requests.
   */
  async replaceSecret(caller: Caller, id: string): Promise<{ row: OAuthClient; secret: string }> {
    const secret = newSecret('client');
    const row = await this.get(id);
    assertGrantable(caller, row);
    if (row.revokedAt !== null || row.secretHash === null || row.authMethod !== null) {
      const detail =
        'This client has no secret, because it was revoked, is public, or authenticates with keys or certificates.';
      throw new Problem('conflict', 'oauth-client.no-secret', detail);
    }
    await this.db.transaction(async (tx) => {
      const { name, permissions } = row;
      await this.change(tx, caller, row, { secretHash: secret.hash });
      await recordDisclosure(tx, caller, { kind: 'oauth-client', id, occasion: 'secret-replaced' });
      await this.record(tx, caller, 'oauth-client.secret-replaced', id, { name, permissions });
    });
    return { row, secret: secret.text };
  }

  /**
   * Replaces the keys of a client that authenticates with keys. The old keys are removed and all tokens of the client are revoked immediately. As in
   * `replaceSecret`, the client is also limited to the rights of a caller who is not the owner, and that caller counts as a requester.
   */
  async replaceKeys(caller: Caller, id: string, keys: RegisteredKeys): Promise<OAuthClient> {
    const row = await this.get(id);
    assertGrantable(caller, row);
    if (row.revokedAt !== null || row.authMethod !== 'private_key_jwt') {
      const detail = 'The keys cannot be replaced, because this client was revoked or does not authenticate with keys.';
      throw new Problem('conflict', 'oauth-client.no-keys', detail);
    }
    return this.replaceProof(caller, row, { ...proofByKeys(keys), action: 'oauth-client.keys-replaced' });
  }

  /**
   * Replaces the certificates of a client that authenticates with certificates of the same kind. The old certificates are removed and all tokens of the client
   * are revoked immediately. As in `replaceSecret`, the client is also limited to the rights of a caller who is not the owner, and that caller counts as a
   * requester.
   */
  async replaceCertificates(caller: Caller, id: string, rule: CertificateRule): Promise<OAuthClient> {
    const row = await this.get(id);
    assertGrantable(caller, row);
    if (row.revokedAt !== null || row.authMethod !== methodOf(rule)) {
      const detail =
        'The certificates cannot be replaced, because this client was revoked or does not authenticate with certificates of this kind.';
      throw new Problem('conflict', 'oauth-client.no-certificates', detail);
    }
    const change = { ...proofByCertificates(rule), action: 'oauth-client.certificates-replaced' };
    return this.replaceProof(caller, row, change);
  }

  private async replaceProof(
    caller: Caller,
    row: OAuthClient,
    { columns, detail, action }: Proof & { readonly action: string },
  ): Promise<OAuthClient> {
    return this.db.transaction(async (tx) => {
      const { id, name } = row;
      const { secretHash: _, ...proof } = columns;
      await this.change(tx, caller, row, proof);
      await recordDisclosure(tx, caller, { kind: 'oauth-client', id, occasion: 'keys-replaced' });
      await this.record(tx, caller, action, id, { name, ...detail });
      return tx.findOneByOrFail(OAuthClient, { id });
    });
  }

  /** Replaces the credential of a client. Acquiring the lock waits until every token request with the old credential has been committed. */
  private async change(
    tx: EntityManager,
    caller: Caller,
    { id, ownerId }: OAuthClient,
    proof: Partial<Pick<OAuthClient, 'secretHash' | 'authMethod' | 'keys' | 'certificateRule'>>,
  ): Promise<void> {
    const now = await stillMay(tx, caller);
    await lockTokens(tx, 'oauth client', id);
    const before = await lockSealed(tx, OAuthClient, { id });
    if (before !== null) assertGrantable(now, before);
    const proofSince = await afterSessionsOf(tx, id, before?.proofSince ?? null);
    const change = { ...proof, proofSince, ...limitsBy(caller, ownerId) };
    const changed = await changeSealed(tx, OAuthClient, { id, revokedAt: IsNull() }, change);
    if (changed !== 1) throw missing('oauth-client');
  }

  /** Revokes a client. Every process rejects the client's tokens within five seconds. The call is idempotent. */
  async revoke(caller: Caller, id: string): Promise<void> {
    const { name, permissions } = await this.get(id);
    await this.db.transaction(async (tx) => {
      await lockTokens(tx, 'oauth client', id);
      const { affected } = await tx.update(
        OAuthClient,
        { id, revokedAt: IsNull() },
        { revokedAt: () => 'now()', seal: null },
      );
      if (affected === 0) await tx.update(OAuthClient, { id }, { seal: null });
      if (affected === 1 || !(await this.audit.isRecorded(tx, 'oauth-client.revoked', id)))
        await this.record(tx, caller, 'oauth-client.revoked', id, { name, permissions });
      else await confirmRead(tx);
    });
  }

  /**
   * Returns the client with a client_id, which may be any string; null if the client does not exist or was revoked, or if a person behind the client is
   * disabled.
   */
  async findActive(clientId: string): Promise<ActiveClient | null> {
    if (!isId(clientId)) return null;
    const [row]: ClientRow[] = await this.db.query(
      `SELECT to_jsonb(c) AS client, ${ownerColumns('c')} FROM oauth_client c WHERE c.id = $1 AND c.revoked_at IS NULL`,
      [clientId],
    );
    const seals = sealsOf(this.db.manager);
    const client = row === undefined ? null : seals.opened(OAuthClient, row.client);
    if (row === undefined || client?.id !== clientId.toLowerCase() || client.revokedAt !== null) return null;
    const rights = effectiveRights({ people: peopleOf(seals, client, row), limits: [client.permissions] });
    if (rights === undefined) return null;
    const { id, name, secretHash, authMethod, proofSince, dpopBound, certificateBound } = client;
    return { id, name, secretHash, authMethod, proofSince, dpopBound, certificateBound, permissions: [...rights] };
  }
}

interface ClientRow extends OwnerRows {
  readonly client: JsonRow;
}

/** Keys or certificates of a client, in stored form and as recorded in the audit entry. */
interface Proof {
  readonly columns: ReturnType<typeof keyColumns> | ReturnType<typeof certificateColumns>;
  readonly detail: Record<string, unknown>;
}

/** Returns the hash of a discarded random value. Clients with keys or certificates have such a hash, so that no code treats them as public clients. */
const unknownSecret = () => newSecret('client').hash;

function keyColumns({ keys, jwksUri }: RegisteredKeys) {
  const times = { keysReadAt: new Date(), keysAskedAt: new Date() };
  return {
    secretHash: unknownSecret(),
    authMethod: 'private_key_jwt' as const,
    keys: keys as never,
    jwksUri,
    ...times,
  };
}

function certificateColumns(rule: CertificateRule) {
  return { secretHash: unknownSecret(), authMethod: methodOf(rule), certificateRule: rule as never };
}

function proofByKeys(keys: RegisteredKeys): Proof {
  const { jwksUri } = keys;
  const detail = { keys: thumbprintsOf(keys.keys), ...(jwksUri === null ? {} : { jwksUri }) };
  return { columns: keyColumns(keys), detail };
}

function proofByCertificates(rule: CertificateRule): Proof {
  return { columns: certificateColumns(rule), detail: { method: methodOf(rule), ...ruleFactsOf(rule) } };
}

function proofOf({ keys, certificates }: OAuthClientOrder): Proof | undefined {
  if (certificates !== undefined) return proofByCertificates(certificates);
  return keys === undefined ? undefined : proofByKeys(keys);
}

/** Verifies that the caller has the client's scopes and can use the client's signing keys, because the caller learns or chooses the client's credential. */
function assertGrantable(caller: Caller, { permissions, signingKeys }: OAuthClient): void {
  assertHeld(caller, permissions);
  assertUsableKeys(caller, signingKeys);
}

/**
 * Rejects scopes that only people can use. A public client can have these scopes, because a public client acts only for people.
 *
 * @throws Problem 422 `oauth-client.person-needed`
 */
export function assertUsableByPrograms(permissions: readonly Scope[]): void {
  const scopes = permissions.filter((scope) => PERSON_SCOPES.includes(scope));
  if (scopes.length === 0) return;
  const errors = [
    { pointer: '/permissions', detail: `must not include ${scopes.join(', ')}, which only people can use` },
  ];
  const detail =
    'A client cannot vote on approvals with tokens that it requests for itself. Remove approvals:approve from the permissions, or create a client of the type "public", with which people sign in through the device flow.';
  throw new Problem('refused', 'oauth-client.person-needed', detail, { errors });
}

/** Verifies that the caller can use the signing keys that are granted. */
export function assertUsableKeys(caller: Caller, keys: KeyPatterns): void {
  const fault = faultOfGrant(caller, keys);
  if (fault !== undefined) throw new Problem('forbidden', 'oauth-client.beyond-caller', fault);
}

/** Verifies that the caller has the scopes that are granted. */
export function assertHeld(caller: Pick<Caller, 'scopes'>, permissions: readonly Scope[]): void {
  const beyond = scopesBeyond(caller.scopes, permissions);
  if (beyond.length === 0) return;
  const detail = `You cannot grant permissions that you do not have: ${beyond.join(', ')}.`;
  throw new Problem('forbidden', 'oauth-client.beyond-caller', detail);
}
