import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { NO_CREDENTIAL, type NewCredential } from '../credentials/host-credentials.js';
import { HostAddressGuard } from '../network/address-guard.service.js';
import { canonicalAddress } from '../network/host-place.port.js';
import { type DroppedByChange, HostMoves, isNothing, wayChanged } from './host-moves.js';
import { assertJumpHost } from '../model/jump-hosts.js';
import { Host } from '../model/host.entity.js';

type Fields = Pick<
  Host,
  | 'name'
  | 'address'
  | 'port'
  | 'labels'
  | 'owner'
  | 'environment'
  | 'jumpHostId'
  | 'hostKeyPolicy'
  | 'managementMode'
  | 'privilege'
  | 'legacyAlgorithms'
>;

/** HostChange contains the members of a host to change. Omitted members remain unchanged; null clears a member. */
export type HostChange = Partial<Fields> & {
  readonly credential?: NewCredential | null;
  /** If the address, port or jump host changes: whether to remove the credentials of hosts that are reached through this host. */
  readonly dropCredentialsBehind?: boolean;
};
export type NewHost = Partial<Fields> & Pick<Host, 'name' | 'address'> & Pick<HostChange, 'credential'>;

/** HostsService creates and updates hosts. */
@Injectable()
export class HostsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly guard: HostAddressGuard,
    private readonly moves: HostMoves,
  ) {}

  /** Creates a host. Returns its ID, or the ID of the host that was created earlier with the same Idempotency-Key. */
  async create(caller: Caller, { credential, ...order }: NewHost, use?: IdempotentUse): Promise<string> {
    const id = use?.resource ?? newId();
    this.guard.assertWritten(canonicalAddress(order.address));
    const place = { id, port: 22, jumpHostId: null, ...defined(order), address: canonicalAddress(order.address) };
    const sealed = await this.moves.seal(caller, place, credential);
    const row = { ...place, ...sealed.kept };
    return await this.written(order.name, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      if (!(await this.moves.isStill(tx, place, sealed))) throw wayChanged();
      await this.insert(tx, caller, row, auditDetail(order, credential));
      return id;
    });
  }

  /** Adds a host without a credential inside the caller's transaction. Returns its ID. */
  async add(tx: EntityManager, caller: Caller, order: Omit<NewHost, 'credential'>): Promise<string> {
    this.guard.assertWritten(canonicalAddress(order.address));
    const id = newId();
    await this.insert(
      tx,
      caller,
      { ...defined(order), address: canonicalAddress(order.address), id },
      auditDetail(order, undefined),
    );
    return id;
  }

  private async insert(
    tx: EntityManager,
    caller: Caller,
    row: Partial<Host> & Pick<Host, 'id'>,
    detail: Record<string, unknown>,
  ): Promise<void> {
    if (row.jumpHostId) await assertJumpHost(tx, row.id, row.jumpHostId);
    await tx.insert(Host, row);
    await this.audit.appendBy(tx, caller, hostEntry('host.created', row.id, detail));
  }

  /**
   * Applies a change if the host is still at `version`. A credential is valid for one destination. If the address, port or jump host changes, the credential is
   * removed unless the change contains a new credential. The credentials of hosts reached through this host are also removed if `dropCredentialsBehind` is
   * true. Throws Problem `request.stale`, or `host.credentials-behind` if hosts reached through this host have credentials that may not be removed.
   */
  async update(caller: Caller, id: string, version: number, order: HostChange): Promise<DroppedByChange> {
    const { credential, dropCredentialsBehind = false, ...change } = order;
    if (change.address !== undefined) this.guard.assertWritten(canonicalAddress(change.address));
    const address = change.address === undefined ? {} : { address: canonicalAddress(change.address) };
    const row = { ...defined(change), ...address };
    const place = { ...(await this.moves.placeOf(id)), ...row };
    const sealed = await this.moves.seal(caller, place, credential);
    return await this.written(change.name, async (tx) => {
      await stillMay(tx, caller);
      if (!(await this.moves.isStill(tx, place, sealed))) throw staleProblem(`/v1/hosts/${id}`);
      if (row.jumpHostId) await assertJumpHost(tx, id, row.jumpHostId);
      const before = await tx.findOne(Host, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (before === null) throw missing('host');
      if (before.version !== version) throw staleProblem(`/v1/hosts/${id}`);
      const move = { isMoved: isElsewhere(before, row), keepsCredential: credential !== undefined };
      const dropped = await this.moves.drop(tx, caller, before, { ...move, dropCredentialsBehind });
      const next = { ...row, ...(dropped.credential ? NO_CREDENTIAL : sealed.kept) };
      await tx.update(Host, { id }, { ...next, version: version + 1, updatedAt: () => 'now()' });
      const detail = { ...auditDetail(change, credential), ...(isNothing(dropped) ? {} : { dropped }) };
      await this.audit.appendBy(tx, caller, hostEntry('host.changed', id, detail));
      return dropped;
    });
  }

  private async written<Result>(
    name: string | undefined,
    write: (tx: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    const detail = `A host named "${name}" already exists.`;
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    return writeUnique(this.db, write, () => new Problem('conflict', 'host.name-taken', detail, { errors }));
  }
}

function isElsewhere(before: Host, row: Partial<Fields>): boolean {
  return (['address', 'port', 'jumpHostId'] as const).some(
    (name) => row[name] !== undefined && row[name] !== before[name],
  );
}

/** Removes undefined members, so that an insert uses the column defaults. */
function defined(change: Partial<Fields>): Partial<Fields> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

/** Returns the change without secrets. */
function auditDetail(change: Partial<Fields>, credential: NewCredential | null | undefined): Record<string, unknown> {
  if (credential === undefined) return { ...change };
  return { ...change, credential: credential === null ? null : { user: credential.user } };
}

/** Returns an audit log entry about a host. */
export function hostEntry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'host', id }, detail };
}
