import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { identitySha256 } from '../../access/identity/verified-identity.js';
import { ApprovalsService, type UnheldRequest } from '../../approvals/approvals.service.js';
import type { EntryRow } from '../../audit/entries/entry-row.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import type { MaybeHeld } from './approval-check.js';
import type { Claimed } from './signing-attempt.js';
import { metadataSha256 } from './signing-request.repository.js';
import { RefusedClaims } from './refused-claims.js';
import { useOfRequest } from './shown-request.js';

/** A claimed request with related facts from the database, read by the claiming statement. */
export type ClaimedRow = Claimed & MaybeHeld & { readonly enveloped: boolean };

/** Actions of entries that end a request. */
const ENDS = ['signing.signed', 'signing.failed'];
/** Actions of entries that record the acceptance, the renewals and the end of a request. */
const ABOUT_REQUEST = ['signing.accepted', 'signing.approval-renewed', ...ENDS];
const NOT_LOGGED = {
  code: 'signing.not-logged',
  detail: 'The request in the database differs from the request in the audit log.',
};
const NEEDED = {
  code: 'approval.needed',
  detail: 'A policy that was created or changed after this request requires approval. Submit the request again.',
};

/**
 * ClaimCheck verifies claimed requests, because anyone with write access to the database can insert a row into the queue. Before a request is signed, the
 * audit log must confirm that the service accepted the request, the policies must not require an approval that the request does not have, and the requester
 * must still have the right to make the request.
 */
@Injectable()
export class ClaimCheck {
  constructor(
    private readonly vouched: VouchedEntries,
    private readonly approvals: ApprovalsService,
    private readonly refused: RefusedClaims,
  ) {}

  /** Returns the requests that may be signed, in the transaction that claimed them. All other requests become FAILED. */
  async passed<One extends ClaimedRow>(tx: EntityManager, rows: readonly One[]): Promise<One[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const entries = await this.vouched.about(tx, ids, ABOUT_REQUEST);
    const about = Map.groupBy(entries, ({ targetId }) => targetId);
    const isVouched = (row: One) => isLogged(row, about.get(row.id) ?? []);
    const notLogged = rows.filter((row) => !isVouched(row));
    const logged = rows.filter((row) => !notLogged.includes(row));
    const needed = await this.unapproved(
      tx,
      logged.filter((row) => row.approvalId === null && !row.composed),
    );
    await this.refused.fail(tx, notLogged, NOT_LOGGED);
    await this.refused.fail(tx, needed, NEEDED);
    const unheld = logged.filter((row) => row.approvalId === null && !needed.includes(row));
    const lost = await this.failWithoutRight(tx, unheld, about);
    const refused = new Set([...notLogged, ...needed, ...lost].map(({ id }) => id));
    const passed = rows.filter(({ id }) => !refused.has(id));
    return passed.map((row) => ({ ...row, publicKeySha256: publicKeySha256In(about.get(row.id) ?? []) }));
  }

  /** Returns the current revision of all policies, against which claims are evaluated. */
  async policySet(tx: EntityManager): Promise<number> {
    return (await this.approvals.judgeNow(tx, 'signing-request', [])).revision;
  }

  /** Returns the requests for which the current policies require approval. */
  private async unapproved<One extends ClaimedRow>(tx: EntityManager, rows: readonly One[]): Promise<One[]> {
    if (rows.length === 0) return [];
    const { held } = await this.approvals.judgeNow(tx, 'signing-request', rows.map(useOfRequest));
    return rows.filter((_row, i) => held[i] === true);
  }

  /**
   * Marks as failed the requests whose requester has lost the right to make the request, and returns the failed requests. A request can wait for hours. During
   * that time, the requester's credential may be revoked or limited to other keys, or a user behind the credential may lose the right. Requests from one caller
   * for one key are checked only once.
   */
  private async failWithoutRight<One extends ClaimedRow>(
    tx: EntityManager,
    rows: readonly One[],
    about: ReadonlyMap<string, readonly EntryRow[]>,
  ): Promise<One[]> {
    const known = rows.map((row) => ({ row, request: unheldOf(row, about.get(row.id) ?? []) }));
    const groups = [...Map.groupBy(known, ({ request }) => JSON.stringify(request)).values()];
    const lost = await this.approvals.lostRights(
      tx,
      groups.flatMap(([first]) => first?.request ?? []),
    );
    const failed: One[] = [];
    for (const [i, group] of groups.entries()) {
      const problem = lost[i];
      if (problem === undefined) continue;
      const requests = group.map(({ row }) => row);
      await this.refused.fail(tx, requests, { code: problem.code, detail: problem.message });
      failed.push(...requests);
    }
    return failed;
  }
}

/** Returns the requester and the credentials of a request that needs no approval, according to the log. */
function unheldOf({ requestedBy, ownerId, identity, keyName }: ClaimedRow, about: readonly EntryRow[]): UnheldRequest {
  const { actorKind, actorName, detail } = about.find(({ action }) => action === 'signing.accepted') as EntryRow;
  const own = actorKind === 'api-key' || actorKind === 'oauth-client' ? [requestedBy] : [];
  const clients = (detail['clients'] ?? []) as readonly string[];
  const basis = { scopes: [], people: [ownerId], credentials: [...own, ...clients] };
  return {
    subjectKind: 'signing-request',
    requestedBy,
    ownerId,
    requesterName: actorName,
    basis: identity === null ? basis : { ...basis, run: { trust: identity.trust.id } },
    keys: [keyName],
  };
}

/** Returns the SHA-256 of the public key for which a request was accepted, or to which it was bound after a rotation. */
function publicKeySha256In(about: readonly EntryRow[]): string | undefined {
  const named = about.map(({ detail }) => detail['publicKeySha256']).filter((hash) => typeof hash === 'string');
  return named.at(-1);
}

/** Reports whether the log entries about a request match its row. */
function isLogged(row: ClaimedRow, about: readonly EntryRow[]): boolean {
  const [first, ...more] = about.filter(({ action }) => action === 'signing.accepted');
  if (first === undefined || more.length > 0 || first.actorId !== row.requestedBy) return false;
  // A request is signed only once. If the log records the end of a request, its row was put back into the queue.
  if (about.some(({ action }) => ENDS.includes(action))) return false;
  if (row.enveloped !== (row.envelope !== undefined)) return false;
  const logged: Record<string, unknown> = { ...first.detail };
  for (const { action, detail } of about) {
    if (action !== 'signing.approval-renewed') continue;
    for (const name of ['approval', 'keyVersion']) if (name in detail) logged[name] = detail[name];
    // The key facts are logged only if the renewal bound the request to another key version, which also changes the bytes to sign.
    if ('publicKeySha256' in detail) logged['signedDigest'] = detail['signedDigest'];
  }
  const found = { ...detailOf(row), ...detailOfKey(row, logged), ...detailOfEnvelope(row, logged) };
  return Object.entries(found).every(([name, value]) => logged[name] === value);
}

function detailOf({
  keyName,
  keyVersion,
  algorithm,
  scheme,
  format,
  digest,
  approvalId,
}: ClaimedRow): Record<string, unknown> {
  const base64 = digest.toString('base64');
  return { key: keyName, keyVersion, algorithm, scheme, format, digest: base64, approval: approvalId ?? undefined };
}

/**
 * Returns the details that are missing from entries written by earlier versions. Which version wrote an entry is determined from its logged details and not
 * from its seal, which could have been removed.
 */
function detailOfKey(
  { keyId, ownerId, metadata, composed, identity }: ClaimedRow,
  logged: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (!('keyId' in logged)) return { composed: composed || undefined };
  const known = identity === null ? undefined : identitySha256(identity);
  const said = { metadataSha256: metadataSha256(metadata), identitySha256: known };
  return { keyId, owner: ownerId, ...said, composed: composed || undefined };
}

/** Returns the digest that is signed instead of the request's digest, and whether the request has an envelope. */
function detailOfEnvelope(
  { enveloped, envelope }: ClaimedRow,
  logged: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const signedDigest = envelope?.signedDigest?.toString('base64');
  return 'enveloped' in logged ? { signedDigest, enveloped } : { signedDigest };
}
